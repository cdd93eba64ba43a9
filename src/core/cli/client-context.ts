import type { Feature } from '../feature.ts';
import type { Context } from './context.ts';

/** The context of a command on this machine, which may ask the features. */
export interface HostContext extends Context {
  readonly features: readonly Feature[];
}

/** Extends the context for commands that talk to a running service. */
export interface ClientContext extends HostContext {
  /** Opens stdin. Only commands that read stdin call this; all other commands leave stdin alone. */
  readonly input: () => AsyncIterable<Uint8Array>;
  /** Reads one line of stdin without showing it. If stdin is a terminal, prints the prompt first. */
  readonly secretLine: (prompt: string) => Promise<string>;
  /** Writes one line to stdout. Resolves once the reader has taken it. */
  readonly writeLine: (line: string) => Promise<void>;
  /**
   * Returns a signal that aborts when nobody reads stdout any more. From this call on, Ctrl+C also aborts the signal,
   * and no longer ends the process.
   */
  readonly untilEnded: () => AbortSignal;
}
