import type { KV } from '@nats-io/kv';
import { NO_INCLUDES } from '../../../domain/include.ts';
import type { Log } from '../../../domain/ports/host.ts';
import type { HeldDelivery, StoredWebhook } from '../../../domain/webhook.ts';
import { compareAndSet } from '../../protocol/compare-and-set.ts';
import type { LeaseRecord } from '../../protocol/lease.ts';
import type { HubSeal } from './hub-seal.ts';

/** The key of the lease, beside one key for the settings of each webhook. */
export const LEASE_KEY = 'lease';
const SETTINGS_KEY = /^[0-9a-f-]{36}$/;

/** The settings of a webhook, without what changes with each delivery. */
export type WebhookRecord = Omit<StoredWebhook, 'offset' | 'held'>;

/** How far a webhook is. */
export interface WebhookProgress {
  /** Revision of its settings in the bucket. */
  readonly revision: number;
  /** Everything up to this client offset is done. */
  readonly after: string;
  readonly held: HeldDelivery | null;
}

/** The state of the lease: exactly the webhooks named here exist. */
export interface WebhooksState {
  /** The copy of the stream whose hub keeps the deliveries and dropped events. */
  readonly history: string;
  readonly webhooks: Readonly<Record<string, WebhookProgress>>;
}

export interface FleetWebhooksParts {
  readonly bucket: () => Promise<KV>;
  /** The keys that the bucket has, or had. */
  readonly keys: () => Promise<readonly string[]>;
  readonly seal: HubSeal;
  readonly log: Log;
}

/** The webhooks of the fleet as this hub last saw them, and their settings in the bucket. */
export class FleetWebhooks {
  readonly #parts: FleetWebhooksParts;
  readonly #known = new Map<string, { webhook: WebhookRecord; revision: number }>();
  #state: WebhooksState = { history: '', webhooks: {} };
  /** Ids whose settings are not in the bucket yet. */
  readonly #unsaved = new Set<string>();

  constructor(parts: FleetWebhooksParts) {
    this.#parts = parts;
  }

  /** In the order of registration. Only the hub that delivers knows the offsets. */
  list(): readonly StoredWebhook[] {
    const key = ({ created_at, id }: StoredWebhook): string => `${created_at} ${id}`;
    return [...this.#known.keys()]
      .flatMap((id) => this.get(id) ?? [])
      .sort((one, other) => (key(one) < key(other) ? -1 : 1));
  }

  get(id: string): StoredWebhook | undefined {
    const known = this.#known.get(id);
    const held = this.#state.webhooks[id]?.held ?? null;
    return known && { ...known.webhook, held, offset: { rowId: 0, change: 0 } };
  }

  revisionOf(id: string): number {
    return this.#known.get(id)?.revision ?? 0;
  }

  /** Reads the settings that changed since the last call. */
  async follow(state: WebhooksState): Promise<void> {
    const bucket = await this.#parts.bucket();
    const changed = Object.entries(state.webhooks).filter(([id, { revision }]) => this.revisionOf(id) !== revision);
    await Promise.all(
      changed.map(async ([id]) => {
        const found = await this.#read(bucket, id);
        if (found !== undefined) this.#known.set(id, found);
        // The broker lost it, and this hub may deliver next.
        else if (!this.#known.has(id)) this.#parts.log.error('the settings of a webhook are lost', { webhook: id });
      }),
    );
    this.note(state);
    for (const id of this.#known.keys()) if (state.webhooks[id] === undefined) this.#known.delete(id);
  }

  /** The delivering hub's own state. */
  note(state: WebhooksState): void {
    this.#state = state;
  }

  /** Sets the settings of a webhook; `save` writes them. */
  set({ offset: _offset, held: _held, ...webhook }: StoredWebhook): void {
    this.#known.set(webhook.id, { webhook, revision: this.revisionOf(webhook.id) });
    this.#unsaved.add(webhook.id);
  }

  /** Forgets a webhook here. */
  forget(id: string): void {
    this.#known.delete(id);
    this.#unsaved.delete(id);
  }

  /** Has `save` write all settings again. */
  saveAll(): void {
    for (const id of this.#known.keys()) this.#unsaved.add(id);
  }

  /** Writes the settings that the bucket does not have yet. Throws if a later holder of the lease wrote them. */
  async save(fence: number): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const { bucket, seal } = this.#parts;
    const opened = await bucket();
    await Promise.all(
      [...this.#unsaved].map(async (id) => {
        const known = this.#known.get(id);
        if (known === undefined) return;
        const value = seal.seal(['webhook', id], { fence, webhook: { ...known.webhook, include: [] } });
        let revision = await compareAndSet(opened, id, value, known.revision);
        if (revision === undefined) {
          const found = await this.#read(opened, id);
          if (found !== undefined && found.fence > fence) throw new Error('another hub wrote the webhook');
          revision = await compareAndSet(opened, id, value, (await opened.get(id))?.revision ?? 0);
        }
        if (revision === undefined) throw new Error('another hub writes the webhook');
        known.revision = revision;
        if (this.#known.get(id) === known) this.#unsaved.delete(id);
      }),
    );
  }

  /** Deletes the settings of webhooks that no longer exist. */
  async clean(): Promise<void> {
    for (const id of await this.#parts.keys()) {
      if (SETTINGS_KEY.test(id) && !this.#known.has(id)) await this.delete(id);
    }
  }

  /** Deletes the settings of a webhook that no longer exists, or leaves that to the next hub. */
  async delete(id: string): Promise<void> {
    try {
      const bucket = await this.#parts.bucket();
      if ((await bucket.get(id))?.operation === 'PUT') await bucket.delete(id);
    } catch (error) {
      this.#parts.log.debug('the settings of a removed webhook were not deleted', { webhook: id, error });
    }
  }

  /** The state made of the settings alone, for a bucket without a lease. */
  async found(): Promise<WebhooksState> {
    const bucket = await this.#parts.bucket();
    const webhooks: Record<string, WebhookProgress> = {};
    for (const id of await this.#parts.keys()) {
      const found = SETTINGS_KEY.test(id) ? await this.#read(bucket, id) : undefined;
      if (found === undefined) continue;
      this.#known.set(id, found);
      webhooks[id] = { revision: found.revision, after: found.after, held: null };
    }
    return { history: '', webhooks };
  }

  async #read(bucket: KV, id: string) {
    const entry = await bucket.get(id);
    if (entry?.operation !== 'PUT') return undefined;
    try {
      const json = this.#parts.seal.open(['webhook', id], entry.value);
      if (!isSettings(id, json)) throw new Error('it is not a webhook');
      const { fence = 0, after = '', webhook } = json;
      return { webhook: { ...webhook, include: NO_INCLUDES }, revision: entry.revision, fence, after };
    } catch (error) {
      this.#parts.log.error('a webhook in the bucket cannot be read and is not delivered', { webhook: id, error });
      return undefined;
    }
  }
}

interface Settings {
  readonly fence?: number;
  /** Written by earlier versions. */
  readonly after?: string;
  readonly webhook: WebhookRecord;
}

/** Any client with write access to the bucket may have written anything. */
function isSettings(id: string, json: unknown): json is Settings {
  const { webhook } = (json ?? {}) as Partial<Settings>;
  return (
    webhook?.id === id &&
    URL.canParse(webhook.url) &&
    Array.isArray(webhook.events) &&
    typeof webhook.created_at === 'string' &&
    typeof webhook.headers === 'object' &&
    webhook.headers !== null
  );
}

export function leaseFromJson(json: unknown): LeaseRecord<WebhooksState> {
  const record = json as Partial<LeaseRecord<WebhooksState>> | null;
  const webhooks = record?.state?.webhooks;
  const isFine =
    typeof record?.holder === 'string' &&
    [record.fence, record.version].every(Number.isSafeInteger) &&
    typeof record.state?.history === 'string' &&
    typeof webhooks === 'object' &&
    webhooks !== null &&
    Object.values(webhooks).every((one) => Number.isSafeInteger(one?.revision) && typeof one.after === 'string');
  if (!isFine) throw new Error('it is not the lease of webhooks');
  return record as LeaseRecord<WebhooksState>;
}
