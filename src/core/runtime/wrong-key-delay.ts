import type { Clock } from '../model/ports/host-ports.ts';

const DELAY_MS = 1000;
const MAX_WAITING = 32;

/** Delays answers to requests with a wrong key, to slow down guessing. */
export class WrongKeyDelay {
  readonly #clock: Clock;
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves after a second. If 32 requests are already waiting, resolves at once, because refusing one more request
   * costs less than keeping it open.
   */
  async wait(): Promise<void> {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting += 1;
    await new Promise<void>((resolve) => void this.#clock.after(DELAY_MS, resolve));
    this.#waiting -= 1;
  }
}
