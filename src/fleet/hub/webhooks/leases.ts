import { randomUUID } from 'node:crypto';
import type { KV } from '@nats-io/kv';
import type { Cancel, Clock, Log } from '../../../domain/ports/host.ts';
import { compareAndDelete, compareAndSet } from './compare-and-set.ts';
import { holderIn, hubKey, LeaseView, shardKey } from './lease-view.ts';
import { divide } from './shards.ts';

const TICK_MS = 1000;
const RENEW_EVERY_MS = 3000;
/** A hub that could not renew its lease for so long stops at once. */
const LAPSES_AFTER_MS = 7000;
/** A hub whose lease nobody saw renewed for so long has lost it. More than the other, whatever the clocks do. */
const EXPIRES_AFTER_MS = 10_000;

export interface LeasesParts {
  readonly bucket: () => Promise<KV>;
  /** Until it is true for the first time, this hub takes no part. */
  readonly isReady?: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** The shard is ours from now on. */
  readonly onTaken: (shard: number) => void;
  /** The shard is no longer ours, or it is not certain: nothing may be sent for it from now on. */
  readonly onLost: (shard: number) => void;
  /** The shard is about to be given to another hub: resolves when nothing is sent for it any more. */
  readonly release: (shard: number) => Promise<void>;
}

interface HeldShard {
  revision: number;
  /** False while the lease has lapsed, or must be confirmed: then nobody works on it here. */
  isActive: boolean;
  isReleasing: boolean;
}

/**
 * Which hub has which shard, by compare-and-set in one bucket. `hub.<id>` is the lease of a hub, which it renews and
 * which any other deletes when it is over; `shard.<number>` names the hub that has it, and is free when that hub has no
 * lease. Each hub measures times by its own monotonic clock.
 */
export class Leases {
  readonly #parts: LeasesParts;
  readonly #view: LeaseView;
  /** Another one after each lost lease: what the hub before held is not ours. */
  #id = randomUUID();
  /** Revision of our lease; 0 while we have none. */
  #revision = 0;
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  /** Since when it was renewed without a break. */
  #freshSinceMs = 0;
  readonly #held = new Map<number, HeldShard>();
  #isReady = false;
  #cancelTick: Cancel | undefined;
  #renewing: Promise<void> | undefined;
  #round: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: LeasesParts) {
    this.#parts = parts;
    this.#view = new LeaseView(parts);
  }

  start(): void {
    this.#tick();
  }

  /** The name of this hub in the leases. */
  get id(): string {
    return this.#id;
  }

  /** Whether something may be sent for the shard at this moment. */
  isHeld(shard: number): boolean {
    const held = this.#held.get(shard);
    return held?.isActive === true && this.#isFresh();
  }

  /** The shards that are worked on here. */
  get held(): readonly number[] {
    return [...this.#held.keys()].filter((shard) => this.isHeld(shard));
  }

  /** A shard that some hub has, this one first; undefined when there is none. */
  anyHeld(): number | undefined {
    const [own] = this.held;
    return own ?? this.#view.anyHeld();
  }

  /** Another hub wrote what only the holder writes: stops, and goes on if the shard turns out to be ours. */
  doubt(shard: number): void {
    const held = this.#held.get(shard);
    if (held === undefined) return;
    this.#suspend(shard, held);
  }

  /** Gives everything up, so that other hubs need not wait for the leases to be over. Twice is fine. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#round;
    await Promise.all([...this.#held].map(([shard, held]) => this.#release(shard, held)));
    this.#cancelTick?.();
    this.#view.close();
    await this.#renewing;
    if (this.#revision === 0) return;
    try {
      await compareAndDelete(await this.#parts.bucket(), hubKey(this.#id), this.#revision);
    } catch (error) {
      this.#parts.log.warn('could not give the leases of webhooks up; other hubs wait until they are over', { error });
    }
  }

  #tick(): void {
    this.#cancelTick = this.#parts.clock.after(TICK_MS, () => this.#tick());
    this.#isReady ||= this.#parts.isReady?.() ?? true;
    if (!this.#isReady) return;
    this.#lapse();
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    this.#round ??= this.#divide().finally(() => {
      this.#round = undefined;
    });
  }

  #isFresh(): boolean {
    return this.#parts.clock.monotonic() - this.#renewedAtMs < LAPSES_AFTER_MS;
  }

  #lapse(): void {
    if (this.#isFresh()) return;
    const active = [...this.#held].filter(([, { isActive }]) => isActive);
    if (active.length === 0) return;
    this.#parts.log.warn('the lease of webhooks could not be renewed; deliveries stop', { shards: active.length });
    for (const [shard, held] of active) this.#suspend(shard, held);
  }

  #suspend(shard: number, held: HeldShard): void {
    if (!held.isActive) return;
    held.isActive = false;
    this.#parts.onLost(shard);
  }

  async #renew(): Promise<void> {
    const askedAtMs = this.#parts.clock.monotonic();
    if (this.#isFresh() && askedAtMs - this.#renewedAtMs < RENEW_EVERY_MS) return;
    const key = hubKey(this.#id);
    try {
      const bucket = await this.#parts.bucket();
      let revision = await compareAndSet(bucket, key, '{}', this.#revision);
      if (revision === undefined) {
        // A write of ours may have come through without its answer. Nobody else writes this key but to delete it.
        const found = await bucket.get(key);
        if (found?.operation === 'PUT') revision = await compareAndSet(bucket, key, '{}', found.revision);
      }
      if (revision === undefined) return this.#loseLease();
      if (!this.#isFresh()) this.#freshSinceMs = askedAtMs;
      this.#revision = revision;
      this.#renewedAtMs = askedAtMs;
    } catch (error) {
      this.#parts.log.debug('the lease of webhooks cannot be renewed, retrying', { error });
    }
  }

  async #divide(): Promise<void> {
    try {
      await this.#view.check();
      if (this.#closing !== undefined || !this.#isFresh() || !this.#view.isComplete) return;
      const bucket = await this.#parts.bucket();
      await this.#confirm(bucket);
      await this.#expire(bucket);
      await this.#balance(bucket);
    } catch (error) {
      this.#parts.log.debug('the leases of webhooks cannot be read or written, retrying', { error });
    }
  }

  #loseLease(): void {
    this.#parts.log.warn('the lease of webhooks is over, another hub may have them', { shards: this.#held.size });
    for (const [shard, held] of this.#held) this.#suspend(shard, held);
    this.#held.clear();
    this.#id = randomUUID();
    this.#revision = 0;
    this.#renewedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Those that were suspended are ours if nobody else has written their keys. */
  async #confirm(bucket: KV): Promise<void> {
    for (const [shard, held] of this.#held) {
      if (held.isActive || held.isReleasing) continue;
      const found = await bucket.get(shardKey(shard));
      if (this.#held.get(shard) !== held) continue;
      if (found?.operation === 'PUT' && holderIn(found.value) === this.#id)
        await this.#claim(bucket, shard, found.revision);
      else this.#held.delete(shard);
    }
  }

  async #expire(bucket: KV): Promise<void> {
    // The broker may have been away for the others too.
    if (this.#parts.clock.monotonic() - this.#freshSinceMs < EXPIRES_AFTER_MS) return;
    for (const [id, revision] of this.#view.expired(EXPIRES_AFTER_MS)) {
      if (id === this.#id) continue;
      const isDeleted = await compareAndDelete(bucket, hubKey(id), revision);
      if (isDeleted) this.#parts.log.info('a hub has not renewed its lease; its webhooks go to others', { hub: id });
    }
  }

  async #balance(bucket: KV): Promise<void> {
    const mine = new Set(this.#held.keys());
    const isFree = (shard: number): boolean => this.#view.isFree(shard, this.#id, EXPIRES_AFTER_MS);
    const { claim, release } = divide(this.#id, this.#view.hubs(), mine, isFree);
    for (const shard of claim) {
      if (this.#closing !== undefined) return;
      await this.#claim(bucket, shard, this.#view.revisionOf(shard));
    }
    for (const shard of release) {
      const held = this.#held.get(shard);
      // Not waited for: attempts that are running may take a while, and the lease must be renewed meanwhile.
      if (held !== undefined && !held.isReleasing) void this.#release(shard, held);
    }
  }

  async #claim(bucket: KV, shard: number, before: number): Promise<void> {
    const id = this.#id;
    const revision = await compareAndSet(bucket, shardKey(shard), JSON.stringify({ hub: id }), before);
    // The lease that claimed it is over already.
    if (id !== this.#id) return;
    if (revision === undefined) {
      this.#held.delete(shard);
      return;
    }
    // Claimed too late: it counts from the next renewal on, when the key is read again.
    const isActive = this.#isFresh() && this.#closing === undefined;
    this.#held.set(shard, { revision, isActive, isReleasing: false });
    if (isActive) this.#parts.onTaken(shard);
  }

  async #release(shard: number, held: HeldShard): Promise<void> {
    held.isReleasing = true;
    try {
      await this.#parts.release(shard);
      held.isActive = false;
      await compareAndDelete(await this.#parts.bucket(), shardKey(shard), held.revision);
      if (this.#held.get(shard) === held) this.#held.delete(shard);
    } catch (error) {
      this.#parts.log.debug('could not give a shard of webhooks up', { shard, error });
      // Ours still, and confirmed in the next round.
      this.#suspend(shard, held);
      held.isReleasing = false;
    }
  }
}
