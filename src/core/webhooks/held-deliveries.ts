import type { HeldDelivery } from '../model/webhook.ts';

/**
 * The delivery that a webhook holds. While dropped events are redelivered, one of them may be held instead;
 * the delivery that waited before keeps its count until they are done.
 */
export class HeldDeliveries {
  readonly #store: (held: HeldDelivery | null) => void;
  #now: HeldDelivery | null = null;
  #postponed: HeldDelivery | null = null;

  /** `store` stores which delivery is held, so that a restart continues with it. */
  constructor(store: (held: HeldDelivery | null) => void) {
    this.#store = store;
  }

  get now(): HeldDelivery | null {
    return this.#now;
  }

  get isAny(): boolean {
    return this.#now !== null || this.#postponed !== null;
  }

  set(held: HeldDelivery): void {
    this.#now = held;
    this.#store(held);
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
  restore(stored: HeldDelivery | null): void {
    this.#now = stored;
    this.#postponed = null;
  }

  /** Sets the current delivery aside, which stays the stored one until another is held. */
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
