const WAIT_MS = 1000;
const TRIES = 600;
/** Without a pause, these offer an event to each hub that is there. */
const TRIES_OF_GIVEN_UP = 10;

/**
 * Decides how long an event that this hub has no key for waits for another hub: ten minutes, unless an event of the
 * same Mac was given up before. Otherwise a Mac that lies could stop the others' events by one event every ten minutes.
 */
export class KeylessEvents {
  /** Macs of which no hub could open an event. */
  readonly #givenUp = new Set<string>();

  /** Returns how long to wait before the broker offers the event again; undefined to give it up. */
  waitMs(member: string, deliveryCount: number): number | undefined {
    const isGivenUp = this.#givenUp.has(member);
    if (deliveryCount < (isGivenUp ? TRIES_OF_GIVEN_UP : TRIES)) return isGivenUp ? 0 : WAIT_MS;
    this.#givenUp.add(member);
    return undefined;
  }
}
