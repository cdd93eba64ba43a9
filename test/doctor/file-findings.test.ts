import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect } from '@jest/globals';
import { diskSpace } from '../../src/features/doctor/cli/file-findings.ts';
import { testIf } from '../support/conditions.ts';

testIf(existsSync('/proc/self'), 'needs a file system without room')(
  'the disk with the least room is the one named',
  () => {
    expect(diskSpace([tmpdir(), '/proc'])).toMatchObject({
      state: 'problem',
      sentence: '0 MiB are free on the disk of /proc.',
    });
  },
);
