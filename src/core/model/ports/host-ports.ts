/**
 * Cancels an action, such as a timer. The call that started the action returned this function. Calling it twice does no
 * harm.
 */
export type Cancel = () => void;

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Returns milliseconds since an arbitrary time. Never decreases, even if the clock is set back. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds. */
  after(ms: number, run: () => void): Cancel;
}

/** Writes one line per call. Fields never contain a key or a body (decision A6). */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  child(fields: Readonly<Record<string, unknown>>): Log;
}
