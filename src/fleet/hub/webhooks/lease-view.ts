import type { KV } from '@nats-io/kv';
import type { Clock, Log } from '../../../domain/ports/host.ts';
import { type BucketEntry, BucketWatch } from './bucket-watch.ts';
import { SHARDS } from './shards.ts';

export interface LeaseViewParts {
  readonly bucket: () => Promise<KV>;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the bucket says of hubs and shards, as this hub has seen it: a little late, and in order. */
export class LeaseView {
  readonly #clock: Clock;
  readonly #watch: BucketWatch;
  /** When each lease was seen to be renewed, by our own clock. */
  readonly #hubs = new Map<string, { readonly revision: number; readonly seenAtMs: number }>();
  readonly #shards = new Map<number, { readonly revision: number; readonly hub: string }>();
  /** Since when what is not in the bucket is known not to be there. */
  #completeSinceMs = 0;

  constructor({ bucket, clock, log }: LeaseViewParts) {
    this.#clock = clock;
    this.#watch = new BucketWatch({
      name: 'lanes',
      bucket,
      log,
      onEntry: (key, entry) => this.#note(key, entry),
      onComplete: (isPresent) => this.#forget(isPresent),
    });
  }

  get isComplete(): boolean {
    return this.#watch.isComplete;
  }

  check(): Promise<void> {
    return this.#watch.check();
  }

  close(): void {
    this.#watch.close();
  }

  /** Hubs with a lease. */
  hubs(): Iterable<string> {
    return this.#hubs.keys();
  }

  /** Leases that nobody saw renewed for so long, with their revisions. */
  expired(afterMs: number): readonly (readonly [id: string, revision: number])[] {
    const before = this.#clock.monotonic() - afterMs;
    return [...this.#hubs].flatMap(([id, { revision, seenAtMs }]) => (seenAtMs <= before ? [[id, revision]] : []));
  }

  /**
   * Whether a hub may claim the shard. Where nothing is said of it, nobody ever had it, or the broker has lost who has
   * it: then that hub is given time to notice.
   */
  isFree(shard: number, me: string, noticeMs: number): boolean {
    const hub = this.#shards.get(shard)?.hub;
    if (hub === undefined) return this.#clock.monotonic() - this.#completeSinceMs >= noticeMs;
    return hub === me || !this.#hubs.has(hub);
  }

  /** 0 where nothing is said of it. */
  revisionOf(shard: number): number {
    return this.#shards.get(shard)?.revision ?? 0;
  }

  /** A shard that a hub has; undefined when there is none. */
  anyHeld(): number | undefined {
    return [...this.#shards].find(([, { hub }]) => this.#hubs.has(hub))?.[0];
  }

  #note(key: string, { revision, value }: BucketEntry): void {
    const [kind, name = ''] = key.split('.');
    if (kind === 'hub') {
      if (value === undefined) this.#hubs.delete(name);
      else this.#hubs.set(name, { revision, seenAtMs: this.#clock.monotonic() });
      return;
    }
    const shard = Number(name);
    if (kind !== 'shard' || !Number.isInteger(shard) || shard < 0 || shard >= SHARDS) return;
    this.#shards.set(shard, { revision, hub: value === undefined ? '' : holderIn(value) });
  }

  /** What the bucket no longer has was lost with it. */
  #forget(isPresent: (key: string) => boolean): void {
    this.#completeSinceMs = this.#clock.monotonic();
    for (const id of this.#hubs.keys()) if (!isPresent(hubKey(id))) this.#hubs.delete(id);
    for (const shard of this.#shards.keys()) if (!isPresent(shardKey(shard))) this.#shards.delete(shard);
  }
}

export function hubKey(id: string): string {
  return `hub.${id}`;
}

export function shardKey(shard: number): string {
  return `shard.${shard}`;
}

export function holderIn(value: Uint8Array): string {
  try {
    const { hub } = JSON.parse(Buffer.from(value).toString()) as { readonly hub?: unknown };
    return typeof hub === 'string' ? hub : '';
  } catch {
    return '';
  }
}
