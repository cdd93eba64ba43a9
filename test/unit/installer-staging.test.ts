import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { buildFolder, writeFailure, writeWhole } from '../../installer/staging.ts';
import { testIf } from '../support/conditions.ts';
import { temporaryFolder } from '../support/temporary.ts';

let isMounted = false;
// Runs before the folder is removed, which a mounted disk would prevent.
afterAll(() => {
  if (isMounted) spawnSync('umount', [disk]);
});
const folder = temporaryFolder();
const disk = join(folder, 'disk');
mkdirSync(disk);
// Uses a disk that is really full; skipped if the test may not mount one.
isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]).status === 0;
const onFullDisk = testIf(isMounted, 'needs the right to mount a disk');

describe('a disk that becomes full', () => {
  onFullDisk('leaves the old file whole and nothing of the new one', () => {
    const file = join(disk, 'local.postern.agent.plist');
    writeFileSync(file, 'old');
    expect(() => writeWhole(file, 'x'.repeat(1_000_000), 0o644)).toThrow('The disk is full');
    expect(readFileSync(file, 'utf8')).toBe('old');
    expect(readdirSync(disk)).toEqual(['local.postern.agent.plist']);
  });

  onFullDisk('leaves the old folder whole and nothing of the new one', async () => {
    const app = join(disk, 'Postern.app');
    mkdirSync(app);
    writeFileSync(join(app, 'program'), 'old');
    const filled = buildFolder(app, (staging) => writeFileSync(join(staging, 'program'), Buffer.alloc(1_000_000)));
    await expect(filled).rejects.toMatchObject({ code: 'disk_full' });
    expect(readFileSync(join(app, 'program'), 'utf8')).toBe('old');
    expect(readdirSync(disk)).not.toContain('.postern-new');
  });
});

test.each([
  // On macOS 13 and newer, if another terminal made the app (Apple, App Management).
  ['EPERM', true],
  ['EACCES', false],
])('%s names App Management: %s', (code, isNamed) => {
  const failure = writeFailure({ code }, '/Users/jane/Applications/Postern.app');
  expect(failure).toMatchObject({ code: 'not_writable', hint: expect.stringContaining('Check who owns') });
  expect((failure as { hint: string }).hint.includes('App Management')).toBe(isNamed);
});

describe('a folder that is built', () => {
  test('takes the place of the old one when it is complete', async () => {
    const place = join(folder, 'place', 'app');
    for (const content of ['one', 'two']) {
      await buildFolder(place, (staging) => writeFileSync(join(staging, content), content));
      expect(readdirSync(place)).toEqual([content]);
    }
    expect(readdirSync(join(folder, 'place'))).toEqual(['app']);
  });
});
