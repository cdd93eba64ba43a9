import type { Command, Option } from 'commander';

/**
 * How to complete the last word of a command line. `words` lists the candidates. `files` and `folders` are completed by
 * the shell, `values` by the service.
 */
export type Completion =
  | { readonly kind: 'words'; readonly words: readonly Word[] }
  | { readonly kind: 'files' }
  | { readonly kind: 'folders' }
  /** Values that only the service knows, such as conversations. */
  | { readonly kind: 'values'; readonly of: ValueKind; readonly given: GivenOptions };

export interface Word {
  readonly value: string;
  readonly about: string;
}

/** Names of the arguments and option values for which the service supplies the candidates. */
const VALUE_KINDS = ['conversation', 'recipient', 'person', 'whom', 'webhook', 'approval', 'key'] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

/** Options before the last word. Key: the option's attribute name. Value: the option's value, empty for a flag. */
export type GivenOptions = Readonly<Record<string, string>>;

/** Completes the last word of a command line. `words` are all words after the program's name; the last may be empty. */
export function completionOf(program: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? '';
  const line = read(program, words.slice(0, -1));
  if (line.open !== undefined) return valuesOf(valueName(line.open), line.open.argChoices, line);
  if (current.startsWith('-')) return { kind: 'words', words: optionWords(line) };
  const commands = line.index === 0 ? line.command.createHelp().visibleCommands(line.command) : [];
  const known = commands.filter((command) => command.name() !== 'help');
  if (known.length > 0) {
    return { kind: 'words', words: known.map((one) => ({ value: one.name(), about: one.description() })) };
  }
  const declared = line.command.registeredArguments;
  const argument = declared[line.index] ?? (declared.at(-1)?.variadic === true ? declared.at(-1) : undefined);
  return argument === undefined ? NOTHING : valuesOf(argument.name(), argument.argChoices, line);
}

const NOTHING: Completion = { kind: 'words', words: [] };

interface Line {
  readonly command: Command;
  readonly options: readonly Option[];
  /** Number of arguments between the command and the last word. */
  readonly index: number;
  /** The option whose value is the last word. */
  readonly open: Option | undefined;
  readonly given: GivenOptions;
}

function read(program: Command, words: readonly string[]): Line {
  let command = program;
  let index = 0;
  let open: Option | undefined;
  const given: Record<string, string> = {};
  for (const word of words) {
    if (open !== undefined) {
      given[open.attributeName()] = word;
      open = undefined;
      continue;
    }
    if (word.startsWith('-') && word !== '-') {
      const [name = '', value] = word.split(/=(.*)/s);
      const option = optionsOf(program, command).find(({ long, short }) => long === name || short === name);
      if (option === undefined) continue;
      given[option.attributeName()] = value ?? '';
      if (option.required && value === undefined) open = option;
      continue;
    }
    const child = index === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (child === undefined) index += 1;
    else command = child;
  }
  const isDemo = words.find((word) => !word.startsWith('-')) === 'demo';
  return {
    command,
    options: optionsOf(program, command),
    index,
    open,
    given: isDemo ? { demo: '', ...given } : given,
  };
}

function optionsOf(program: Command, command: Command): readonly Option[] {
  const options: Option[] = [];
  for (let one: Command | null = command; one !== null; one = one.parent) options.push(...one.options);
  return options.filter(({ long, hidden }) => !hidden && (command === program || long !== '--version'));
}

function optionWords({ options, given }: Line): readonly Word[] {
  const left = options.filter((option) => !(option.attributeName() in given) || isRepeatable(option));
  const words = left.map(({ long, short, description }) => ({ value: long ?? short ?? '', about: description }));
  return [...words, { value: '--help', about: 'show help' }];
}

function isRepeatable({ description, variadic }: Option): boolean {
  return variadic || description.includes('may be repeated');
}

function valueName({ flags }: Option): string {
  return /[<[]([^>\].]+)/.exec(flags)?.[1] ?? '';
}

function valuesOf(name: string, choices: readonly string[] | undefined, { given }: Line): Completion {
  if (choices !== undefined) return { kind: 'words', words: choices.map((value) => ({ value, about: '' })) };
  if (name === 'file') return { kind: 'files' };
  if (name === 'folder') return { kind: 'folders' };
  const of = VALUE_KINDS.find((kind) => kind === name);
  return of === undefined ? NOTHING : { kind: 'values', of, given };
}
