import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { NO_LINES } from '../../src/features/archive/chain.ts';
import { appendLine } from '../../src/features/archive/chain-files.ts';
import { destination, foldersOfMessages } from '../../src/features/archive/destination.ts';
import { writeWhole } from '../../src/features/archive/private-files.ts';
import { archived, everythingIn, verified } from '../support/archive-fixture.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { testIf } from '../support/conditions.ts';
import { diskCalls } from '../support/disk-calls.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();

let folder: string;
let chatDb: string;
let fixture: ChatFixture;

beforeEach(() => {
  const home = join(root, randomUUID());
  folder = join(home, 'archive');
  chatDb = join(home, 'Messages', 'chat.db');
  fixture = new ChatFixture(chatDb);
});

describe('the folder of an archive', () => {
  test('may not be inside the configuration or the folder of Messages, by any name', () => {
    const home = dirname(dirname(chatDb));
    const forbidden = [{ path: dirname(chatDb), holds: 'files of Messages' }];
    symlinkSync(dirname(chatDb), join(home, 'link'));
    for (const out of ['Messages', 'Messages/Attachments/new/one', 'link', 'link/new', 'new/../Messages/x']) {
      expect(() => destination(join(home, out), forbidden)).toThrow(
        `${join(home, out)} is in ${dirname(chatDb)}, which holds files of Messages.`,
      );
    }
    expect(destination(join(home, 'Messages2/new'), forbidden)).toBe(join(home, 'Messages2/new'));
  });

  test('may be beside a copy of chat.db, but not where Messages keeps files', () => {
    const home = join(root, randomUUID());
    const file = (path: string) => new ChatFixture(join(home, path)).close();
    for (const path of ['Library/Messages/chat.db', 'Desktop/chat.db', 'Old/Library/Messages/chat.db']) file(path);
    for (const path of ['Desktop/Attachments', 'Desktop/StickerCache']) mkdirSync(join(home, path));
    symlinkSync(join(home, 'Library/Messages/chat.db'), join(home, 'chat.db'));
    symlinkSync(join(home, 'Old/Library/Messages/chat.db'), join(home, 'old.db'));
    const allowed = (copy: string, out: string): boolean => {
      try {
        return destination(join(home, out), foldersOfMessages(home, join(home, copy))) !== '';
      } catch (error) {
        expect(error).toMatchObject({ code: 'archive_misplaced' });
        return false;
      }
    };
    for (const out of ['archive', 'x/archive', 'Attachments2']) {
      expect(allowed('Desktop/chat.db', `Desktop/${out}`)).toBe(true);
      for (const link of ['chat.db', 'old.db']) expect(allowed(link, `Documents/${out}`)).toBe(true);
    }
    for (const out of ['Desktop/Attachments', 'Desktop/Attachments/aa/new', 'Desktop/StickerCache/x']) {
      expect([out, allowed('Desktop/chat.db', out)]).toEqual([out, false]);
    }
    for (const copy of ['Desktop/chat.db', 'chat.db', 'old.db', 'gone/chat.db']) {
      expect([copy, allowed(copy, 'Library/Messages/archive')]).toEqual([copy, false]);
    }
    expect(allowed('old.db', 'Old/Library/Messages/new')).toBe(false);
  });

  test('is not made in place of a file, or below one', async () => {
    const file = join(root, `${randomUUID()}.txt`);
    writeFileSync(file, 'a letter');
    for (const out of [file, join(file, 'archive')]) {
      await expect(archived(chatDb, out)).rejects.toMatchObject({
        code: 'archive_foreign',
        message: expect.stringMatching(/ is a file, or has a file where a folder must be /),
      });
    }
    expect(() => destination(join(file, 'archive'), [])).toThrow(/has a file where a folder must be/);
    expect(readFileSync(file, 'utf8')).toBe('a letter');
  });

  testIf(existsSync('/proc/self'), 'needs /proc')('is not made in /proc, which has no room for folders', async () => {
    await expect(archived(chatDb, '/proc/postern/archive')).rejects.toMatchObject({ code: 'archive_not_writable' });
  });

  test('that this user may not write to is refused with a sentence', async () => {
    mkdirSync(folder);
    const above = dirname(root);
    const { mode } = statSync(above);
    // Another user can get to the folder.
    chmodSync(above, 0o711);
    for (const path of [root, dirname(folder), folder]) chmodSync(path, 0o555);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      await expect(archived(chatDb, folder)).rejects.toMatchObject({
        code: 'archive_not_writable',
        message: `Postern may not write to ${folder} (EACCES).`,
      });
    } finally {
      if (isRoot) process.seteuid?.(0);
      for (const path of [root, dirname(folder)]) chmodSync(path, 0o700);
      chmodSync(above, mode);
    }
    expect(everythingIn(folder)).toEqual([]);
  });

  test.each([
    ['a missing folder', () => folder],
    ['an empty folder', () => mkdirSync(folder, { recursive: true }) ?? folder],
    ['a file', () => chatDb],
  ])('is reported as absent by a check of %s', async (_, place) => {
    await expect(verified(place())).rejects.toMatchObject({
      code: 'archive_absent',
      message: `There is no archive at ${place()}.`,
    });
  });

  test('is no folder with other things in it', async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'letter.txt'), '');
    await expect(archived(chatDb, folder)).rejects.toMatchObject({ code: 'archive_foreign' });
    expect(everythingIn(folder)).toHaveLength(1);
  });

  test('is written to by one run at a time', async () => {
    fixture.message({ text: 'one' });
    const second: Promise<unknown>[] = [];
    await archived(chatDb, folder, {
      onProgress: () => second.push(archived(chatDb, folder).catch((error: unknown) => error)),
    });
    expect(await second[0]).toMatchObject({ code: 'archive_in_use' });
  });
});

test('a new version of a file, and a line of the log, are on the disk before anything follows', () => {
  const path = join(temporaryFolder(), 'file');
  expect(diskCalls(() => writeWhole(path, 'text'))).toEqual(['sync', 'rename']);
  expect(diskCalls(() => appendLine(`${path}.ndjson`, NO_LINES, '"run":1'))).toEqual(['sync']);
});
