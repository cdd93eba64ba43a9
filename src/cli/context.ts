import { configFolder, demoFolder, type Environment } from '../config/environment.ts';
import type { Paint } from './output/style.ts';

/** Decision A3, and of sysexits what a script that calls a command can act on. */
export const EXIT = {
  ok: 0,
  /** Also: the check found a problem. */
  crash: 1,
  usage: 64,
  /** EX_DATAERR: the service refused the input. */
  refusedInput: 65,
  portTaken: 69,
  /** EX_UNAVAILABLE: no service there, or not now. */
  unavailable: 69,
  /** EX_SOFTWARE: the service failed. */
  serviceFailed: 70,
  startAgain: 75,
  /** EX_NOPERM: the key is refused. */
  keyRefused: 77,
  config: 78,
  /** As of timeout(1): what was waited for did not happen in time. */
  timedOut: 124,
} as const;

/** What every command needs from the process it runs in. */
export interface Context {
  readonly environment: Environment;
  readonly version: string;
  /** Lines for the person on stdout. */
  readonly stdout: (...lines: readonly string[]) => void;
  /** Lines for the person on stderr. */
  readonly stderr: (...lines: readonly string[]) => void;
  readonly isTerminal: boolean;
  /** Whether stderr is a terminal. */
  readonly isErrorTerminal: boolean;
  /** How many columns the terminal has; undefined when stdout is none, and lines may be of any length. */
  readonly columns: number | undefined;
  /** Colours what goes to stdout, where it is a terminal. */
  readonly paint: Paint;
  /** The same for stderr. */
  readonly paintError: Paint;
  /**
   * What is waited for from now on, shown on a terminal when it takes over a second. Anything printed ends it, and so
   * does undefined.
   */
  readonly progress: (text: string | undefined) => void;
}

/** What the commands that talk to a running service need besides. */
export interface ClientContext extends Context {
  /** Opened only when it is read: a command without `-` leaves stdin alone. */
  readonly input: () => AsyncIterable<Uint8Array>;
  /** Writes one line to stdout; resolves when the reader has taken it. */
  readonly writeLine: (line: string) => Promise<void>;
  /** Aborted when nobody reads stdout any more, and by Ctrl+C once it was asked for. */
  readonly untilEnded: () => AbortSignal;
}

/** The options that every command takes. */
export interface CommonOptions {
  readonly configDir?: string;
}

/** The options of a command that looks into a configuration. */
export interface PlaceOptions extends CommonOptions {
  /** That of `postern demo`. */
  readonly demo?: boolean;
}

/** The folder of the configuration that is meant. */
export function folderOf({ demo, configDir }: PlaceOptions, { environment }: Context): string {
  return demo === true ? demoFolder(configDir, environment) : configFolder(configDir, environment);
}

/** A path as a person can paste it into a shell. */
export function quoted(path: string): string {
  return /^[\w/.,:@%+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
