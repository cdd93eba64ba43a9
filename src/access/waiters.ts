import type { Cancel, Clock } from '../domain/ports/host.ts';

/** Requests that wait for something to change. */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves at the next `wake`, after `ms`, or when it is closed. */
  wait(ms: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        this.#waiting.delete(end);
        resolve();
      };
      const cancel: Cancel = this.#clock.after(ms, end);
      this.#waiting.add(end);
    });
  }

  wake(): void {
    for (const end of [...this.#waiting]) end();
  }

  close(): void {
    this.#isClosed = true;
    this.wake();
  }
}
