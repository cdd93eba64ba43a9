/** Serialises writes: two connections write, and SQLite would block one of their threads. */
export class WriteLock {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` once all earlier work has ended. */
  run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
