/** One piece of writing after the other: two connections write, and SQLite would let one wait and hold its thread. */
export class WriteLock {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when everything that asked before has ended. */
  run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
