import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { layoutOf } from '../../installer/install-layout.ts';
import type { Context } from '../../src/core/cli/context.ts';
import { copyable, folderOptions, invocationOf, programText } from '../../src/core/cli/invocation.ts';
import { completedFor } from '../../src/core/model/command-words.ts';
import { PLAIN } from '../support/plain-context.ts';
import { temporaryFolder } from '../support/temporary.ts';

const home = temporaryFolder();
const context = (env: Readonly<Record<string, string>> = {}, platform = 'linux'): Context => ({
  ...PLAIN,
  version: '1',
  isTerminal: false,
  stdout: () => {},
  stderr: () => {},
  environment: { env, platform, homeFolder: home },
});

describe('a command in a text', () => {
  test('in backticks or quotes is one that runs', () => {
    const program = programText(context());
    const text = copyable('Use `postern keys list`, or "postern doctor".', { configDir: '/a b' }, context());
    expect(text).toBe(`Use ${program} keys list --config-dir '/a b', or "${program} doctor --config-dir '/a b'".`);
  });

  test('names no path to a limited key', () => {
    const cli = { program: 'node /Users/ana/main.js', options: '--demo' };
    expect(completedFor({ key: undefined }, 'Run "postern doctor".', cli)).toBe(
      'Run "node /Users/ana/main.js doctor --demo".',
    );
    expect(completedFor({ key: {} }, 'Run "postern doctor".', cli)).toBe('Run "postern doctor".');
    expect(completedFor(undefined, 'Run "postern doctor".', cli)).toBe('Run "postern doctor".');
  });
});

describe('the words that select a service', () => {
  test.each([
    [{}, {}, []],
    [{}, { POSTERN_CONFIG_DIR: '' }, []],
    [{}, { POSTERN_CONFIG_DIR: '/x' }, ['--config-dir', '/x']],
    [{ configDir: '/y' }, { POSTERN_CONFIG_DIR: '/x' }, ['--config-dir', '/y']],
    [{ demo: true }, { POSTERN_CONFIG_DIR: '' }, ['--demo']],
    [{ demo: true }, { POSTERN_CONFIG_DIR: '/x/y' }, ['--demo', '--config-dir', '/x/postern-demo']],
    [{ demo: true, configDir: '/y' }, { POSTERN_CONFIG_DIR: '/x' }, ['--demo', '--config-dir', '/y']],
  ])('in a line for another program select that of this command: %j with %j', (options, env, words) => {
    expect(invocationOf('mcp', options, context(env)).args.slice(2)).toEqual(words);
  });

  test.each([
    ['/home/.config/postern', ''],
    ['/else where', "--config-dir '/else where'"],
  ])('of %s are "%s", whatever the environment names', (dir, options) => {
    const there = context({ POSTERN_CONFIG_DIR: '/else where', XDG_CONFIG_HOME: '/home/.config' });
    expect(folderOptions(dir, there)).toBe(options);
  });

  test('are those of the installed command, wherever it is linked', () => {
    const layout = layoutOf(home);
    const prefix = join(home, 'prefix');
    const installed = (path = ''): string =>
      programText(context({ PATH: path, POSTERN_PREFIX: prefix }, 'darwin'), layout.main);
    mkdirSync(dirname(layout.command), { recursive: true });
    writeFileSync(layout.command, '');
    expect(installed()).toBe(`'${layout.command}'`);
    mkdirSync(join(prefix, 'bin'), { recursive: true });
    symlinkSync(layout.command, join(prefix, 'bin', 'postern'));
    expect(installed()).toBe(join(prefix, 'bin', 'postern'));
    expect(installed(join(prefix, 'bin'))).toBe('postern');
  });
});
