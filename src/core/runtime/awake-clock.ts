import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';

const BEAT_MS = 1000;
/**
 * A beat this late, in milliseconds, means that the machine slept or this process was stopped. A shorter delay only
 * means that the machine is busy.
 */
const LATE_MS = 5000;

export interface AwakeClockOptions {
  readonly beatMs?: number;
  readonly lateMs?: number;
}

/** Gaps in a one-second timer since the service started: the Mac slept, or the process was stopped. */
export interface SleepGaps {
  readonly count: number;
  /** Seconds of the longest gap; 0 if there was none. */
  readonly longest_s: number;
}

/**
 * A clock whose monotonic time stands still while the machine sleeps or this process is stopped (SIGSTOP), so that time
 * limits do not run out meanwhile. Node's monotonic clock continues while a process is stopped. It also continues
 * during sleep on macOS, where libuv reads mach_continuous_time (libuv pull requests 2894 and 4390), but not on Linux.
 * A timer beats once a second. A late beat reveals a gap: a time in which the machine slept or the process was stopped.
 * A gap's length is exact to within one beat. `now` is the unchanged wall clock.
 */
export class AwakeClock implements Clock {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #beatMs: number;
  readonly #lateMs: number;
  #gapsMs = 0;
  #gaps = 0;
  #longestGapMs = 0;
  /** The monotonic time of the last beat. Undefined while this clock is not running; gaps are not detected then. */
  #beatAtMs: number | undefined;
  #cancelBeat: Cancel | undefined;
  readonly #listeners: ((ms: number) => void)[] = [];

  constructor(clock: Clock, log: Log, { beatMs = BEAT_MS, lateMs = LATE_MS }: AwakeClockOptions = {}) {
    this.#clock = clock;
    this.#log = log;
    this.#beatMs = beatMs;
    this.#lateMs = lateMs;
  }

  start(): void {
    this.#noteGap();
    this.#beatAtMs = this.#clock.monotonic();
    this.#cancelBeat = this.#clock.after(this.#beatMs, () => this.start());
  }

  close(): void {
    this.#cancelBeat?.();
    this.#beatAtMs = undefined;
  }

  /** Calls `listener` after each gap, with its length in milliseconds. */
  onSleep(listener: (ms: number) => void): void {
    this.#listeners.push(listener);
  }

  /** The number of gaps since the clock was created, and the longest one in seconds. */
  get sleepGaps(): SleepGaps {
    return { count: this.#gaps, longest_s: Math.round(this.#longestGapMs / 1000) };
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    this.#noteGap();
    return this.#clock.monotonic() - this.#gapsMs;
  }

  after(ms: number, run: () => void): Cancel {
    const dueMs = this.monotonic() + ms;
    const check = (): void => {
      const leftMs = dueMs - this.monotonic();
      // Node's timers may fire a fraction of a millisecond early.
      if (leftMs < 1) run();
      else cancel = this.#clock.after(leftMs, check);
    };
    let cancel = this.#clock.after(ms, check);
    return () => cancel();
  }

  /**
   * Records a gap if the beat is late. `monotonic` calls this before it reads the time, so that timers never count a
   * gap.
   */
  #noteGap(): void {
    const nowMs = this.#clock.monotonic();
    if (this.#beatAtMs === undefined) return;
    const lateMs = nowMs - this.#beatAtMs - this.#beatMs;
    if (lateMs < this.#lateMs) return;
    this.#gapsMs += lateMs;
    this.#gaps += 1;
    this.#longestGapMs = Math.max(this.#longestGapMs, lateMs);
    this.#beatAtMs = nowMs;
    this.#log.info('the Mac slept or this process was stopped, and time limits do not count that time', {
      ms: Math.round(lateMs),
    });
    for (const listener of this.#listeners) listener(lateMs);
  }
}
