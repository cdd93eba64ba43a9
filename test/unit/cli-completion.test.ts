import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import { zshCompletion } from '../../src/cli/completion.ts';
import type { ClientContext } from '../../src/cli/context.ts';
import { declareProgram } from '../../src/cli/program.ts';

const program = declareProgram({ version: '0' } as ClientContext, () => async () => {});
const script = zshCompletion(program);
const hasZsh = spawnSync('zsh', ['--version']).status === 0;

const HIDDEN = ['run', 'ask-automation', 'check-update'];

test('every command and every option of it is offered', () => {
  const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];
  for (const command of all(program)) {
    if (HIDDEN.includes(command.name())) continue;
    expect(script).toContain(command.name());
    for (const { long } of command.options) if (long !== '--version') expect(script).toContain(`${long}[`);
  }
  for (const name of HIDDEN) expect(script).not.toContain(`_postern_${name}`);
});

test('what an option takes is completed: files, folders, and the names there are', () => {
  expect(script).toContain(":folder:_files -/'");
  expect(script).toContain("'*--attach[a file to attach; may be repeated]:file:_files'");
  expect(script).toContain(
    ':type:(message.received message.sent reaction.added reaction.removed message.updated message.removed messages.changed)',
  );
  expect(script).toContain("':shell:(zsh)'");
});

test('quotes and brackets in a description do no harm', () => {
  const odd = new Command('odd').option('--it <file>', "the person's [own] file");
  expect(zshCompletion(odd)).toContain(String.raw`'--it[the person'\''s \[own\] file]:file:_files'`);
});

// Where there is no zsh this is not known.
(hasZsh ? test : test.skip)('zsh understands it', () => {
  const { status, stderr } = spawnSync('zsh', ['-n'], { input: script, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('every command has an example in its help', () => {
  const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];
  for (const command of all(program)) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(/\nExamples?:\n {2}\S/);
    expect(help).toMatch(/exit codes/i);
  }
});
