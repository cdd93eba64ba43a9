import { Command, InvalidArgumentError, Option } from 'commander';
import { SETTINGS } from '../config/settings.ts';
import { CHANGE_EVENT_TYPES, ROW_EVENT_TYPES } from '../model/event.ts';
import { decodeOffset } from '../model/offset.ts';
import type { ClientContext } from './client-context.ts';
import type { ConnectionOptions } from './context.ts';
import type { Served } from './service-connection.ts';
import { maxAgeSeconds } from './since.ts';

/**
 * Loads the code of a command: a function, which receives the command's arguments, its options and `last`. It returns
 * the exit code; without a result, the command exits with 0.
 */
type Load<Given extends unknown[], Last> = () => Promise<
  (...given: [...Given, options: never, last: Last]) => number | Promise<number> | Promise<void>
>;

/** Runs the code of `command`. The last two of the values `given` by commander are its options and the command. */
export type StartCommand = (
  command: ProgramCommand,
  load: Load<unknown[], ClientContext>,
  given: unknown[],
) => Promise<void>;

/** A command of Postern. Its code is loaded when it runs. */
export class ProgramCommand extends Command {
  declare readonly commands: readonly ProgramCommand[];
  readonly #run: StartCommand;
  /** The examples at the end of its help. */
  samples: readonly string[] = [];
  /** True if the command runs until a signal stops it. */
  isServing = false;

  constructor(name: string | undefined, run: StartCommand) {
    super(name);
    this.#run = run;
  }

  override createCommand(name?: string): ProgramCommand {
    return new ProgramCommand(name, this.#run);
  }

  examples(...lines: readonly string[]): this {
    this.samples = lines;
    const title = lines.length === 1 ? 'Example:' : 'Examples:';
    const text = ['', title, ...lines.map((line) => `  ${line}`), '', 'Exit codes: postern --help'].join('\n');
    return this.addHelpText('after', text);
  }

  /** Makes the command run what `load` returns, with the context. */
  runs<Given extends unknown[]>(load: Load<Given, ClientContext>): this {
    return this.action((...given) => this.#run(this, load as Load<unknown[], ClientContext>, given));
  }

  /** Like `runs`, but with a connected service. Any failure becomes a sentence and an exit code. */
  asks<Given extends unknown[]>(load: Load<Given, Served>): this {
    return this.runs(async () => {
      const [command, { withService }] = await Promise.all([load(), import('./service-connection.ts')]);
      return (...all: [...Given, options: ConnectionOptions, context: ClientContext]): Promise<number> => {
        const [options, context] = all.slice(-2) as [never, ClientContext];
        return withService(options, context, (service) => command(...(all.slice(0, -2) as Given), options, service));
      };
    });
  }
}

/** The groups of commands in the help. */
export const SERVICE_COMMANDS = 'Run and manage the service:';
export const CLIENT_COMMANDS = 'Use the running service:';

/**
 * Marks a command that runs until a signal stops it. Being stopped counts as its success (decision A3), even while it
 * is still starting.
 */
export function servesUntilStopped(command: ProgramCommand): ProgramCommand {
  command.isServing = true;
  return command;
}

/** Adds the options of every command that talks to the service. */
export function connected(command: ProgramCommand, { json = true } = {}): ProgramCommand {
  const made = command
    .option('--demo', 'the service of postern demo')
    .option('--url <address>', 'URL of the service (environment: POSTERN_URL)', nonEmpty)
    .option('--key-file <file>', 'file with the API key (or POSTERN_API_KEY in the environment)', nonEmpty);
  return json ? made.option('--json', 'as JSON') : made;
}

/** Returns the group of commands with this name. Several features may add commands to one group. */
export function groupOf(program: ProgramCommand, name: string): ProgramCommand {
  return program.commands.find((command) => command.name() === name) ?? program.command(name);
}

// Parsers of option values. They throw InvalidArgumentError for invalid values. Commander prints the error's message
// after "argument … is invalid.".

export function nonEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('It is empty.');
  return value;
}

export function portNumber(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : -1;
  if (port < 0 || port > 65_535) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  return port;
}

export function hostName(value: string): string {
  const setting = SETTINGS.server.host;
  const host = setting.read(value);
  if (host === undefined) throw new InvalidArgumentError(`It must be ${setting.allowed}.`);
  return host;
}

/** Parses a whole number of seconds from 0 to `limit`. */
export function secondsUpTo(limit: number): (value: string) => number {
  return (value) => {
    const seconds = /^\d{1,4}$/.test(value) ? Number(value) : -1;
    if (seconds < 0 || seconds > limit) throw new InvalidArgumentError(`It must be a whole number from 0 to ${limit}.`);
    return seconds;
  };
}

/** Accepts a row id, or the `offset` of an event. */
export function rowOrOffset(value: string): string {
  if (decodeOffset(value) === undefined) {
    throw new InvalidArgumentError('It must be a row id, a whole number of 0 or more, or an offset.');
  }
  return value;
}

export function count(value: string): number {
  if (!/^[1-9]\d{0,6}$/.test(value)) throw new InvalidArgumentError('It must be a whole number of 1 or more.');
  return Number(value);
}

/** Collects the values of an option that may be repeated. */
export function gathered(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, nonEmpty(value)];
}

/** Returns a repeatable option for event types. */
export function eventTypes(flags: string, description: string): Option {
  const option = new Option(flags, description).choices([...ROW_EVENT_TYPES, ...CHANGE_EVENT_TYPES]);
  const check = option.parseArg;
  return option.argParser((value, before: readonly string[] | undefined) => {
    check?.(value, undefined as never);
    return gathered(value, before);
  });
}

/** Adds the options that choose events. */
export function withFilters(command: ProgramCommand): ProgramCommand {
  return command
    .option(
      '--conversation <conversation>',
      'only events of this conversation: an id, an address or a name; may be repeated',
      gathered,
    )
    .option(
      '--sender <person>',
      'only events by this person: an address, or a name for all of their addresses; may be repeated',
      gathered,
    )
    .addOption(new Option('--from <whom>', 'only your own messages, or only those of others').choices(['me', 'others']))
    .option(
      '--max-age <stretch>',
      'skip messages that took longer than this to arrive, such as 30m or 2h',
      maxAgeSeconds,
    )
    .option('--no-junk', 'skip what Messages hides: spam, promotions, codes of services');
}
