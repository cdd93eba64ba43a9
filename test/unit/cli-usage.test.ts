import { expect, test } from '@jest/globals';
import type { CommanderError } from 'commander';
import type { ClientContext } from '../../src/core/cli/client-context.ts';
import { declareProgram } from '../../src/core/cli/program.ts';
import { usageMistake } from '../../src/core/cli/usage-mistake.ts';
import { FEATURES } from '../../src/features/list.ts';
import { postern } from '../support/postern.ts';

const CONTEXT = {
  features: FEATURES,
  version: '0',
  paint: (_: unknown, text: string) => text,
} as unknown as ClientContext;

async function mistake(line: string): Promise<readonly [string, string]> {
  const program = declareProgram(CONTEXT, async () => {});
  const failure = await program.parseAsync(['node', 'postern', ...line.split(' ')]).then(
    () => undefined,
    (error: CommanderError) => error,
  );
  if (failure === undefined) throw new Error(`"${line}" is no mistake`);
  return usageMistake(failure, program);
}

test.each([
  ['snd', 'there is no command snd. Did you mean send?'],
  ['mesages --demo', 'there is no command mesages. Did you mean messages?'],
  ['--config-dir x stauts', 'there is no command stauts. Did you mean status?'],
  ['webhooks lsit', 'there is no command webhooks lsit. Did you mean list?'],
  ['webhooks listn', 'there is no command webhooks listn. Did you mean listen?'],
  ['demo sya', 'there is no command demo sya. Did you mean say?'],
  ['config chekc', 'there is no command config chekc. Did you mean check?'],
  ['version', 'there is no command version. Did you mean --version?'],
  ['xyzzy', 'there is no command xyzzy.'],
  ['messages ', "command-argument value '' is invalid for argument 'conversation'. It is empty."],
  [
    'webhooks edit 3f2a --no-secret --secret-file new',
    "option '--no-secret' cannot be used with option '--secret-file <file>'.",
  ],
  ['messages --limt 3', "unknown option '--limt' (Did you mean --limit?)."],
  ['--demo status', '--demo is an option of a command, and goes after it: postern status --demo'],
  ['approvals --demo list', '--demo is an option of a command, and goes after it: postern approvals list --demo'],
  ['send +15550100 a b', 'unexpected argument b. Put the text in quotes.'],
  ['send --demo +15550100 a b', 'unexpected argument b. Put the text in quotes.'],
  ['send +15550100 -- -hello --demo', 'unexpected argument --demo. Options go before --.'],
])('"%s" is answered: %s', async (line, sentence) => {
  expect((await mistake(line))[0]).toBe(sentence);
});

test('each command that takes free text says how to write one that begins with a dash', async () => {
  const program = declareProgram(CONTEXT, async () => {});
  const commands = program.commands.flatMap((one) => [one, ...one.commands]);
  const free = commands.flatMap((command) => {
    const at = command.registeredArguments.findIndex((one) => /^(?:text|query|words|name)$/.test(one.name()));
    const path = [command.parent?.name() ?? '', command.name()].filter((name) => name !== 'postern').join(' ');
    return at === -1 ? [] : [`${path}${' 1'.repeat(at)}`];
  });
  // These two pass on the options of other programs.
  const asked = free.filter((path) => !['imsg', 'complete'].includes(path));
  expect(asked).toEqual(expect.arrayContaining(['send 1', 'demo say 1', 'demo edit 1', 'search', 'keys add']));
  for (const line of asked) {
    const [sentence] = await mistake(`${line} -hello`);
    expect(`${line}: ${sentence}`).toBe(
      `${line}: unknown option '-hello'. If it is text, put -- before it, and all options before --.`,
    );
    expect(await mistake(`${line} -- -hello`).catch(({ message }: Error) => message)).toMatch(/ is no mistake$/);
  }
});

test('no argument may be empty but a text, a path of the doctor, and what export refuses', () => {
  const program = declareProgram(CONTEXT, async () => {});
  const commands = program.commands.flatMap((one) => [one, ...one.commands]);
  const isTaken = ({ parseArg }: { readonly parseArg?: (value: string, before: never) => unknown }): boolean => {
    try {
      parseArg?.('', undefined as never);
      return true;
    } catch {
      return false;
    }
  };
  const taken = commands.flatMap((command) =>
    command.registeredArguments
      .filter((argument) => !argument.variadic && isTaken(argument))
      .map((argument) => `${command.name()} ${argument.name()}`),
  );
  expect(taken).toEqual(['send text', 'check-database path', 'say text', 'export folder']);
});

test('a mistake is printed without what controls a terminal', async () => {
  expect((await postern(['\x1b[2J\u202e'])).stderr).toContain('there is no command [2J.');
});

test('help is named for the command that was meant', async () => {
  expect((await mistake('webhooks add'))[1]).toBe('postern webhooks add --help lists commands and options.');
});

test('the help of export verify names no option of an export', () => {
  const program = declareProgram(CONTEXT, async () => {});
  const verify = program.commands.find((command) => command.name() === 'export')?.commands[0];
  const help = verify?.helpInformation() ?? '';
  expect(help).toMatch(/^Usage: postern export verify /);
  expect(help).toContain('--against-chat-db');
  expect(help).toContain('--config-dir');
  expect(help).not.toMatch(/--(out|since|attachments|html)/);
});
