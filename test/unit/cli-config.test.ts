import {
  chmodSync,
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
import { configPath, createConfig, readConfig } from '../../src/core/config/config-file.ts';
import { rotateOwnerKey } from '../../src/core/config/key-rotation.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const around = { env: {}, platform: 'linux', homeFolder: root };
let count = 0;

function configured(toml: string): string {
  count += 1;
  const folder = join(root, `folder-${count}`);
  mkdirSync(folder);
  writeFileSync(configPath(folder), toml, { mode: 0o600 });
  return folder;
}

function keyIn(folder: string): string {
  const reading = readConfig(folder, around);
  return reading.state === 'usable' ? reading.config.auth.apiKey : '';
}

describe('rotating the key', () => {
  test('changes that one value of the file that the first launch wrote', () => {
    const folder = join(root, 'fresh');
    createConfig(folder, around);
    const path = configPath(folder);
    const before = readFileSync(path, 'utf8');
    const oldKey = keyIn(folder);
    expect(rotateOwnerKey(folder, around)).toEqual({ isDone: true, path });
    const newKey = keyIn(folder);
    expect(newKey).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    expect(newKey).not.toBe(oldKey);
    expect(readFileSync(path, 'utf8')).toBe(before.replace(oldKey, newKey));
  });

  test.each([
    ['a comment behind it', '[auth]\n  api_key="old" # mine\n', '[auth]\n  api_key="NEW" # mine\n'],
    ['single quotes', "[auth]\napi_key = 'old'\n", '[auth]\napi_key = "NEW"\n'],
    ['quotes and dollars in it', '[auth]\napi_key = "a\\"b$&"\n', '[auth]\napi_key = "NEW"\n'],
    ['a dotted name', 'auth.api_key = "old"\n[server]\nport = 4000\n', 'auth.api_key = "NEW"\n[server]\nport = 4000\n'],
    ['line ends of Windows', '[auth]\r\napi_key = "old"\r\n', '[auth]\r\napi_key = "NEW"\r\n'],
    ['no line end', '[auth]\napi_key = "old"', '[auth]\napi_key = "NEW"'],
    ['but a byte order mark', '\uFEFF[auth]\napi_key = "old"\n', '[auth]\napi_key = "NEW"\n'],
    [
      'the same name elsewhere',
      '[other]\napi_key = "not this"\n[auth]\n# api_key = "nor this"\napi_key = "old"\n',
      '[other]\napi_key = "not this"\n[auth]\n# api_key = "nor this"\napi_key = "NEW"\n',
    ],
    [
      'the same line inside a longer text',
      'note = """\napi_key = "not this"\n"""\n[auth]\napi_key = "old"\n',
      'note = """\napi_key = "not this"\n"""\n[auth]\napi_key = "NEW"\n',
    ],
  ])('leaves all else as it stands: %s', (_, before, after) => {
    const folder = configured(before);
    expect(rotateOwnerKey(folder, around).isDone).toBe(true);
    expect(readFileSync(configPath(folder), 'utf8')).toBe(after.replace('NEW', keyIn(folder)));
    expect(readdirSync(folder)).toEqual(['config.toml']);
  });

  test('makes the file readable by its owner alone', () => {
    const folder = configured('[auth]\napi_key = "old"\n');
    chmodSync(configPath(folder), 0o644);
    rotateOwnerKey(folder, around);
    expect(statSync(configPath(folder)).mode & 0o777).toBe(0o600);
  });

  test('changes the file that a link leads to, and keeps the link', () => {
    const real = configured('[auth]\napi_key = "old"\n');
    const folder = join(root, 'linked');
    mkdirSync(folder);
    symlinkSync(configPath(real), configPath(folder));
    expect(rotateOwnerKey(folder, around).isDone).toBe(true);
    expect(lstatSync(configPath(folder)).isSymbolicLink()).toBe(true);
    expect(keyIn(real)).not.toBe('old');
  });

  test.each([
    ['the key is written another way', 'auth = { api_key = "old" }\n', 'Change the key by hand'],
    ['there are mistakes', '[auth]\napi_key = "old"\n[server]\nport = -1\n', 'server.port is -1'],
  ])('touches nothing when %s', (_, toml, words) => {
    const folder = configured(toml);
    const rotation = rotateOwnerKey(folder, around);
    expect(rotation).toMatchObject({ isDone: false, mistakes: [expect.stringContaining(words)] });
    expect(readFileSync(configPath(folder), 'utf8')).toBe(toml);
  });

  test('says so when there is no file', () => {
    expect(rotateOwnerKey(join(root, 'nowhere'), around)).toMatchObject({ isDone: false });
  });
});
