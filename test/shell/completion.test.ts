import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { Command } from 'commander';
import type { ClientContext } from '../../src/core/cli/client-context.ts';
import { EXIT_CODE_HELP } from '../../src/core/cli/exit-codes.ts';
import { declareProgram } from '../../src/core/cli/program.ts';
import { FEATURES } from '../../src/features/list.ts';
import { type Completion, completionOf } from '../../src/features/shell/complete.ts';
import { manualPage } from '../../src/features/shell/man-command.ts';
import { testIf } from '../support/conditions.ts';
import { PLAIN } from '../support/plain-context.ts';

const program = declareProgram(
  { ...PLAIN, version: '0', features: FEATURES } as unknown as ClientContext,
  async () => {},
);
const HIDDEN = ['run', 'complete', 'check-database'];

const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];

/** Returns the words of a command, beginning with the program. */
function pathOf(command: Command): readonly string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()];
}

function complete(...words: readonly string[]): Completion {
  return completionOf(program, words);
}

function values(...words: readonly string[]): readonly string[] {
  const found = complete(...words);
  return found.kind === 'words' ? found.words.map(({ value }) => value) : [];
}

test('every command and each of its options is offered', () => {
  for (const command of all(program)) {
    const path = pathOf(command);
    if (HIDDEN.includes(command.name())) continue;
    if (command.parent !== null) expect(values(...path.slice(0, -1), '')).toContain(command.name());
    for (const { long } of command.options) expect(values(...path, '-')).toContain(long);
    if (path.length > 0) expect(values(...path, '-')).toContain('--config-dir');
  }
  for (const name of HIDDEN) expect(values('')).not.toContain(name);
});

test('what an option or an argument takes is offered: files, folders, and the names there are', () => {
  expect(complete('send', 'Ana', '--attach', '')).toEqual({ kind: 'files' });
  expect(complete('--config-dir', '')).toEqual({ kind: 'folders' });
  expect(values('tail', '--type', 'mes')).toContain('message.received');
  expect(values('completion', '')).toEqual(['zsh', 'bash', 'fish']);
  expect(values('send', 'Ana', 'te')).toEqual([]);
});

test('what the service knows is asked of the service that the line names', () => {
  expect(complete('messages', '--demo', '')).toEqual({ kind: 'values', of: 'conversation', given: { demo: '' } });
  expect(complete('--config-dir', '/x', 'webhooks', 'show', 'ab')).toEqual({
    kind: 'values',
    of: 'webhook',
    given: { configDir: '/x' },
  });
  expect(complete('keys', 'allow', 'bot', '--send', '')).toMatchObject({ of: 'whom' });
  expect(complete('demo', 'say', '')).toMatchObject({ of: 'person', given: { demo: '' } });
  expect(complete('approvals', 'show', '--url=http://127.0.0.1:1', '')).toMatchObject({
    of: 'approval',
    given: { url: 'http://127.0.0.1:1' },
  });
});

test('an option that was given is not offered again, unless it may be repeated', () => {
  expect(values('send', 'x', '--json', '--attach', 'a', '-')).not.toContain('--json');
  expect(values('send', 'x', '--json', '--attach', 'a', '-')).toContain('--attach');
});

test('every command has an example in its help', () => {
  for (const command of all(program)) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(/\nExamples?:\n {2}\S/);
    expect(help).toMatch(/exit codes/i);
    // At the usual width of a terminal. Commands to copy are not wrapped.
    const lines = help.replace(/\nExamples?:\n[\s\S]*/, '').split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  }
});

const hasMandoc = spawnSync('mandoc', ['-T', 'lint'], { input: '' }).error === undefined;

/** Bold as on a typewriter: a letter, a backspace, and the letter again. */
const STRUCK_OVER = new RegExp(`.${String.fromCharCode(8)}`, 'g');

testIf(hasMandoc, 'needs mandoc')(
  'the manual page names every command and option, and mandoc finds no mistake in it',
  () => {
    const page = manualPage(program, { version: '1.2.3', day: '2026-11-22', exitCodes: EXIT_CODE_HELP });
    const options = { input: page, encoding: 'utf8' } as const;
    expect(spawnSync('mandoc', ['-T', 'lint', '-W', 'style'], options).stdout).toBe('');
    const shown = spawnSync('mandoc', ['-T', 'ascii', '-O', 'width=200'], options).stdout.replaceAll(STRUCK_OVER, '');
    for (const command of all(program)) {
      if (HIDDEN.includes(command.name())) expect(shown).not.toContain(`postern ${command.name()} `);
      else if (command.parent !== null && command.commands.length === 0) {
        expect(shown).toContain(['postern', ...pathOf(command)].join(' '));
      }
      for (const { long = '' } of HIDDEN.includes(command.name()) ? [] : command.options) expect(shown).toContain(long);
    }
  },
);

test('the scripts of the shells ask the program, and use nothing that would run what it prints', () => {
  for (const name of ['_postern', 'postern.bash', 'postern.fish']) {
    const script = readFileSync(new URL(`../../src/features/shell/completions/${name}`, import.meta.url), 'utf8');
    expect(script).toContain('command postern complete -- ');
    expect(script).not.toMatch(/\beval\b|compgen -W|complete -W/);
  }
});
