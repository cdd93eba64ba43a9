/**
 * Runs writes to search.db one after another. Two connections write to it, and SQLite would block the thread of one
 * connection while the other writes.
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
