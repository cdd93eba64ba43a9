/** Cancels the call that returned it. May be called twice. */
export type Cancel = () => void;

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Returns milliseconds that never go backwards. */
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
