import type { RetriedDelivery } from '../model/webhook.ts';

/**
 * The delivery of a webhook that is retried. While dropped events are redelivered, one of them may be retried instead;
 * the delivery that waited before keeps its count until they are done.
 */
export class Retried {
  readonly #store: (retried: RetriedDelivery | null) => void;
  #now: RetriedDelivery | null = null;
  #postponed: RetriedDelivery | null = null;

  /** `store` stores which delivery is retried, so that a restart continues with it. */
  constructor(store: (retried: RetriedDelivery | null) => void) {
    this.#store = store;
  }

  get now(): RetriedDelivery | null {
    return this.#now;
  }

  get isAny(): boolean {
    return this.#now !== null || this.#postponed !== null;
  }

  set(retried: RetriedDelivery): void {
    this.#now = retried;
    this.#store(retried);
  }

  /** Ends the retries of the current delivery. */
  end(): void {
    if (this.#now === null) return;
    this.#now = null;
    this.#store(null);
  }

  /** Ends all retries. */
  endAll(): void {
    if (this.isAny) this.#store(null);
    this.restore(null);
  }

  /** Continues with what the store has. */
  restore(stored: RetriedDelivery | null): void {
    this.#now = stored;
    this.#postponed = null;
  }

  /** Sets the current delivery aside, which stays the stored one until another is retried. */
  postpone(): void {
    this.#postponed = this.#now;
    this.#now = null;
  }

  /** Continues with the delivery that was set aside. */
  resume(): void {
    if (this.#postponed === null) this.end();
    else this.set(this.#postponed);
    this.#postponed = null;
  }
}
