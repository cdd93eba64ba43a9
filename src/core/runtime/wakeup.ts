import type { Cancel, Clock } from '../model/ports/host-ports.ts';

/** Lets any number of callers wait until something happens. */
export class Wakeup {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves at the next `wake`, once this `Wakeup` is closed, or after `ms` milliseconds if `ms` is passed. */
  wait(ms?: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      let cancel: Cancel | undefined;
      const end = (): void => {
        cancel?.();
        this.#waiting.delete(end);
        resolve();
      };
      if (ms !== undefined) cancel = this.#clock.after(ms, end);
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
