import { configFolder, demoFolder, type Environment } from '../config/environment.ts';
import type { Paint } from './output/style.ts';

/** Exit codes of decision A3, and codes from sysexits.h and timeout(1) that let a calling script react. */
export const EXIT = {
  ok: 0,
  /** An unexpected failure, or a check that found a problem. */
  failed: 1,
  usage: 64,
  /** EX_DATAERR: the service refused the input. */
  refusedInput: 65,
  /** EX_UNAVAILABLE: the service cannot be reached, cannot do this at the moment, or cannot have its port. */
  unavailable: 69,
  /** EX_SOFTWARE: the service failed. */
  serviceFailed: 70,
  startAgain: 75,
  /** EX_NOPERM: the key is refused. */
  keyRefused: 77,
  config: 78,
  /** As in timeout(1): the desired state was not reached in time. */
  timedOut: 124,
} as const;

/** The parts of the process that every command needs. */
export interface Context {
  readonly environment: Environment;
  readonly version: string;
  /** Prints lines for the user on stdout. */
  readonly stdout: (...lines: readonly string[]) => void;
  /** Prints lines for the user on stderr. */
  readonly stderr: (...lines: readonly string[]) => void;
  readonly isTerminal: boolean;
  /** True if stderr is a terminal. */
  readonly isErrorTerminal: boolean;
  /** Width of the terminal; undefined if stdout is not a terminal, so that lines may have any length. */
  readonly columns: number | undefined;
  /** Colours text for stdout, if that is a terminal. */
  readonly paint: Paint;
  /** Colours text for stderr, if that is a terminal. */
  readonly paintError: Paint;
  /**
   * Sets a text that describes the current wait; undefined clears it. The terminal shows the text after one second,
   * until a line is printed.
   */
  readonly progress: (text: string | undefined) => void;
}

/** The options of every command. */
export interface CommonOptions {
  readonly configDir?: string;
}

/** The options of a command that reads a configuration. */
export interface FolderOptions extends CommonOptions {
  /** Uses the configuration of `postern demo`. */
  readonly demo?: boolean;
}

/** Options that select the service and its key. Precedence: option, then environment, then configuration. */
export interface ConnectionOptions extends FolderOptions {
  readonly url?: string;
  /** Path of the key's file. No option takes the key itself: every local user could read it in the arguments. */
  readonly keyFile?: string;
  readonly json?: boolean;
}

/** Returns the folder of the chosen configuration. */
export function folderOf({ demo, configDir }: FolderOptions, { environment }: Context): string {
  return demo === true ? demoFolder(configDir, environment) : configFolder(configDir, environment);
}

/** Returns the address in --url or POSTERN_URL; undefined if neither is given. */
export function namedUrl(options: ConnectionOptions, context: Context): string | undefined {
  return options.url ?? (environmentOf(options, context).POSTERN_URL || undefined);
}

/** Returns the environment variables; none if an option names a configuration, because that selects the service. */
export function environmentOf(options: ConnectionOptions, { environment }: Context): Context['environment']['env'] {
  return isConfigurationNamed(options) ? {} : environment.env;
}

/** Reports whether an option names a configuration. */
export function isConfigurationNamed({ demo, configDir }: ConnectionOptions): boolean {
  return demo === true || configDir !== undefined;
}
