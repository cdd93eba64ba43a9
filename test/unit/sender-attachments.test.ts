import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type CheckedFile, checkAttachments, openChecked } from '../../src/core/sender/checked-attachments.ts';
import { Staging } from '../../src/core/sender/staging.ts';
import { eventually, waitFor } from '../support/eventually.ts';
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
  const { mistakes: found } = await checkAttachments({ attachments: paths }, { ...rules, roots });
  return found.map(({ pointer, message }) => `${pointer} ${message}`);
}

async function checked(path: string): Promise<CheckedFile> {
  const { files } = await checkAttachments({ attachments: [path] }, rules);
  if (files[0] === undefined) throw new Error(`${path} may not be sent`);
  return files[0];
}

describe('an attachment', () => {
  test('that is a file may be sent, also through a symlink and with any name', async () => {
    symlinkSync(inside('pictures/a.png'), inside('link.png'));
    writeFileSync(inside('ü "quoted"\nname.txt'), 'x');
    expect(await mistakes([inside('pictures/a.png'), inside('link.png'), inside('ü "quoted"\nname.txt')])).toEqual([]);
  });

  test('that cannot be sent is named by its index, every one', async () => {
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
    const found = await checkAttachments({ attachments: [path] }, { ...rules, chatDbPath: inside('chat.db') });
    expect(found.mistakes).toEqual([{ pointer: '/attachments/0', message: 'The Messages database cannot be sent.' }]);
  });

  test("is never one of Postern's own files, under any name", async () => {
    linkSync(inside('config/deep/code.js'), inside('hard.js'));
    symlinkSync(inside('config'), inside('soft'));
    linkSync(inside('pictures/a.png'), inside('twice.png'));
    const paths = [inside('config/config.toml'), inside('hard.js'), inside('soft/deep/code.js')];
    const found = await mistakes(paths);
    expect(found).toEqual([0, 1, 2].map((index) => `/attachments/${index} Postern's own files cannot be sent.`));
    expect(await mistakes([inside('twice.png')])).toEqual([]);
    writeFileSync(inside('elsewhere.toml'), 'key');
    symlinkSync(inside('elsewhere.toml'), inside('config/linked'));
    expect(await mistakes([inside('elsewhere.toml')])).toHaveLength(1);
  });
});

describe('an attachment that is another one when its turn comes', () => {
  const outbox = inside('outbox');
  mkdirSync(join(outbox, 'deep'), { recursive: true });
  const path = join(outbox, 'deep', 'a.txt');
  const secret = inside('pictures-private/b.png');
  const replace = async (make: () => void): Promise<unknown> => {
    rmSync(join(outbox, 'deep'), { recursive: true, force: true });
    mkdirSync(join(outbox, 'deep'));
    writeFileSync(path, 'letter');
    const file = await checked(path);
    make();
    return openChecked(file).then(
      async (handle) => {
        const text = await handle.readFile('utf8');
        await handle.close();
        return text;
      },
      (error: unknown) => error,
    );
  };
  const changed = { status: 400, code: 'attachment_changed', mistakes: [{ pointer: '/attachments/0' }] };

  test.each<readonly [string, () => void]>([
    ['a link in its place', () => symlinkSync(secret, path)],
    ['another file', () => renameSync(inside('pictures/other.png'), path)],
    ['nothing', () => undefined],
    ['a pipe', () => execFileSync('mkfifo', [path])],
    ['a folder', () => mkdirSync(path)],
    [
      'a link in the place of its folder',
      () => {
        writeFileSync(inside('pictures-private/a.txt'), 'secret');
        rmSync(dirname(path), { recursive: true });
        symlinkSync(inside('pictures-private'), dirname(path));
      },
    ],
  ])('is refused: %s', async (_name, make) => {
    writeFileSync(inside('pictures/other.png'), 'new');
    const found = await replace(() => {
      rmSync(path);
      make();
    });
    expect(found).toMatchObject(changed);
  });

  test('is sent from where the link led when the request came, wherever it leads now', async () => {
    const link = inside('current.txt');
    writeFileSync(inside('pictures/first.txt'), 'first');
    symlinkSync(inside('pictures/first.txt'), link);
    const file = await checked(link);
    rmSync(link);
    symlinkSync(secret, link);
    const handle = await openChecked(file);
    expect(await handle.readFile('utf8')).toBe('first');
    await handle.close();
  });

  test('is the same file as long as only its content changes', async () => {
    expect(await replace(() => writeFileSync(path, 'more'))).toBe('more');
    const openFiles = readdirSync('/dev/fd').length;
    const tooLarge = await replace(() => truncateSync(path, 100_000_001));
    expect(tooLarge).toMatchObject(changed);
    expect(readdirSync('/dev/fd')).toHaveLength(openFiles);
  });
});

describe('the copy of an attachment', () => {
  const hour = 3_600_000;
  const setUp = (name: string, clock = new FakeClock()) => {
    const staged = inside(name);
    const chatDb: { used: ReadonlySet<string> | undefined } = { used: new Set() };
    const staging = new Staging({
      folder: staged,
      lookup: { stagedFoldersInUse: async () => chatDb.used },
      clock,
      log: collectingLog(),
    });
    const copy = async (): Promise<string> => staging.copy(await checked(inside('pictures/a.png')));
    return { clock, staged, staging, chatDb, copy };
  };

  test('keeps its name, in its own folder that nobody else may open', async () => {
    const { staged, staging, copy } = setUp('staged-1');
    const copies = await Promise.all([copy(), copy()]);
    expect(new Set(copies).size).toBe(2);
    for (const path of copies) {
      expect(basename(path)).toBe('a.png');
      expect(dirname(dirname(path))).toBe(staged);
      expect(readFileSync(path, 'utf8')).toBe('x');
      expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
    staging.close();
  });

  test('is removed an hour later', async () => {
    const { clock, staged, copy } = setUp('staged-2');
    await copy();
    await clock.advance(hour - 1);
    expect(readdirSync(staged)).toHaveLength(1);
    await clock.advance(1);
    await eventually(() => expect(readdirSync(staged).length).toBe(0));
    expect(clock.pending).toBe(0);
  });

  test('is never removed while chat.db refers to it, neither after an hour nor at a start', async () => {
    const { clock, staged, staging, chatDb, copy } = setUp('staged-7');
    const [kept, removed] = [await copy(), await copy()];
    chatDb.used = new Set([basename(dirname(kept))]);
    await clock.advance(hour);
    await eventually(() => expect(readdirSync(staged).length).toBe(1));
    expect(readFileSync(kept, 'utf8')).toBe('x');
    expect(existsSync(removed)).toBe(false);
    staging.close();
    const after = setUp('staged-7', clock);
    after.chatDb.used = chatDb.used;
    await after.copy();
    await after.staging.start();
    await clock.advance(2 * hour);
    await eventually(() => expect(readdirSync(staged).length).toBe(1));
    expect(readFileSync(kept, 'utf8')).toBe('x');
    after.staging.close();
  });

  test('is not removed while chat.db cannot say, and is an hour after it can', async () => {
    const { clock, staged, chatDb, copy, staging } = setUp('staged-8');
    await copy();
    chatDb.used = undefined;
    for (let passed = 0; passed < 5; passed += 1) {
      await clock.advance(hour);
      await waitFor(() => clock.pending === 1);
    }
    expect(readdirSync(staged)).toHaveLength(1);
    chatDb.used = new Set();
    await clock.advance(hour);
    await eventually(() => expect(readdirSync(staged).length).toBe(0));
    staging.close();
  });

  test('is removed on time after a restart too, and nothing else is touched', async () => {
    const { clock, staged, staging, copy } = setUp('staged-3');
    const young = await copy();
    const old = await copy();
    staging.close();
    expect(clock.pending).toBe(0);
    mkdirSync(join(staged, 'somebody else'));
    const seconds = (clock.now() - 2 * hour) / 1000;
    utimesSync(dirname(old), seconds, seconds);
    await clock.advance(hour / 2);
    const { staging: after } = setUp('staged-3', clock);
    await after.start();
    await clock.advance(0);
    await eventually(() => expect(readdirSync(staged)).not.toContain(basename(dirname(old))));
    expect(readFileSync(young, 'utf8')).toBe('x');
    await clock.advance(hour / 2);
    await eventually(() => expect(readdirSync(staged).length).toBe(1));
    expect(readdirSync(staged)).toEqual(['somebody else']);
    after.close();
  });

  test('is removed within an hour of the start, whatever its date says', async () => {
    const { clock, staged, staging, copy } = setUp('staged-6');
    const path = await copy();
    staging.close();
    const seconds = (clock.now() + 1000 * hour) / 1000;
    utimesSync(dirname(path), seconds, seconds);
    const { staging: after } = setUp('staged-6', clock);
    await after.start();
    await clock.advance(hour);
    await eventually(() => expect(readdirSync(staged).length).toBe(0));
    after.close();
  });

  test('starts without a folder to clean', async () => {
    const { staging, clock } = setUp('staged-4');
    await staging.start();
    expect(clock.pending).toBe(0);
  });

  test.each(['EPERM', 'EACCES'])('that macOS does not permit (%s) says which permission is missing', async (code) => {
    const { staging } = setUp('staged-9');
    const file = await checked(inside('pictures/a.png'));
    const forbidden = {
      ...file,
      // Only a Mac refuses root to write.
      get path(): string {
        throw Object.assign(new Error(code), { code });
      },
    };
    await expect(staging.copy(forbidden)).rejects.toMatchObject({ status: 503, code: 'messages_unavailable' });
    staging.close();
  });

  test('that cannot be made is a refusal', async () => {
    writeFileSync(inside('staged-5'), 'a file where the folder should be');
    const { copy, staging } = setUp('staged-5');
    await expect(copy()).rejects.toMatchObject({ status: 502, code: 'send_failed' });
    staging.close();
  });
});
