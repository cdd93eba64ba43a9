import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { BUCKETS, PRESENCE_EVERY_MS } from '../protocol/layout.ts';
import { type MacPresence, packPresence } from '../protocol/presence.ts';

export interface PresenceParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly mac: string;
  readonly presence: () => Omit<MacPresence, 'atMs' | 'isLeaving'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Says every ten seconds, and when something changed, that this Mac is here. */
export class PresenceBeat {
  readonly #parts: PresenceParts;
  #isOn = false;
  #cancel: Cancel | undefined;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#isOn = true;
    this.changed();
  }

  stop(): void {
    this.#isOn = false;
    this.#cancel?.();
  }

  /** Says it at once. */
  changed(): void {
    if (!this.#isOn) return;
    this.#cancel?.();
    this.#cancel = this.#parts.clock.after(PRESENCE_EVERY_MS, () => this.changed());
    void this.#put(false);
  }

  /** Says that the Mac leaves in good order. */
  async leave(): Promise<void> {
    const wasOn = this.#isOn;
    this.stop();
    if (wasOn) await this.#put(true);
  }

  async #put(isLeaving: boolean): Promise<void> {
    const { connection, envelope, mac, presence, clock, log } = this.#parts;
    try {
      const packed = packPresence(envelope, mac, { ...presence(), atMs: clock.now(), isLeaving });
      await connection.js.publish(`$KV.${BUCKETS.macs}.${mac}`, packed, { timeout: 2000 });
    } catch (error) {
      log.debug('the presence of this Mac could not be written', { reason: (error as Error).message });
    }
  }
}
