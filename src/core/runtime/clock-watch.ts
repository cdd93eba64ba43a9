import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';

const CHECK_EVERY_MS = 1000;
/**
 * The smallest jump that is reported. Corrections by network time are smaller, and nobody would notice a smaller jump
 * in timestamps.
 */
const JUMP_MS = 5000;
const REPORTED_FOR_MS = 60_000;

/**
 * Detects jumps of the wall clock by comparing it with the monotonic clock. A jump means that somebody set the clock,
 * or on Linux that the machine slept. On macOS the monotonic clock keeps running during sleep, so `AwakeClock` detects
 * a sleep there. Jumps affect only timestamps, so they are logged, and health reports them for a minute.
 */
export class ClockWatch {
  readonly #clock: Clock;
  readonly #log: Log;
  #offsetMs: number;
  #jump: { readonly byMs: number; readonly atMs: number } | undefined;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#offsetMs = clock.now() - clock.monotonic();
  }

  start(): void {
    this.#check();
    this.#cancel = this.#clock.after(CHECK_EVERY_MS, () => this.start());
  }

  /** Returns the warning to show in health if the clock has jumped within the last minute; otherwise undefined. */
  warning(): string | undefined {
    const jump = this.#jump;
    if (jump === undefined || this.#clock.monotonic() - jump.atMs > REPORTED_FOR_MS) return undefined;
    const seconds = Math.round(Math.abs(jump.byMs) / 1000);
    return jump.byMs < 0
      ? `The clock jumped: it was set ${seconds} s back within the last minute.`
      : `The clock jumped: within the last minute it was set ${seconds} s forward.`;
  }

  close(): void {
    this.#cancel?.();
  }

  #check(): void {
    const offsetMs = this.#clock.now() - this.#clock.monotonic();
    const byMs = offsetMs - this.#offsetMs;
    this.#offsetMs = offsetMs;
    if (Math.abs(byMs) < JUMP_MS) return;
    this.#jump = { byMs, atMs: this.#clock.monotonic() };
    this.#log.warn('the clock jumped', { by_ms: Math.round(byMs) });
  }
}
