import * as z from 'zod';
import { allowedWait } from '../model/caller.ts';
import { MAX_WAIT_S } from '../model/key.ts';
import type { ToolContext } from './tool.ts';

const DEFAULT_S = 25;
const PROGRESS_MS = 5000;

/** Schema of the seconds that a call may wait. Values above `MAX_WAIT_S` count as `MAX_WAIT_S`. */
export const timeout = z
  .number()
  .min(0)
  .default(DEFAULT_S)
  .transform((seconds) => Math.min(seconds, MAX_WAIT_S))
  .describe(`at most ${MAX_WAIT_S}`);

/**
 * Limits how long a call waits. Listens to each abort signal and to a timer, because a signal made by `AbortSignal.any`
 * could be garbage-collected before it aborts.
 */
export class Wait {
  /** Resolves when the time is up, or when the client no longer waits for the answer. */
  readonly over: Promise<void>;
  isOver = false;
  #finish: () => void = () => {};
  readonly #cancels: (() => void)[] = [];

  constructor(asked: number, { caller, clock, signals, progress }: ToolContext) {
    const seconds = allowedWait(caller, asked);
    this.over = new Promise((resolve) => {
      this.#finish = () => {
        this.isOver = true;
        resolve();
      };
    });
    this.#cancels.push(clock.after(seconds * 1000, this.#finish));
    for (const signal of signals) {
      signal.addEventListener('abort', this.#finish);
      this.#cancels.push(() => signal.removeEventListener('abort', this.#finish));
      if (signal.aborted) this.#finish();
    }
    let elapsedS = 0;
    let cancelProgress = (): void => {};
    const report = (): void => {
      elapsedS += PROGRESS_MS / 1000;
      progress(elapsedS, seconds);
      cancelProgress = clock.after(PROGRESS_MS, report);
    };
    cancelProgress = clock.after(PROGRESS_MS, report);
    this.#cancels.push(() => cancelProgress());
  }

  end(): void {
    for (const cancel of this.#cancels) cancel();
  }
}
