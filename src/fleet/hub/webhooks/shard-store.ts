import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../domain/ports/host.ts';
import type { WebhookStore } from '../../../domain/ports/webhooks.ts';
import type { StoredWebhook } from '../../../domain/webhook.ts';
import { newStoredWebhook } from '../../../domain/webhook-settings.ts';
import { shardOf } from './shards.ts';

export interface ShardStoreParts {
  readonly shard: number;
  readonly store: WebhookStore;
  readonly clock: Clock;
  /** Whether the webhook is held by this shard; the store may have others, and those of the past. */
  readonly has: (id: string) => boolean;
  readonly ids: () => Iterable<string>;
  readonly onAdd: (webhook: StoredWebhook) => void;
  readonly onChange: (id: string) => void;
}

/** The webhooks of one shard in the store of a hub; tells what changes. */
export function shardStore({ shard, store, clock, has, ids, onAdd, onChange }: ShardStoreParts): WebhookStore {
  const get = (id: string): StoredWebhook | undefined => (has(id) ? store.get(id) : undefined);
  return {
    ...store,
    get,
    list: () => [...ids()].flatMap((id) => get(id) ?? []),
    add(webhook, start) {
      const stored = newStoredWebhook(idIn(shard), webhook, start, clock.now());
      store.adopt(stored, false);
      onAdd(stored);
      return stored;
    },
    update(webhook) {
      store.update(webhook);
      onChange(webhook.id);
    },
    advance(id, offset, record) {
      store.advance(id, offset, record);
      onChange(id);
    },
    advanceMany(steps) {
      store.advanceMany(steps);
      for (const { id } of steps) onChange(id);
    },
    seek(id, offset) {
      store.seek(id, offset);
      onChange(id);
    },
    hold(id, held) {
      store.hold(id, held);
      onChange(id);
    },
  };
}

function idIn(shard: number): string {
  for (;;) {
    const id = randomUUID();
    if (shardOf(id) === shard) return id;
  }
}
