/**
 * Runs writes one after another. Two connections write, and SQLite would block the thread of one during a write of the
 * other.
 */
export class WriteLock {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` once all earlier work has ended. */
  run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
