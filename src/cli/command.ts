import type { Surroundings } from '../config/surroundings.ts';

/** Decision A3, and `usage` for a command line that means nothing (sysexits' EX_USAGE). */
export const EXIT = { ok: 0, crash: 1, usage: 64, portTaken: 69, startAgain: 75, config: 78 } as const;

/** What every command needs from the process it runs in. */
export interface Context {
  readonly around: Surroundings;
  readonly version: string;
  /** Lines for the person on stdout. */
  readonly say: (...lines: readonly string[]) => void;
  /** Lines for the person on stderr. */
  readonly complain: (...lines: readonly string[]) => void;
  readonly isTerminal: boolean;
}

/** The options that every command takes. */
export interface CommonOptions {
  readonly configDir?: string;
}

/** A path as a person can paste it into a shell. */
export function quoted(path: string): string {
  return /^[\w/.,:@%+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
