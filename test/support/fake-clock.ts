import type { Clock } from '../../src/core/model/ports/host-ports.ts';

/** A clock that stands still until a test advances it, and runs timers in order. */
export class FakeClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

  constructor(now = Date.UTC(2026, 0, 2, 3, 4, 5)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#monotonic + ms, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Number of timers waiting. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Advances the clock by `ms`, running each timer at its own time and letting promises settle in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    for (;;) {
      const next = [...this.#timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#move(Math.max(next.at, this.#monotonic));
      next.run();
      await settle();
    }
    this.#move(end);
    await settle();
  }

  /** Advances the clock of a paused process: timers that are due run with the next `advance`. */
  pause(ms: number): void {
    this.#move(this.#monotonic + ms);
  }

  /** Sets the wall clock, as the user or network time would; timers do not notice. */
  step(ms: number): void {
    this.#now += ms;
  }

  #move(to: number): void {
    this.#now += to - this.#monotonic;
    this.#monotonic = to;
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}
