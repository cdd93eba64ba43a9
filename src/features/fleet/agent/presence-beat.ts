import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { managerOf } from '../protocol/connect-once.ts';
import type { MacPresence } from '../protocol/fleet-records-schema.ts';
import { BUCKETS, PRESENCE_EVERY_MS } from '../protocol/layout.ts';
import { packPresence, storedClockAhead } from '../protocol/presence.ts';
import type { JoinedParts } from './agent.ts';

/** Writes this Mac's presence every ten seconds and after each change. */
export class PresenceBeat {
  readonly #parts: JoinedParts;
  readonly #presence: () => Omit<MacPresence, 'atMs' | 'isLeaving'>;
  #isOn = false;
  #cancel: Cancel | undefined;
  #clockAheadMs: number | undefined;

  constructor(parts: JoinedParts, presence: () => Omit<MacPresence, 'atMs' | 'isLeaving'>) {
    this.#parts = parts;
    this.#presence = presence;
  }

  /**
   * How many milliseconds this machine's clock was ahead of the broker's when the agent last connected; undefined if
   * unknown.
   */
  get clockAheadMs(): number | undefined {
    return this.#clockAheadMs;
  }

  start(): void {
    this.#isOn = true;
    void this.changed().then(() => this.#measureClock());
  }

  stop(): void {
    this.#isOn = false;
    this.#cancel?.();
  }

  /** Writes the presence now, and postpones the next regular write. */
  async changed(): Promise<void> {
    if (!this.#isOn) return;
    this.#cancel?.();
    this.#cancel = this.#parts.clock.after(PRESENCE_EVERY_MS, () => void this.changed());
    await this.#put(false);
  }

  /** Stops, and announces that this Mac is shutting down. */
  async leave(): Promise<void> {
    const wasOn = this.#isOn;
    this.stop();
    if (wasOn) await this.#put(true);
  }

  /**
   * Measures how far this machine's clock is ahead of the broker's. Once per connection is enough, because the
   * difference hardly changes.
   */
  async #measureClock(): Promise<void> {
    const { connection, envelope, mac } = this.#parts;
    const jsm = await managerOf(connection.nc);
    this.#clockAheadMs = await storedClockAhead(jsm, envelope, mac);
  }

  async #put(isLeaving: boolean): Promise<void> {
    const { connection, envelope, mac, clock, log } = this.#parts;
    try {
      const packed = packPresence(envelope, mac, { ...this.#presence(), atMs: clock.now(), isLeaving });
      await connection.js.publish(`$KV.${BUCKETS.macs}.${mac}`, packed, { timeout: 2000 });
    } catch (error) {
      log.debug('the presence of this Mac could not be written', { reason: (error as Error).message });
    }
  }
}
