import type { Msg, Subscription } from '@nats-io/nats-core';
import { rightsAddress } from '../../../core/model/address.ts';
import { MAC_ID, type MacName } from '../../../core/model/fleet.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { problem } from '../../../core/model/problems.ts';
import type { ClaimNames, MacPresence } from '../protocol/fleet-records-schema.ts';
import { AWAY_MS, BUCKETS } from '../protocol/layout.ts';
import { decodeClaim, macOfClaimKey, REFUSED_MS } from '../protocol/machine-claim.ts';
import { decodePair, macOfPairKey, pairKey } from '../protocol/pair.ts';
import { unpackPresence } from '../protocol/presence.ts';
import type { HubParts } from './hub-parts.ts';
import { withTimeLimit } from './time-limit.ts';

const PREFIX = `$KV.${BUCKETS.macs}.`;
/** Wait before another attempt to read the stored presence. */
const RETRY_MS = 2000;
const READ_MS = 10_000;
const REMOVED = new Set(['DEL', 'PURGE']);

/** Returns an address in normalized form, so that different spellings of one address compare as equal. */
export function plainAddress(address: string): string {
  return rightsAddress(address) ?? address;
}

/** A single Mac or a pair, which clients see as one Mac. */
export interface HubMember {
  readonly id: string;
  /** The member's one or two known Macs, in the order in which to ask them. */
  readonly macs: readonly KnownMac[];
}

/** A Mac of the fleet as this hub knows it. */
export interface KnownMac {
  readonly mac: string;
  /** Undefined if this hub cannot read the presence, for example because the hub lacks the presence's content key. */
  readonly presence: MacPresence | undefined;
  /** When the Mac was last heard from, in milliseconds of this hub's monotonic clock. */
  readonly seenAtMs: number;
}

export type MacsParts = Pick<HubParts, 'connection' | 'envelope' | 'pairs' | 'brokerClock' | 'clock' | 'log'>;

/**
 * The Macs of the fleet with their presence, which each Mac writes every ten seconds. Reads the stored presence at
 * every connect; later changes arrive as messages.
 */
export class Macs {
  readonly #parts: MacsParts;
  readonly #macs = new Map<string, KnownMac>();
  readonly #machines = new Map<string, { readonly names: ClaimNames | undefined; readonly seenAtMs: number }>();
  readonly #cancelConnect: Cancel;
  readonly #onPresent = new Set<(mac: string) => void>();
  #subscription: Subscription | undefined;
  #cancelRetry: Cancel | undefined;
  #isClosed = false;
  #isLoaded = false;
  #loading: Promise<void> = Promise.resolve();

  constructor(parts: MacsParts) {
    this.#parts = parts;
    this.#cancelConnect = parts.connection.onConnect(() => this.#load());
  }

  /** Returns the known Macs, sorted by id. */
  list(): readonly KnownMac[] {
    return [...this.#macs.values()].sort((a, b) => (a.mac < b.mac ? -1 : 1));
  }

  nameOf(mac: string): MacName {
    return this.#parts.pairs.nameOf(mac);
  }

  /** Returns the members, sorted by their Macs' ids. Throws `broker_away` or `hub_filling` while they are unknown. */
  members(): readonly HubMember[] {
    this.assertLoaded();
    const ids = new Set(this.list().map(({ mac }) => this.nameOf(mac).member));
    return [...ids].map((id) => ({ id, macs: this.macsOf(id) }));
  }

  /** Returns the known Macs that an id stands for, in the order in which to ask them. */
  macsOf(id: string): readonly KnownMac[] {
    return this.#parts.pairs.macsOf(id).flatMap((mac) => this.#macs.get(mac) ?? []);
  }

  isMemberAway({ macs }: HubMember): boolean {
    return macs.every((mac) => this.isAway(mac));
  }

  /** Waits for the read of the stored presence that began at the latest connect. Rejects if that read fails. */
  read(): Promise<void> {
    return this.#loading;
  }

  /** True once the stored presence has been read. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Calls `run` with a Mac's id when the Mac joins the fleet, is no longer away, or its agent has restarted. */
  onPresent(run: (mac: string) => void): Cancel {
    this.#onPresent.add(run);
    return () => void this.#onPresent.delete(run);
  }

  /** Throws `broker_away` or `hub_filling` unless `isLoaded`. */
  assertLoaded(): void {
    if (this.#isLoaded) return;
    if (!this.#parts.connection.isConnected) throw problem('broker_away');
    throw problem('hub_filling', {}, { headers: { 'Retry-After': '2' } });
  }

  get(mac: string): KnownMac | undefined {
    return this.#macs.get(mac);
  }

  /**
   * Returns the ids of the members with at least one Mac that is not known to publish changes. Empty until `isLoaded`.
   */
  withoutChanges(): readonly string[] {
    const lacks = ({ presence }: KnownMac): boolean => presence?.last?.changes === undefined;
    return this.#isLoaded ? this.members().flatMap(({ id, macs }) => (macs.some(lacks) ? id : [])) : [];
  }

  isAway({ presence, seenAtMs }: KnownMac): boolean {
    return presence?.isLeaving === true || this.#parts.clock.monotonic() - seenAtMs >= AWAY_MS;
  }

  /**
   * Returns the names of two machines: `holder` owns the Mac's identity; `refused` was refused and currently uses the
   * Mac's key. `refused` is undefined if there is no such machine.
   */
  machinesOf(mac: string): ClaimNames | undefined {
    const { names, seenAtMs = 0 } = this.#machines.get(mac) ?? {};
    const isHeard = this.#parts.clock.monotonic() - seenAtMs < REFUSED_MS;
    return names && { holder: names.holder, refused: isHeard ? names.refused : undefined };
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelConnect();
    this.#cancelRetry?.();
    this.#subscription?.unsubscribe();
  }

  #load(): void {
    const { connection, clock } = this.#parts;
    if (this.#isClosed) return;
    this.#cancelRetry?.();
    if (this.#subscription === undefined || this.#subscription.isClosed()) {
      this.#subscription = connection.nc.subscribe(`${PREFIX}*`, {
        callback: (error, message) => {
          if (error === null) this.#noteMessage(message);
        },
      });
    }
    this.#loading = withTimeLimit(this.#readStored(), clock, READ_MS);
    this.#loading.catch((error: unknown) => this.#loadLater(error));
  }

  #loadLater(error: unknown): void {
    const { log, clock } = this.#parts;
    log.warn('the Macs of the fleet cannot be read, retrying', { reason: (error as Error).message });
    this.#cancelRetry?.();
    this.#cancelRetry = clock.after(RETRY_MS, () => this.#load());
  }

  async #readStored(): Promise<void> {
    const { connection, clock, brokerClock } = this.#parts;
    const brokerMs = await brokerClock.measured().catch(() => brokerClock.now());
    const bucket = await connection.kv(BUCKETS.macs);
    const stored = new Set<string>();
    for await (const mac of await bucket.keys()) stored.add(mac);
    // `keys` omits deleted entries, so known Macs and pairs that it does not list are looked up as well. A deletion
    // marker ends a Mac or pair. Without a marker, the broker has lost the entry, and the Mac or pair stays known.
    for (const mac of this.#macs.keys()) stored.add(mac);
    for (const { mac } of this.#parts.pairs.list()) stored.add(pairKey(mac));
    await Promise.all(
      [...stored].map(async (key) => {
        const entry = await bucket.get(key);
        if (entry === null) return;
        const seenAtMs = clock.monotonic() - Math.max(0, brokerMs - entry.created.getTime());
        this.#noteEntry(key, entry.operation === 'PUT' ? entry.value : undefined, seenAtMs);
      }),
    );
    this.#isLoaded = true;
  }

  #noteMessage({ subject, data, headers }: Msg): void {
    const isRemoved = REMOVED.has(headers?.get('KV-Operation') ?? '');
    const key = subject.slice(PREFIX.length);
    try {
      this.#noteEntry(key, isRemoved ? undefined : data, this.#parts.clock.monotonic());
    } catch (error) {
      // hub.db cannot store a pair. The NATS client would close the connection if a callback threw.
      this.#loadLater(error);
    }
  }

  /** Records an entry of the bucket: a presence, a claim or a pair. `value` is undefined for a deleted entry. */
  #noteEntry(key: string, value: Uint8Array | undefined, seenAtMs: number): void {
    if (this.#notePair(key, value)) return;
    if (value === undefined) this.#macs.delete(key);
    else if (!this.#noteMachine(key, value, seenAtMs)) this.#note(key, value, seenAtMs);
  }

  /** Records the machines that a claim names. Returns false if `key` is not the key of a claim. */
  #noteMachine(key: string, value: Uint8Array, seenAtMs: number): boolean {
    const mac = macOfClaimKey(key);
    if (mac === undefined) return false;
    if (!MAC_ID.test(mac)) return true;
    const names = decodeClaim(this.#parts.envelope, mac, value)?.names;
    this.#machines.set(mac, { names, seenAtMs });
    return true;
  }

  /**
   * Adds, replaces or ends a pair according to its entry; `value` is undefined for a deleted entry. Returns false if
   * `key` is not the key of a pair.
   */
  #notePair(key: string, value: Uint8Array | undefined): boolean {
    const { pairs, log } = this.#parts;
    const mac = macOfPairKey(key);
    if (mac === undefined) return false;
    const pair = value && decodePair(mac, value);
    const known = pairs.of(mac);
    if (known?.mac === mac && known.standby !== pair?.standby) pairs.end(mac);
    if (pair !== undefined && pairs.add(pair)) log.info('two Macs are a pair', { mac, standby: pair.standby });
    return true;
  }

  #note(mac: string, packed: Uint8Array, seenAtMs: number): void {
    const known = this.#macs.get(mac);
    if (!MAC_ID.test(mac) || (known !== undefined && known.seenAtMs > seenAtMs)) return;
    let presence: MacPresence | undefined;
    try {
      presence = unpackPresence(this.#parts.envelope, mac, packed);
    } catch (error) {
      if (known === undefined || known.presence !== undefined) {
        this.#parts.log.warn('the presence of a Mac cannot be read', { mac, reason: (error as Error).message });
      }
    }
    const heard = { mac, presence, seenAtMs };
    const isNew = known === undefined || this.isAway(known) || known.presence?.instance !== presence?.instance;
    this.#macs.set(mac, heard);
    if (isNew && !this.isAway(heard)) for (const run of this.#onPresent) run(mac);
  }
}
