import { tmpdir } from 'node:os';
import { expect, test } from '@jest/globals';
import { installLine } from '../../installer/install-line.ts';
import { projectRoot } from '../../src/core/runtime/project-folder.ts';

test('a clone is installed by make, and what has no Makefile by its own command', () => {
  expect(installLine('--no-wait', projectRoot())).toBe('make install ARGS=--no-wait');
  expect(installLine(undefined, projectRoot())).toBe('make install');
  expect(installLine('--renew-runtime', tmpdir())).toBe('postern install --renew-runtime');
  expect(installLine(undefined, tmpdir())).toBe('postern install');
});
