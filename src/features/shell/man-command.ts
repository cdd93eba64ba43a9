import type { Option } from 'commander';
import type { Context } from '../../core/cli/context.ts';
import type { ProgramCommand } from '../../core/cli/declaration.ts';
import { EXIT_CODE_HELP } from '../../core/cli/exit-codes.ts';
import { wrapped } from '../../core/cli/output/text.ts';
import { systemClock } from '../../core/runtime/clock.ts';

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['POSTERN_CONFIG_DIR', 'the folder of config.toml; --config-dir overrides it'],
  ['POSTERN_URL', 'the address of the service, instead of its Unix socket'],
  ['POSTERN_API_KEY', 'the key, instead of the one in config.toml'],
  ['POSTERN_LOG_LEVEL', 'the log level of the service: debug, info, warn or error'],
  ['NO_COLOR', 'no colour on a terminal'],
  ['FORCE_COLOR', 'colour in pipes too; 0 for none'],
];
const FILES: readonly (readonly [string, string])[] = [
  ['~/Library/Application Support/Postern/config.toml', 'the configuration, on a Mac'],
  ['~/.config/postern/config.toml', 'the configuration, on other systems'],
];

/** Less than the 80 columns that man(7) asks for, because escapes make lines longer. */
const SOURCE_COLUMNS = 66;
/** Options of nearly every command, described once. */
const COMMON: readonly string[] = ['--demo', '--url', '--key-file', '--json'];

/** `postern man`: prints the manual page. */
export async function man(program: ProgramCommand, _options: object, { version, stdout }: Context): Promise<void> {
  const day = new Date(systemClock.now()).toISOString().slice(0, 10);
  stdout(manualPage(program, { version, day, exitCodes: EXIT_CODE_HELP }).trimEnd());
}

/** Builds the manual page in the macros of man(7) from the declared commands. */
export function manualPage(
  program: ProgramCommand,
  { version, day, exitCodes }: { readonly version: string; readonly day: string; readonly exitCodes: string },
): string {
  return [
    `.TH POSTERN 1 "${day}" "Postern ${version}" "User Commands"`,
    '.SH NAME',
    'postern \\- a local gateway to Apple Messages',
    '.SH SYNOPSIS',
    '.B postern',
    '.RI [ command ]',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    text(program.description()),
    'Without a command it runs the service.',
    '.SH OPTIONS',
    ...program.options.flatMap(option),
    '.PP',
    'Commands that use the running service also take:',
    ...serviceOptions(program).flatMap(option),
    '.SH COMMANDS',
    ...visible(program).flatMap((command) => section(command, 'postern')),
    '.SH EXIT STATUS',
    ...exitCodes
      .trim()
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const [, code = '', meaning = ''] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
        return ['.TP', `.B ${code}`, text(meaning)];
      }),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([name, meaning]) => ['.TP', `.B ${escaped(name)}`, text(meaning)]),
    '.SH FILES',
    ...FILES.flatMap(([path, meaning]) => ['.TP', `.I ${argument(path)}`, text(meaning)]),
    '',
  ].join('\n');
}

/** Returns the entries of a command and its subcommands. */
function section(command: ProgramCommand, before: string): readonly string[] {
  const path = `${before} ${command.name()}`;
  const beneath = visible(command);
  // Makes no entry for a command that only groups other commands.
  const own = beneath.length > 0 && command.options.length === 0 ? [] : entry(command, path);
  return [...own, ...beneath.flatMap((child) => section(child, path))];
}

function entry(command: ProgramCommand, path: string): readonly string[] {
  const given = command.registeredArguments.map((one) => {
    const name = `${one.name()}${one.variadic ? '...' : ''}`;
    return one.required ? `<${name}>` : `[${name}]`;
  });
  return [
    `.SS ${argument([path, ...given].join(' '))}`,
    text(command.description()),
    ...command.registeredArguments.flatMap((one) => ['.TP', `.I ${argument(one.name())}`, text(one.description)]),
    ...command.options.filter(({ hidden, long }) => !hidden && !COMMON.includes(long ?? '')).flatMap(option),
    ...(command.samples.length === 0 ? [] : ['.PP', '.nf', ...command.samples.map(escaped), '.fi']),
  ];
}

/** Returns the options that all commands of the running service share. These are the options of `status`. */
function serviceOptions(program: ProgramCommand): readonly Option[] {
  return program.commands.find((one) => one.name() === 'status')?.options ?? [];
}

function option({ flags, description, argChoices }: Option): readonly string[] {
  const choices = argChoices === undefined ? '' : ` (${argChoices.join(', ')})`;
  return ['.TP', `.B ${argument(flags)}`, text(description + choices)];
}

function visible(command: ProgramCommand): readonly ProgramCommand[] {
  const shown = command.createHelp().visibleCommands(command);
  return shown.filter((child): child is ProgramCommand => child.name() !== 'help');
}

/** Wraps sentences to a paragraph. */
function text(sentences: string): string {
  return wrapped(sentences, SOURCE_COLUMNS, 0).map(escaped).join('\n');
}

/** Escapes a line. roff then finds no request in it, and readers can copy its hyphens. */
function escaped(line: string): string {
  const plain = line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('’', "'")
    .replaceAll('…', '...')
    .replace(
      /[^\x20-\x7e]/gu,
      (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
  return plain.replace(/^(?=[.'])/, '\\&');
}

/** Escapes a line as the only argument of a macro. */
function argument(line: string): string {
  return `"${escaped(line).replaceAll('"', '\\(dq')}"`;
}
