import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { KEPT_FILES } from '../../src/core/sender/checked-attachments.ts';
import { KeptCopies } from '../../src/core/sender/kept-files.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

function setUp() {
  const folder = temporaryFolder();
  const [roots, configDir] = [join(folder, 'outbox'), join(folder, 'config')];
  const kept = (id: string): string => join(configDir, KEPT_FILES, id);
  for (const path of [roots, kept('of-an-earlier-process')]) mkdirSync(path, { recursive: true });
  const photo = join(roots, 'photo.png');
  writeFileSync(photo, 'picture');
  const rules = { roots: [roots], chatDbPath: join(folder, 'chat.db'), configDir };
  return { kept, photo, copies: new KeptCopies({ rules, log: collectingLog() }) };
}

test('the clean-up at the start leaves alone what this process copies meanwhile', async () => {
  const { kept, photo, copies } = setUp();
  const files = await copies.copy('new', { attachments: [photo] }, 1000);
  await copies.keepOnly(new Set());
  expect(existsSync(kept('of-an-earlier-process'))).toBe(false);
  expect(await copies.paths('new', files)).toEqual([join(kept('new'), '0', 'photo.png')]);
  await copies.remove('new');
  expect(existsSync(kept('new'))).toBe(false);
});

test('the files of one send share its room, and none stays if it is too small', async () => {
  const { kept, photo, copies } = setUp();
  const both = { attachments: [photo, photo] };
  await expect(copies.copy('new', both, 13)).rejects.toMatchObject({ code: 'storage_full' });
  expect(existsSync(kept('new'))).toBe(false);
  expect(await copies.copy('new', both, 14)).toHaveLength(2);
});
