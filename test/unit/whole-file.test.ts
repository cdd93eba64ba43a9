import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { replaceFile } from '../../src/core/runtime/whole-file.ts';
import { diskCalls } from '../support/disk-calls.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('a file is on the disk before it replaces another, and its folder afterwards', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'file');
  replaceFile(path, 'one');
  expect(diskCalls(() => replaceFile(path, 'two'))).toEqual(['sync', 'rename', 'sync']);
  expect([readdirSync(folder), readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual([
    ['file'],
    'two',
    0o600,
  ]);
});
