import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../core/model/ports/host-ports.ts';
import { Wakeup } from '../../../core/runtime/wakeup.ts';

/**
 * Rest between two slices of long work, as a multiple of the slice's time. With 3, the work takes a quarter of one
 * core.
 */
const REST = 3;

/** Spaces out the slices of long work, so that the event loop can do other work between them. */
export class Pace {
  readonly #clock: Clock;
  readonly #wakeup: Wakeup;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wakeup = new Wakeup(clock);
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Lets the event loop run other work, then resolves. */
  turn(): Promise<void> {
    return nextTurn();
  }

  /** Runs a slice of long work, then rests in proportion to its length. */
  async rest<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const startMs = this.#clock.monotonic();
    const result = await work();
    await this.sleep(Math.max(1, REST * (this.#clock.monotonic() - startMs)));
    return result;
  }

  /** Waits until `ms` have passed, or `stop` or `wake` is called. */
  async sleep(ms: number): Promise<void> {
    await this.#wakeup.wait(ms);
  }

  /** Ends every sleep. */
  wake(): void {
    this.#wakeup.wake();
  }

  stop(): void {
    this.#isStopped = true;
    this.#wakeup.close();
  }
}
