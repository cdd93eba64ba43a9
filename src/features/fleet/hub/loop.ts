import { Wakeup } from '../../../core/runtime/wakeup.ts';
import type { FleetParts } from '../protocol/connection.ts';

const PAUSE_MS = 300;

/** Follows something at the broker: begins again after a pause whenever that ends or fails, until it is closed. */
export class Loop {
  /** Resolves once nothing is followed any more. */
  readonly ended: Promise<void>;
  readonly #parts: Pick<FleetParts, 'connection' | 'clock' | 'log'>;
  readonly #wakeup: Wakeup;
  #isClosed = false;
  #trouble: string | undefined;

  /** `what` begins the warning about a failure, which is logged once for each reason. */
  constructor(parts: Pick<FleetParts, 'connection' | 'clock' | 'log'>, what: string, follow: () => Promise<void>) {
    this.#parts = parts;
    this.#wakeup = new Wakeup(parts.clock);
    this.ended = this.#run(what, follow);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Why the last turn failed; undefined once one has succeeded. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Records that there is no trouble any more. */
  succeeded(): void {
    this.#trouble = undefined;
  }

  wake(): void {
    this.#wakeup.wake();
  }

  /** Waits until the next turn would begin. */
  pause(): Promise<void> {
    return this.#wakeup.wait(PAUSE_MS);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#wakeup.close();
    return this.ended;
  }

  async #run(what: string, follow: () => Promise<void>): Promise<void> {
    const { connection, log } = this.#parts;
    // The caller must have this loop before the first turn.
    await Promise.resolve();
    while (!this.#isClosed) {
      try {
        if (connection.isConnected) await follow();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== this.#trouble) log.warn(what, { reason });
        this.#trouble = reason;
      }
      await this.pause();
    }
  }
}
