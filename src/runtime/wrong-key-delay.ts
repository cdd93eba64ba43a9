import type { Clock } from '../domain/ports/host-ports.ts';

const DELAY_MS = 1000;
const MAX_WAITING = 32;

/** Slows down the guessing of keys at one listener. */
export class WrongKeyDelay {
  readonly #clock: Clock;
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves after a second. Resolves at once if 32 requests are already waiting, because answering another one costs
   * less than holding it.
   */
  async wait(): Promise<void> {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting += 1;
    await new Promise<void>((resolve) => void this.#clock.after(DELAY_MS, resolve));
    this.#waiting -= 1;
  }
}
