import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { type ConverterStart, Sandbox, UNPROTECTED } from '../../src/core/mac/sandbox.ts';
import { isAppError } from '../../src/core/model/errors.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { commandRunner, type RunCommand } from '../../src/core/runtime/command.ts';
import { Conversions } from '../../src/features/media/conversions.ts';
import { collectingLog } from '../support/log.ts';
import { png } from '../support/pictures.ts';
import { temporaryFolder } from '../support/temporary.ts';

const STAND_INS = fileURLToPath(new URL('../support/mac-stand-ins', import.meta.url));
let homes = 0;

/** A home folder with a secret, reached by a symbolic link as `/tmp` is on a Mac, and the programs of a Mac. */
function setUp(homeName = 'jane') {
  homes += 1;
  const state = join(temporaryFolder(), String(homes));
  const linked = join(state, 'linked');
  const home = join(linked, homeName);
  mkdirSync(join(state, 'real', homeName), { recursive: true });
  symlinkSync(join(state, 'real'), linked);
  const cacheFolder = join(home, 'Library', 'Caches');
  mkdirSync(cacheFolder, { recursive: true });
  const secret = join(home, 'chat.db');
  writeFileSync(secret, 'secret');
  const run = commandRunner({ PATH: `${STAND_INS}:${dirname(process.execPath)}:/usr/bin:/bin`, MAC_STAND_IN: state });
  const log = collectingLog();
  const parts = { toolFolder: STAND_INS, homeFolder: home, log };
  const conversions = new Conversions({
    ...parts,
    files: {
      state: () => undefined,
      open: async (id) => ({
        name: 'photo.png',
        mimeType: 'image/png',
        bytes: 64,
        version: id,
        read: async function* () {
          yield png(20, 20);
        },
        close: async () => {},
      }),
    },
    cacheFolder,
    run,
    clock: systemClock,
  });
  const convert = async (id: string): Promise<string> => {
    try {
      const file = await conversions.open(id, 0, { as: 'jpeg', max: undefined });
      await file?.close();
      return 'converted';
    } catch (error) {
      return isAppError(error) ? error.code : String(error);
    }
  };
  const asked = (): readonly (readonly string[])[] =>
    readFileSync(join(state, 'asked'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split('\t'));
  return { home, secret, state, run, log, parts, convert, asked };
}

describe('a converter', () => {
  test('runs in a sandbox, where it reads its own folder and nothing else of the home folder', async () => {
    const { home, secret, run, parts, convert, asked, log } = setUp();
    expect(await convert('1')).toBe('converted');
    expect(asked().map(([name]) => name)).toEqual(['sandbox-exec', 'sips', 'sandbox-exec', 'sips']);
    expect(log.lines).toEqual([]);
    const work = join(home, 'Library', 'Caches');
    const { program, first } = await new Sandbox(parts).start('sips', work, () => Promise.resolve(true));
    const sips = (...args: readonly string[]): ReturnType<RunCommand> => run(program, [...first, ...args]);
    expect(await sips(secret, '--out', join(work, 'made.jpg'))).toMatchObject({ code: 13 });
    expect(await sips('--out', join(home, 'made.jpg'))).toMatchObject({ code: 13 });
    expect(await sips('/Volumes', '--out', join(work, 'made.jpg'))).toMatchObject({
      code: 13,
    });
    expect(await sips('--out', join(work, 'made.jpg'))).toMatchObject({ code: 0 });
  });

  test('has no network, sends no Apple events and starts nothing', async () => {
    const { home, run, parts } = setUp();
    const { program, first } = await new Sandbox(parts).start('sips', home, () => Promise.resolve(true));
    const [, profile = ''] = first;
    for (const rule of ['network*', 'appleevent-send', 'lsopen', 'job-creation']) {
      expect(profile).toContain(`(deny ${rule})`);
    }
    const other = first.slice(0, -1);
    expect(await run(program, [...other, join(STAND_INS, 'osascript')])).toMatchObject({ code: 71 });
  });

  test.each(['a "quoted) (allow default', 'back\\slash', "apostrophe's", 'new\nline', '-D HOME=x', 'é 日本'])(
    'has a profile in which no path is text: %j',
    async (name) => {
      const { secret, home, run, parts } = setUp(name);
      const start = await new Sandbox(parts).start('sips', home, () => Promise.resolve(true));
      const plain = await new Sandbox(setUp().parts).start('sips', setUp().home, () => Promise.resolve(true));
      const length = (profile = ''): number => profile.replaceAll(/\(literal \(param "ABOVE_\d+"\)\)/g, '').length;
      expect(length(start.first[1])).toBe(length(plain.first[1]));
      expect(start.first[1]).not.toContain(name);
      const own = await run(start.program, [...start.first, '--out', join(home, 'made.jpg')]);
      expect(own).toMatchObject({ code: 0 });
      const work = await new Sandbox(parts).start('sips', join(home, 'Library'), () => Promise.resolve(true));
      expect(await run(work.program, [...work.first, secret])).toMatchObject({ code: 13 });
    },
  );

  test('runs without one where there is none, which the log says once', async () => {
    const { state, convert, asked, log } = setUp();
    writeFileSync(join(state, 'no-sandbox'), '');
    expect(await convert('1')).toBe('converted');
    expect(await convert('2')).toBe('converted');
    expect(asked().map(([name]) => name)).toEqual(['sandbox-exec', 'sips', 'sips', 'sips']);
    expect(log.lines).toMatchObject([{ level: 'warn', message: UNPROTECTED, fields: { tool: 'sips' } }]);
  });

  test("stays in its sandbox, whatever happens with a stranger's file", async () => {
    const { home, parts, log } = setUp();
    const sandbox = new Sandbox(parts);
    const starts = [await sandbox.start('sips', home, () => Promise.resolve(true))];
    const onlyOutside = ({ program }: ConverterStart) => Promise.resolve(!program.endsWith('/sandbox-exec'));
    for (const _ of [1, 2]) starts.push(await sandbox.start('sips', home, onlyOutside));
    expect(new Set(starts.map(({ program }) => program))).toEqual(new Set([join(STAND_INS, 'sandbox-exec')]));
    expect(log.lines).toEqual([]);
  });

  test('that works neither inside nor outside the sandbox stays inside, and is tried again', async () => {
    const { home, parts, log } = setUp();
    const sandbox = new Sandbox(parts);
    const tried: string[] = [];
    const fails = ({ program }: ConverterStart): Promise<boolean> => {
      tried.push(program);
      return Promise.resolve(false);
    };
    for (const _ of [1, 2]) expect((await sandbox.start('sips', home, fails)).program).toMatch(/sandbox-exec$/);
    expect(tried).toHaveLength(4);
    expect(log.lines).toEqual([]);
  });
});
