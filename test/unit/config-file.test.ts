import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type ConfigReading, createConfig, protectConfig, readConfig } from '../../src/core/config/config-file.ts';
import { configFolder, demoFolder, logLevel, processEnvironment } from '../../src/core/config/environment.ts';
import { FEATURES } from '../../src/features/list.ts';
import { testIf } from '../support/conditions.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const environment = processEnvironment({ HOME: '/Users/jane' }, 'darwin', FEATURES);
const GOOD = '[auth]\napi_key = "a-key-of-many-letters"\n';
let count = 0;

function newFolder(): string {
  count += 1;
  return join(root, `folder-${count}`);
}

function folderWith(content: string | Uint8Array, mode = 0o600): string {
  const folder = newFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, 'config.toml'), content, { mode });
  return folder;
}

function mistakesIn(reading: ConfigReading): readonly string[] {
  return reading.state === 'unusable' ? reading.mistakes : [];
}

describe('where the configuration is', () => {
  test.each([
    ['darwin', {}, undefined, '/home/jo/Library/Application Support/Postern'],
    ['linux', {}, undefined, '/home/jo/.config/postern'],
    ['linux', { XDG_CONFIG_HOME: '/xdg' }, undefined, '/xdg/postern'],
    ['linux', { XDG_CONFIG_HOME: 'relative' }, undefined, '/home/jo/.config/postern'],
    ['darwin', { XDG_CONFIG_HOME: '/xdg' }, undefined, '/home/jo/Library/Application Support/Postern'],
    ['darwin', { POSTERN_CONFIG_DIR: '/by/env' }, undefined, '/by/env'],
    ['linux', { POSTERN_CONFIG_DIR: '' }, undefined, '/home/jo/.config/postern'],
    ['darwin', { POSTERN_CONFIG_DIR: '/by/env' }, '/by/option', '/by/option'],
    ['linux', {}, 'relative', join(process.cwd(), 'relative')],
  ])('%s %j --config-dir %s', (platform, env, option, folder) => {
    expect(configFolder(option, processEnvironment({ HOME: '/home/jo', ...env }, platform))).toBe(folder);
  });

  test('the demo lives beside it', () => {
    expect(demoFolder(undefined, processEnvironment({ HOME: '/home/jo' }, 'linux'))).toBe(
      '/home/jo/.config/postern-demo',
    );
    expect(demoFolder(undefined, environment)).toBe('/Users/jane/Library/Application Support/Postern Demo');
  });

  test.each([{}, { HOME: '' }, { HOME: 'relative' }])(
    'without a usable HOME the account says where home is: %j',
    (env) => {
      expect(processEnvironment(env, 'linux').homeFolder).toMatch(/^\//);
    },
  );
});

test.each([
  [undefined, 'info', 0],
  ['', 'info', 0],
  ['DEBUG', 'debug', 0],
  ['error', 'error', 0],
  ['loud', 'info', 1],
])('the log level %s', (wish, level, warnings) => {
  const found = logLevel(processEnvironment(wish === undefined ? {} : { POSTERN_LOG_LEVEL: wish }, 'linux'));
  expect([found.level, found.warnings.length]).toEqual([level, warnings]);
});

describe('the first launch', () => {
  test('makes a folder and a file for the owner alone, whatever the umask', () => {
    const folder = join(newFolder(), 'deep', 'down');
    const umask = process.umask(0);
    try {
      createConfig(folder, environment);
    } finally {
      process.umask(umask);
    }
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'config.toml')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['config.toml']);
  });

  test('writes what the second launch reads, with a UUID as the key and the documented defaults', () => {
    const folder = newFolder();
    createConfig(folder, environment);
    const reading = readConfig(folder, environment);
    if (reading.state !== 'usable') throw new Error(JSON.stringify(reading));
    expect(reading.warnings).toEqual([]);
    expect(reading.config.auth.apiKey).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    const bare = readConfig(folderWith(GOOD), environment);
    if (bare.state !== 'usable') throw new Error(JSON.stringify(bare));
    expect({ ...reading.config, dir: '', auth: {} }).toEqual({ ...bare.config, dir: '', auth: {} });
  });

  test('explains every key, and each commented one is right when its comment sign is taken away', () => {
    const folder = newFolder();
    const text = readFileSync(createConfig(folder, environment).path, 'utf8');
    const active = text.replace(/^# (?=\w+ = )/gm, '');
    expect([...active.matchAll(/^(\w+) = /gm)].map((found) => found[1])).toEqual([
      'host',
      'port',
      'rate_limit_per_minute',
      'allowed_hosts',
      'allowed_origins',
      'api_key',
      'chat_db_path',
      'poll_interval_ms',
      'osascript_path',
      'associated_rows',
      'confirm_ms',
      'attachment_roots',
      'allowed_hosts',
      'ca_file',
      // Those of features.
      'enabled',
      'calling_code',
      'enabled',
      'enabled',
      'address',
      'allow_owner_key',
      'issuer',
      'file',
      'machine',
      'backfill_hours',
      'changes',
      'port',
      'host',
      'enabled',
    ]);
    writeFileSync(join(folder, 'config.toml'), active);
    expect(readConfig(folder, environment)).toMatchObject({ state: 'usable', warnings: [] });
  });

  test('gives another key each time', () => {
    const keys = [newFolder(), newFolder()].map((folder) =>
      readFileSync(createConfig(folder, environment).path, 'utf8'),
    );
    expect(keys[0]).not.toBe(keys[1]);
  });

  test('never touches an existing file', () => {
    const folder = folderWith('precious');
    expect(mistakesIn(createConfig(folder, environment))).toEqual([expect.stringContaining('EEXIST')]);
    expect(readFileSync(join(folder, 'config.toml'), 'utf8')).toBe('precious');
    expect(readdirSync(folder)).toEqual(['config.toml']);
  });

  test('does not follow a broken link', () => {
    const folder = newFolder();
    mkdirSync(folder);
    const target = join(root, 'elsewhere.toml');
    symlinkSync(target, join(folder, 'config.toml'));
    expect(readConfig(folder, environment)).toMatchObject({
      state: 'unusable',
      mistakes: [expect.stringContaining('ENOENT')],
    });
    expect(mistakesIn(createConfig(folder, environment))).toEqual([expect.stringContaining('EEXIST')]);
    expect(existsSync(target)).toBe(false);
    expect(lstatSync(join(folder, 'config.toml')).isSymbolicLink()).toBe(true);
  });

  test('says so when the folder cannot be made', () => {
    const file = join(root, 'a-file');
    writeFileSync(file, '');
    expect(mistakesIn(createConfig(join(file, 'config'), environment))).toEqual([expect.stringContaining('ENOTDIR')]);
  });

  test('takes the values of the settings that it receives', () => {
    const folder = newFolder();
    createConfig(
      folder,
      environment,
      new Map<string, string | number>([
        ['backend.poll_interval_ms', 250],
        ['backend.osascript_path', '/demo "x" \\ y/osascript'],
      ]),
    );
    expect(readConfig(folder, environment)).toMatchObject({
      config: { backend: { pollIntervalMs: 250, osascriptPath: '/demo "x" \\ y/osascript' } },
    });
  });
});

describe('an existing file', () => {
  test.each([
    ['a byte order mark', `\uFEFF${GOOD}`],
    ['Windows line ends', GOOD.replaceAll('\n', '\r\n')],
    ['no line end', GOOD.trimEnd()],
  ])('may have %s', (_, text) => {
    expect(readConfig(folderWith(text), environment)).toMatchObject({
      state: 'usable',
      config: { auth: { apiKey: 'a-key-of-many-letters' } },
    });
  });

  test('is followed when it is a link', () => {
    const folder = newFolder();
    mkdirSync(folder);
    symlinkSync(join(folderWith(GOOD), 'config.toml'), join(folder, 'config.toml'));
    expect(readConfig(folder, environment)).toMatchObject({ state: 'usable' });
  });

  test.each([
    ['', 'auth.api_key is missing'],
    ['x'.repeat(10_000_000), 'The file has 10000000 bytes; a configuration may have at most 1048576.'],
    [new Uint8Array([0xff, 0xfe, 0x41, 0]), 'This is not text in UTF-8.'],
    ['\0\0\0', 'Line 1: '],
  ])('unusable content %#', (content, sentence) => {
    expect(mistakesIn(readConfig(folderWith(content), environment))).toEqual([expect.stringContaining(sentence)]);
  });

  test('is refused if it is a folder', () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'config.toml'), { recursive: true });
    expect(mistakesIn(readConfig(folder, environment))).toEqual(['This is not a regular file.']);
  });

  test('is refused if it is a pipe that nobody writes to', () => {
    const folder = newFolder();
    mkdirSync(folder);
    execFileSync('mkfifo', [join(folder, 'config.toml')]);
    expect(mistakesIn(readConfig(folder, environment))).toEqual(['This is not a regular file.']);
  });

  const asRoot = process.getuid?.() === 0;
  testIf(!asRoot, 'root may read everything')('is refused if this user may not read it', () => {
    expect(mistakesIn(readConfig(folderWith(GOOD, 0o000), environment))).toEqual([expect.stringContaining('EACCES')]);
  });

  test.each([
    ['ENAMETOOLONG', () => join(root, 'x'.repeat(300))],
    ['ENOTDIR', () => join(folderWith(GOOD), 'config.toml')],
    [
      'ELOOP',
      () => {
        const link = newFolder();
        symlinkSync(link, link);
        return link;
      },
    ],
  ])('is refused if its folder cannot be entered: %s', (code, folder) => {
    expect(mistakesIn(readConfig(folder(), environment))).toEqual([expect.stringContaining(code)]);
  });

  test('is a warning when others may read it', () => {
    const folder = folderWith(GOOD);
    for (const [mode, warnings] of [
      [0o600, 0],
      [0o400, 0],
      [0o640, 1],
      [0o604, 1],
    ] as const) {
      chmodSync(join(folder, 'config.toml'), mode);
      expect(readConfig(folder, environment)).toMatchObject({ state: 'usable', warnings: { length: warnings } });
    }
  });

  test('comes with a command to protect it that a shell reads as one path', () => {
    const folder = join(newFolder(), 'Application Support');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config.toml'), GOOD, { mode: 0o644 });
    const path = join(folder, 'config.toml');
    expect(readConfig(folder, environment)).toMatchObject({
      warnings: [expect.stringMatching(new RegExp(`Run: chmod 600 '${path}'$`))],
    });
    chmodSync(folder, 0o777);
    expect(protectConfig(folder)).toContainEqual(expect.stringMatching(new RegExp(`Run: chmod 700 '${folder}'$`)));
  });

  test('is absent without an error if there is no file', () => {
    expect(readConfig(newFolder(), environment)).toMatchObject({ state: 'absent' });
    expect(readConfig(join(root, 'no', 'such'), environment)).toMatchObject({ state: 'absent' });
  });
});
