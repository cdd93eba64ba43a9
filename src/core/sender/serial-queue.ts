import type { AppError } from '../model/errors.ts';
import { problem } from '../model/problems.ts';

/** Maximum number of sends that wait, besides the running one (decision D4). */
const MAX_WAITING = 100;
const RETRY_AFTER_SECONDS = '30';

interface Waiting {
  readonly start: () => void;
  readonly refuse: (reason: AppError) => void;
}

/** Runs one job at a time, in order of arrival (decision D4). */
export class SerialQueue {
  readonly #waiting: Waiting[] = [];
  #isRunning = false;
  #isClosed = false;
  #whenIdle: (() => void)[] = [];

  /**
   * Queues a job and resolves to its result. Rejects at once, without starting the job: with `send_queue_full`, or with
   * `shutting_down` after `close`.
   */
  add<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(shuttingDown());
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(full());
    return new Promise<Result>((resolve, reject) => {
      const start = () =>
        void work()
          .then(resolve, reject)
          .finally(() => this.#next());
      this.#waiting.push({ start, refuse: reject });
      if (!this.#isRunning) this.#next();
    });
  }

  /** Refuses all waiting jobs (decision A7). Resolves once the running one, if any, is done. */
  close(): Promise<void> {
    this.#isClosed = true;
    for (const { refuse } of this.#waiting.splice(0)) refuse(shuttingDown());
    return new Promise((resolve) => {
      if (this.#isRunning) this.#whenIdle.push(resolve);
      else resolve();
    });
  }

  #next(): void {
    const next = this.#waiting.shift();
    this.#isRunning = next !== undefined;
    if (next !== undefined) next.start();
    else for (const idle of this.#whenIdle.splice(0)) idle();
  }
}

function full(): AppError {
  return problem('send_queue_full', { max: MAX_WAITING }, { headers: { 'Retry-After': RETRY_AFTER_SECONDS } });
}

function shuttingDown(): AppError {
  return problem('shutting_down', {}, { hint: 'Nothing was sent. Try again once the service has restarted.' });
}
