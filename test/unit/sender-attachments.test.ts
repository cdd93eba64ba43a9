import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { attachmentMistakes } from '../../src/sender/attachments.ts';
import { Staging } from '../../src/sender/staging.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const inside = (name: string): string => join(folder, name);
for (const name of ['config', 'config/deep', 'pictures', 'pictures-private', 'messages']) mkdirSync(inside(name));
for (const name of ['pictures/a.png', 'pictures-private/b.png', 'config/config.toml', 'config/deep/code.js']) {
  writeFileSync(inside(name), 'x');
}
for (const name of ['chat.db', 'chat.db-wal', 'chat.db-shm']) writeFileSync(join(inside('messages'), name), 'x');

const rules = { roots: [], chatDbPath: inside('messages/chat.db'), configDir: inside('config') };

async function mistakes(paths: readonly string[], roots: readonly string[] = []): Promise<readonly string[]> {
  const found = await attachmentMistakes(paths, { ...rules, roots });
  return found.map(({ pointer, message }) => `${pointer} ${message}`);
}

describe('an attachment', () => {
  test('that is a file may be sent, also through a symlink and with any name', async () => {
    symlinkSync(inside('pictures/a.png'), inside('link.png'));
    writeFileSync(inside('ü "quoted"\nname.txt'), 'x');
    expect(await mistakes([inside('pictures/a.png'), inside('link.png'), inside('ü "quoted"\nname.txt')])).toEqual([]);
  });

  test('that cannot be sent is named by its place, every one', async () => {
    execFileSync('mkfifo', [inside('pipe')]);
    symlinkSync(inside('nothing'), inside('broken'));
    symlinkSync(inside('loop'), inside('loop'));
    const paths = [
      'pictures/a.png',
      '',
      '~/a.png',
      inside('nothing'),
      inside('pictures/a.png/b'),
      inside('broken'),
      inside('loop'),
      inside('a\0b'),
      inside('pictures'),
      inside('pipe'),
    ];
    expect(await mistakes(paths)).toEqual([
      '/attachments/0 The path must be absolute.',
      '/attachments/1 The path must be absolute.',
      '/attachments/2 The path must be absolute.',
      '/attachments/3 There is no such file.',
      '/attachments/4 There is no such file.',
      '/attachments/5 There is no such file.',
      '/attachments/6 There is no such file.',
      '/attachments/7 There is no such file.',
      '/attachments/8 This is not a regular file.',
      '/attachments/9 This is not a regular file.',
    ]);
  });

  test('may be one of ten, not of eleven', async () => {
    const path = inside('pictures/a.png');
    expect(await mistakes(Array.from({ length: 10 }, () => path))).toEqual([]);
    expect(await mistakes(Array.from({ length: 11 }, () => path))).toEqual([
      '/attachments At most 10 attachments can be sent at once.',
    ]);
  });

  test('may have 100 MB, not a byte more', async () => {
    const path = inside('large.bin');
    writeFileSync(path, '');
    truncateSync(path, 100_000_000);
    expect(await mistakes([path])).toEqual([]);
    truncateSync(path, 100_000_001);
    expect(await mistakes([path])).toEqual(['/attachments/0 The file is larger than 100 MB.']);
  });

  test('must lie within the roots, if there are any, whatever links say', async () => {
    symlinkSync(inside('pictures-private/b.png'), inside('pictures/escape.png'));
    symlinkSync(inside('pictures'), inside('alias'));
    const outside = 'The file is outside the folders in send.attachment_roots.';
    const paths = [
      inside('pictures/a.png'),
      inside('alias/a.png'),
      inside('pictures/../pictures-private/b.png'),
      inside('pictures-private/b.png'),
      inside('pictures/escape.png'),
    ];
    const expected = [2, 3, 4].map((index) => `/attachments/${index} ${outside}`);
    expect(await mistakes(paths, [inside('pictures')])).toEqual(expected);
    expect(await mistakes(paths, [inside('gone'), `${inside('alias')}/`])).toEqual(expected);
    expect(await mistakes(paths, ['/'])).toEqual([]);
  });

  test('is never the messages database, under any name', async () => {
    linkSync(inside('messages/chat.db'), inside('holiday.png'));
    symlinkSync(inside('messages/chat.db-wal'), inside('wal.png'));
    const paths = ['', '-wal', '-shm'].map((suffix) => inside(`messages/chat.db${suffix}`));
    const found = await mistakes([...paths, inside('holiday.png'), inside('wal.png')]);
    expect(found).toEqual(
      [0, 1, 2, 3, 4].map((index) => `/attachments/${index} The Messages database cannot be sent.`),
    );
  });

  test('is never the messages database where the configured link leads to', async () => {
    symlinkSync(inside('messages/chat.db'), inside('chat.db'));
    const path = inside('messages/chat.db-wal');
    const found = await attachmentMistakes([path], { ...rules, chatDbPath: inside('chat.db') });
    expect(found).toEqual([{ pointer: '/attachments/0', message: 'The Messages database cannot be sent.' }]);
  });

  test("is never one of Postern's own files, under any name", async () => {
    linkSync(inside('config/deep/code.js'), inside('hard.js'));
    symlinkSync(inside('config'), inside('soft'));
    linkSync(inside('pictures/a.png'), inside('twice.png'));
    const paths = [inside('config/config.toml'), inside('hard.js'), inside('soft/deep/code.js')];
    const found = await mistakes(paths);
    expect(found).toEqual([0, 1, 2].map((index) => `/attachments/${index} Postern's own files cannot be sent.`));
    expect(await mistakes([inside('twice.png')])).toEqual([]);
  });
});

describe('the copy of an attachment', () => {
  const hour = 3_600_000;
  const setUp = (name: string) => {
    const clock = new FakeClock();
    const staged = inside(name);
    return { clock, staged, staging: new Staging(staged, clock, collectingLog()) };
  };

  test('keeps its name, in a folder of its own that nobody else may open', async () => {
    const { staged, staging } = setUp('staged-1');
    const copies = await Promise.all([staging.copy(inside('pictures/a.png')), staging.copy(inside('pictures/a.png'))]);
    expect(new Set(copies).size).toBe(2);
    for (const copy of copies) {
      expect(basename(copy)).toBe('a.png');
      expect(dirname(dirname(copy))).toBe(staged);
      expect(readFileSync(copy, 'utf8')).toBe('x');
      expect(statSync(dirname(copy)).mode & 0o777).toBe(0o700);
    }
    staging.close();
  });

  test('is removed an hour later', async () => {
    const { clock, staged, staging } = setUp('staged-2');
    await staging.copy(inside('pictures/a.png'));
    await clock.advance(hour - 1);
    expect(readdirSync(staged)).toHaveLength(1);
    await clock.advance(1);
    await eventually(() => readdirSync(staged).length === 0);
  });

  test('is removed on time after a restart too, and nothing else is touched', async () => {
    const { clock, staged, staging } = setUp('staged-3');
    const young = await staging.copy(inside('pictures/a.png'));
    const old = await staging.copy(inside('pictures/a.png'));
    staging.close();
    expect(clock.pending).toBe(0);
    mkdirSync(join(staged, 'somebody else'));
    const seconds = (clock.now() - 2 * hour) / 1000;
    utimesSync(dirname(old), seconds, seconds);
    await clock.advance(hour / 2);
    const after = new Staging(staged, clock, collectingLog());
    await after.start();
    await clock.advance(0);
    await eventually(() => !readdirSync(staged).includes(basename(dirname(old))));
    expect(readFileSync(young, 'utf8')).toBe('x');
    await clock.advance(hour / 2);
    await eventually(() => readdirSync(staged).length === 1);
    expect(readdirSync(staged)).toEqual(['somebody else']);
    after.close();
  });

  test('is removed within an hour of the start, whatever its date says', async () => {
    const { clock, staged, staging } = setUp('staged-6');
    const copy = await staging.copy(inside('pictures/a.png'));
    staging.close();
    const seconds = (clock.now() + 1000 * hour) / 1000;
    utimesSync(dirname(copy), seconds, seconds);
    const after = new Staging(staged, clock, collectingLog());
    await after.start();
    await clock.advance(hour);
    await eventually(() => readdirSync(staged).length === 0);
    after.close();
  });

  test('starts without a folder to clean', async () => {
    const { staging, clock } = setUp('staged-4');
    await staging.start();
    expect(clock.pending).toBe(0);
  });

  test('that cannot be made is a refusal', async () => {
    const { staging } = setUp('staged-5');
    await expect(staging.copy(inside('gone'))).rejects.toMatchObject({ status: 502, code: 'send_failed' });
    staging.close();
  });
});
