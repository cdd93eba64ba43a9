import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { AttachmentState } from '../../src/core/model/details.ts';
import { isAppError } from '../../src/core/model/errors.ts';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import type { AttachmentFile } from '../../src/core/model/ports/reading-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import type { CommandResult, RunCommand } from '../../src/core/runtime/command.ts';
import { Conversions, formatOf } from '../../src/features/media/conversions.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { heic, picture, png } from '../support/pictures.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
let folders = 0;
const DONE: CommandResult = { code: 0, stdout: '', stderr: '', trouble: null };
const HEIC = heic(4032, 3024);
const CAF = Buffer.from('caff\0\x01\0\0desc');

/** Creates a converter that writes its input after a word, with files in memory. */
function setUp({
  run,
  content = HEIC,
  state,
  bytes = content.length,
  clock = systemClock,
}: {
  run?: RunCommand;
  content?: Buffer;
  state?: AttachmentState;
  bytes?: number;
  clock?: Clock;
} = {}) {
  folders += 1;
  const cacheFolder = join(root, String(folders));
  const calls: { readonly tool: string; readonly args: readonly string[] }[] = [];
  const files = { opened: 0, closed: 0 };
  const work: RunCommand = async (_sandbox, [...all], options) => {
    const place = all.findIndex((arg) => /^\/usr\/bin\/(?:sips|afconvert)$/.test(arg));
    const [tool = '', ...args] = all.slice(place);
    if (args.some((arg) => arg.includes('/sample.'))) {
      writeFileSync(args.at(-1) ?? '', 'made');
      return DONE;
    }
    calls.push({ tool, args });
    if (run !== undefined) return run(tool, args, options);
    const target = args.at(-1) ?? '';
    const source = args.find((arg) => arg.includes('/source.')) ?? '';
    writeFileSync(target, `converted ${readFileSync(source).length}`);
    return DONE;
  };
  const conversions = new Conversions({
    files: {
      state: () => state,
      open: async (rowId): Promise<AttachmentFile | undefined> => {
        if (state !== undefined) return undefined;
        files.opened += 1;
        return {
          name: 'a "secret" name.heic',
          mimeType: 'image/heic',
          bytes,
          version: `v${rowId}`,
          read: async function* () {
            for (let at = 0; at < content.length; at += 50_000) yield content.subarray(at, at + 50_000);
          },
          close: async () => {
            files.closed += 1;
          },
        };
      },
    },
    cacheFolder,
    toolFolder: '/usr/bin',
    homeFolder: root,
    run: work,
    clock,
    log: collectingLog(),
  });
  const get = async (rowId = 1, form: Parameters<Conversions['open']>[2] = { as: 'jpeg', max: 480 }) => {
    const file = await conversions.open(String(rowId), 0, form);
    if (file === undefined) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.read(0, file.bytes - 1)) chunks.push(chunk);
    return { ...file, text: Buffer.concat(chunks).toString() };
  };
  return { conversions, cacheFolder, calls, files, get };
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'none';
  } catch (error) {
    return isAppError(error) ? `${error.status} ${error.code}` : String(error);
  }
}

describe('a converted attachment', () => {
  test('is made once, and then comes from the cache', async () => {
    const { get, calls, cacheFolder, files } = setUp();
    const first = await get();
    expect(first).toMatchObject({
      name: 'a "secret" name.jpg',
      mimeType: 'image/jpeg',
      text: expect.stringMatching(/^converted \d+$/),
    });
    expect(await get()).toMatchObject({ text: first?.text, version: first?.version });
    expect(calls).toHaveLength(1);
    await get(1, { as: 'jpeg', max: 100 });
    await get(2);
    expect(calls).toHaveLength(3);
    expect(readdirSync(cacheFolder)).toHaveLength(3);
    expect(statSync(join(cacheFolder, readdirSync(cacheFolder)[0] ?? '')).mode & 0o777).toBe(0o600);
    expect(statSync(cacheFolder).mode & 0o777).toBe(0o700);
    expect(files.opened).toBe(files.closed);
  });

  test('is made by the converters of macOS, of a copy whose name says nothing', async () => {
    const { get, calls } = setUp();
    await get(1, { as: 'jpeg', max: undefined });
    await get(1, { as: 'jpeg', max: 1568 });
    const sound = setUp({ content: CAF });
    await sound.get(1, { as: 'm4a' });
    const shape = ({ args }: (typeof calls)[number]) =>
      args.map((arg) => arg.replace(/^.*\/(source)?.*(\..*)$/, '$1$2'));
    expect(calls.map(({ tool }) => tool)).toEqual(['/usr/bin/sips', '/usr/bin/sips']);
    expect(calls.map(shape)).toEqual([
      ['-s', 'format', 'jpeg', 'source.heic', '--out', '.jpg'],
      ['-s', 'format', 'jpeg', '-Z', '1568', 'source.heic', '--out', '.jpg'],
    ]);
    expect(sound.calls.map(({ tool }) => tool)).toEqual(['/usr/bin/afconvert']);
    expect(sound.calls.map(shape)).toEqual([['-f', 'm4af', '-d', 'aac', 'source.caf', '.m4a']]);
    expect(JSON.stringify([calls, sound.calls])).not.toContain('secret');
  });

  test('is made one at a time, and a request for the same waits for it', async () => {
    let running = 0;
    let most = 0;
    const run: RunCommand = async (_tool, args) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => void setImmediate(resolve));
      writeFileSync(args.at(-1) ?? '', 'made');
      running -= 1;
      return DONE;
    };
    const { get, calls, files } = setUp({ run });
    await Promise.all([get(1), get(1), get(2), get(3), get(1)]);
    expect([most, calls.length]).toEqual([1, 3]);
    expect(files.opened).toBe(files.closed);
  });

  test('is refused when too many wait', async () => {
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const run: RunCommand = async (_tool, args) => {
      await released;
      writeFileSync(args.at(-1) ?? '', 'made');
      return DONE;
    };
    const { get, files } = setUp({ run });
    // Any of them may come last: each looks into the cache first, in a folder on disk.
    const requests = Array.from({ length: 21 }, (_, index) => codeOf(get(index + 1)));
    expect(await Promise.race(requests)).toBe('503 conversion_busy');
    release();
    expect((await Promise.all(requests)).filter((code) => code === 'none')).toHaveLength(20);
    expect(files.opened).toBe(files.closed);
  });

  test.each([
    ['there is no converter', { code: null, stdout: '', stderr: '', trouble: 'missing' }],
    ['it fails', { code: 1, stdout: '', stderr: 'bad file', trouble: null }],
    ['it takes too long', { code: null, stdout: '', stderr: '', trouble: 'time_limit' }],
    ['it says that it is done and made nothing', DONE],
  ] as const)('is 501 when %s, and leaves nothing', async (_what, result) => {
    const { get, cacheFolder, files } = setUp({ run: async () => result });
    expect(await codeOf(get())).toBe('501 conversion_unavailable');
    expect(readdirSync(cacheFolder)).toEqual([]);
    expect(files.opened).toBe(files.closed);
  });

  test('is not tried again for 10 minutes, in any size, of a picture that stopped the converter', async () => {
    const clock = new FakeClock();
    const run: RunCommand = async () => {
      await clock.advance(60_000);
      return { code: null, stdout: '', stderr: '', trouble: 'time_limit' };
    };
    const { get, calls, files } = setUp({ run, clock });
    const sizes = [100, 101, 102].map((max) => codeOf(get(1, { as: 'jpeg', max })));
    expect(await Promise.all(sizes)).toEqual(Array(3).fill('501 conversion_unavailable'));
    expect(await codeOf(get(1, { as: 'jpeg', max: 103 }))).toBe('501 conversion_unavailable');
    expect(calls).toHaveLength(1);
    await codeOf(get(2));
    expect(calls).toHaveLength(2);
    await clock.advance(600_000);
    await codeOf(get(1));
    expect(calls).toHaveLength(3);
    expect(files.opened).toBe(files.closed);
  });

  test('is 501 for a film of more than 500 MB, which is not copied', async () => {
    const film = Buffer.from('\0\0\0\x20ftypisom', 'latin1');
    const { get, calls, files } = setUp({ content: film, bytes: 500_000_001 });
    expect(await codeOf(get(1, { as: 'm4a' }))).toBe('501 conversion_unavailable');
    expect(calls).toEqual([]);
    expect(files.opened).toBe(files.closed);
  });

  test.each([
    ['a document', Buffer.from('%PDF-1.7'), 'jpeg'],
    ['a playlist that names other files', Buffer.from('#EXTM3U\nfile:///etc/passwd'), 'm4a'],
    ['a recording', CAF, 'jpeg'],
    ['a picture', HEIC, 'm4a'],
    ['nothing', Buffer.alloc(0), 'jpeg'],
  ] as const)('is 501 for %s, which no converter is given', async (_what, content, as) => {
    const { get, calls, files } = setUp({ content });
    expect(await codeOf(get(1, as === 'jpeg' ? { as, max: undefined } : { as }))).toBe('501 conversion_unavailable');
    expect(calls).toEqual([]);
    expect(files.opened).toBe(files.closed);
  });

  test('is 409 while the file is only in iCloud, and absent when it is missing', async () => {
    expect(await codeOf(setUp({ state: 'in_cloud' }).get())).toBe('409 not_on_this_mac');
    expect(await codeOf(setUp({ state: 'downloading' }).get())).toBe('409 not_on_this_mac');
    expect(await setUp({ state: 'missing' }).get()).toBeUndefined();
    expect(await setUp({ state: 'in_cloud' }).conversions.open('1', 0)).toBeUndefined();
  });
});

test('the cache keeps 500 MB, and loses first what was not asked for longest', async () => {
  const { get, cacheFolder, calls } = setUp();
  mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
  await get(1);
  const [kept = ''] = readdirSync(cacheFolder);
  for (const [index, name] of ['oldest', 'older', 'newer'].entries()) {
    writeFileSync(join(cacheFolder, name), '');
    truncateSync(join(cacheFolder, name), 240_000_000);
    utimesSync(join(cacheFolder, name), 1000 + index, 1000 + index);
  }
  utimesSync(join(cacheFolder, kept), 1, 1);
  // It has been used again, so it is no longer the oldest.
  await get(1);
  await get(2);
  expect(readdirSync(cacheFolder)).toEqual(expect.arrayContaining(['newer', 'older', kept]));
  expect(readdirSync(cacheFolder)).not.toContain('oldest');
  await get(1);
  expect(calls).toHaveLength(2);
});

test.each([
  ['\0\0\0\x1cftypheic', 'picture heic'],
  ['\xff\xd8\xff\xe0', 'picture jpg'],
  ['\x89PNG\r\n\x1a\n', 'picture png'],
  ['RIFF\n\0\0\0WEBPVP8 ', 'picture webp'],
  ['caff\0\x01', 'sound caf'],
  ['#!AMR\n', 'sound amr'],
  ['\0\0\0\x20ftypM4A ', 'sound m4a'],
  ['<svg xmlns', 'none'],
  ['#EXTM3U', 'none'],
  ['ffconcat version 1.0', 'none'],
  ['', 'none'],
])('what begins with %j is %s', (head, expected) => {
  const format = formatOf(Buffer.from(head, 'latin1'));
  expect(format === undefined ? 'none' : `${format.kind} ${format.extension}`).toBe(expected);
});

test('of a picture that claims to have billions of pixels is made by no converter', async () => {
  const { get, calls } = setUp({ content: png(60_000, 60_000) });
  expect(await codeOf(get())).toBe('501 conversion_unavailable');
  expect(calls).toEqual([]);
  const large = setUp({ content: png(16_000, 12_000) });
  expect(await codeOf(large.get())).toBe('none');
});

test.each([
  ['a JPEG without a size', picture('\xff\xd8\xff\xe0', () => undefined)],
  ['a HEIC without a size', picture('\0\0\0\x1cftypheic', () => undefined)],
])('of %s is made by no converter', async (_what, content) => {
  const { get, calls, files } = setUp({ content });
  expect(await codeOf(get())).toBe('501 conversion_unavailable');
  expect(calls).toEqual([]);
  expect(files.opened).toBe(files.closed);
});
