import type { Msg, Subscription } from '@nats-io/nats-core';
import { rightsAddress } from '../../domain/address.ts';
import { MAC_ID } from '../../domain/fleet.ts';
import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import { problem } from '../../domain/problems.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { AWAY_MS, BUCKETS } from '../protocol/layout.ts';
import { type MacPresence, unpackPresence } from '../protocol/presence.ts';
import type { BrokerClock } from './broker-clock.ts';
import { within } from './within.ts';

const PREFIX = `$KV.${BUCKETS.macs}.`;
/** Until what is stored is read again after it could not be. */
const RETRY_MS = 2000;
const READ_MS = 10_000;
const REMOVED = new Set(['DEL', 'PURGE']);

/** An address in the form in which two of them are compared. */
export function plainAddress(address: string): string {
  return rightsAddress(address) ?? address;
}

/** A Mac of the fleet as this hub knows it. */
export interface KnownMac {
  readonly mac: string;
  /** undefined where it cannot be read, as with another content key. */
  readonly presence: MacPresence | undefined;
  /** By the clock of this hub (monotonic). */
  readonly seenAtMs: number;
}

export interface MacsParts {
  readonly connection: FleetConnection;
  readonly envelope: Envelope;
  readonly brokerClock: Pick<BrokerClock, 'measured' | 'now'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Which Macs there are: what they say of themselves every ten seconds. What they say next is heard directly, and what
 * they said before is read at every connection.
 */
export class Macs {
  readonly #parts: MacsParts;
  readonly #macs = new Map<string, KnownMac>();
  readonly #cancelConnect: Cancel;
  readonly #onPresent = new Set<(mac: string) => void>();
  #subscription: Subscription | undefined;
  #cancelRetry: Cancel | undefined;
  #isClosed = false;
  #isLoaded = false;

  constructor(parts: MacsParts) {
    this.#parts = parts;
    this.#cancelConnect = parts.connection.onConnect(() => this.#load());
  }

  /** By id. */
  list(): readonly KnownMac[] {
    return [...this.#macs.values()].sort((a, b) => (a.mac < b.mac ? -1 : 1));
  }

  /** The same for answers that must not lack one. Throws while it is not known which Macs there are. */
  all(): readonly KnownMac[] {
    this.assertLoaded();
    return this.list();
  }

  /** True once the stored presence was read. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Calls `run` when a Mac is heard that was away, or has restarted. */
  onPresent(run: (mac: string) => void): Cancel {
    this.#onPresent.add(run);
    return () => void this.#onPresent.delete(run);
  }

  assertLoaded(): void {
    if (this.#isLoaded) return;
    if (!this.#parts.connection.isConnected) throw problem('broker_away');
    throw problem('hub_filling', {}, { headers: { 'Retry-After': '2' } });
  }

  get(mac: string): KnownMac | undefined {
    return this.#macs.get(mac);
  }

  isAway({ presence, seenAtMs }: KnownMac): boolean {
    return presence?.isLeaving === true || this.#parts.clock.monotonic() - seenAtMs >= AWAY_MS;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelConnect();
    this.#cancelRetry?.();
    this.#subscription?.unsubscribe();
  }

  #load(): void {
    const { connection, log, clock } = this.#parts;
    if (this.#isClosed) return;
    this.#cancelRetry?.();
    if (this.#subscription === undefined || this.#subscription.isClosed()) {
      this.#subscription = connection.nc.subscribe(`${PREFIX}*`, {
        callback: (error, message) => {
          if (error === null) this.#noteMessage(message);
        },
      });
    }
    within(this.#readStored(), clock, READ_MS).catch((error: unknown) => {
      log.warn('the Macs of the fleet cannot be read, trying again', { reason: (error as Error).message });
      this.#cancelRetry = clock.after(RETRY_MS, () => this.#load());
    });
  }

  async #readStored(): Promise<void> {
    const { connection, clock, brokerClock } = this.#parts;
    const brokerMs = await brokerClock.measured().catch(() => brokerClock.now());
    const bucket = await connection.kv(BUCKETS.macs);
    const stored = new Set<string>();
    for await (const mac of await bucket.keys()) stored.add(mac);
    await Promise.all(
      [...stored].map(async (mac) => {
        const entry = await bucket.get(mac);
        if (entry === null || entry.operation !== 'PUT') return;
        const ageMs = Math.max(0, brokerMs - entry.created.getTime());
        this.#note(mac, entry.value, clock.monotonic() - ageMs);
      }),
    );
    this.#isLoaded = true;
  }

  #noteMessage({ subject, data, headers }: Msg): void {
    const mac = subject.slice(PREFIX.length);
    if (REMOVED.has(headers?.get('KV-Operation') ?? '')) this.#macs.delete(mac);
    else this.#note(mac, data, this.#parts.clock.monotonic());
  }

  #note(mac: string, packed: Uint8Array, seenAtMs: number): void {
    const known = this.#macs.get(mac);
    if (!MAC_ID.test(mac) || (known !== undefined && known.seenAtMs > seenAtMs)) return;
    let presence: MacPresence | undefined;
    try {
      presence = unpackPresence(this.#parts.envelope, mac, packed);
    } catch (error) {
      if (known === undefined || known.presence !== undefined) {
        this.#parts.log.warn('what a Mac says of itself cannot be read', { mac, reason: (error as Error).message });
      }
    }
    const heard = { mac, presence, seenAtMs };
    const isNew = known === undefined || this.isAway(known) || known.presence?.instance !== presence?.instance;
    this.#macs.set(mac, heard);
    if (isNew && !this.isAway(heard)) for (const run of this.#onPresent) run(mac);
  }
}
