import type { KV, KvEntry } from '@nats-io/kv';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { fleetProblem } from '../problems.ts';
import type { FleetParts } from '../protocol/connection.ts';
import { bucketOf, unlessTaken } from './claims.ts';
import { Loop } from './loop.ts';
import type { StreamTail } from './stream-tail.ts';
import { isSealedBefore, openRecord, sealRecord, type WebhookRecord } from './webhook-record.ts';

const MAX_TRIES = 20;

export interface WebhookTableParts extends FleetParts {
  readonly tail: StreamTail;
  /** Called when a webhook was added or removed, or when its record says something new to a worker. */
  readonly onChange: (id: string) => void;
}

interface Known {
  readonly record: WebhookRecord;
  readonly revision: number;
}

/**
 * The records of the webhooks, kept in a bucket of the broker and followed by a watch. If the broker goes back to an
 * older state, the bucket goes back with it: then the revisions are read again, and lost records written again.
 */
export class WebhookTable {
  readonly #parts: WebhookTableParts;
  readonly #known = new Map<string, Known>();
  readonly #removed = new Set<string>();
  #stopWatch: Cancel = () => {};
  #isStale = true;
  #loop: Loop | undefined;

  constructor(parts: WebhookTableParts) {
    this.#parts = parts;
    parts.tail.onRewound(() => this.#rewound());
  }

  start(): void {
    this.#loop = new Loop(this.#parts, 'the webhooks of the fleet cannot be followed', () => this.#follow());
  }

  async close(): Promise<void> {
    const ended = this.#loop?.close();
    this.#stopWatch();
    await ended;
  }

  get isStale(): boolean {
    return this.#isStale;
  }

  all(): readonly WebhookRecord[] {
    return [...this.#known.values()]
      .map(({ record }) => record)
      .sort(({ webhook: one }, { webhook: other }) => (one.created_at < other.created_at ? -1 : 1));
  }

  get(id: string): WebhookRecord | undefined {
    return this.#known.get(id)?.record;
  }

  async create(record: WebhookRecord): Promise<void> {
    const { id } = record.webhook;
    const revision = await (await this.#bucket()).create(id, sealRecord(this.#parts.envelope, record));
    this.#take(id, { record, revision });
  }

  async remove(id: string): Promise<void> {
    await (await this.#bucket()).delete(id);
    this.#removed.add(id);
    if (this.#known.delete(id)) this.#parts.onChange(id);
  }

  /** Changes a record, however often other hubs do so meanwhile. Returns undefined if it is gone. */
  async write(id: string, change: (record: WebhookRecord) => WebhookRecord): Promise<WebhookRecord | undefined> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const known = this.#known.get(id);
      if (known === undefined) return undefined;
      const record = change(known.record);
      if (record === known.record) return record;
      const bucket = await this.#bucket();
      const updated = bucket.update(id, sealRecord(this.#parts.envelope, record), known.revision);
      if (await unlessTaken(updated.then((revision) => this.#take(id, { record, revision })))) return record;
      await this.#readAgain(id);
    }
    throw fleetProblem('webhook_busy');
  }

  #bucket(): Promise<KV> {
    return bucketOf(this.#parts.connection, 'webhooks');
  }

  /** Keeps the newer of two records. Tells the worker about everything but progress. */
  #take(id: string, next: Known): void {
    const before = this.#known.get(id);
    if (before !== undefined && before.revision > next.revision) return;
    this.#known.set(id, next);
    const { record } = next;
    const isNews =
      before === undefined ||
      before.record.n !== record.n ||
      JSON.stringify(before.record.webhook) !== JSON.stringify(record.webhook);
    if (isNews) this.#parts.onChange(id);
  }

  async #readAgain(id: string): Promise<void> {
    const found = await (await this.#bucket()).get(id);
    if (found?.operation === 'PUT') this.#takeEntry(found);
    else await this.#loop?.pause();
  }

  #takeEntry(entry: KvEntry): void {
    const { key, operation, revision, value } = entry;
    if (operation !== 'PUT') {
      this.#removed.add(key);
      if (this.#known.delete(key)) this.#parts.onChange(key);
      return;
    }
    const isNew = !this.#known.has(key);
    try {
      this.#take(key, { record: openRecord(this.#parts.envelope, key, value), revision });
      // Once, because hubs that disagree about the newest key would write it again and again.
      if (isNew && isSealedBefore(this.#parts.envelope, value)) {
        void this.write(key, (record) => ({ ...record })).catch(() => {});
      }
    } catch (error) {
      this.#parts.log.warn('the record of a webhook cannot be opened', { webhook: key, error });
    }
  }

  #rewound(): void {
    this.#isStale = true;
    this.#stopWatch();
    for (const id of this.#known.keys()) this.#parts.onChange(id);
  }

  async #follow(): Promise<void> {
    const bucket = await this.#bucket();
    if (this.#isStale) await this.#renew(bucket);
    const watch = await bucket.watch();
    this.#loop?.succeeded();
    this.#stopWatch = () => watch.stop();
    // It may have become stale while the watch began.
    if (this.#isStale || this.#loop?.isClosed) watch.stop();
    for await (const entry of watch) {
      if (this.#isStale || this.#loop?.isClosed) break;
      this.#takeEntry(entry);
    }
  }

  /** Compares what this hub knows with the bucket, which may be older, newer or empty. */
  async #renew(bucket: KV): Promise<void> {
    for (const [id, { record }] of this.#known) {
      const found = await bucket.get(id);
      if (found?.operation === 'PUT') {
        const stored = openRecord(this.#parts.envelope, id, found.value);
        const newest = stored.n >= record.n ? stored : record;
        this.#known.set(id, { record: newest, revision: found.revision });
      } else {
        const revision = await bucket.create(id, sealRecord(this.#parts.envelope, record));
        this.#known.set(id, { record, revision });
      }
    }
    for (const id of this.#removed) if ((await bucket.get(id))?.operation === 'PUT') await bucket.delete(id);
    this.#isStale = false;
    for (const id of this.#known.keys()) this.#parts.onChange(id);
  }
}
