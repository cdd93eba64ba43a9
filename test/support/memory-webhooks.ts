import { rowOffset } from '../../src/core/model/offset.ts';
import type { NewWebhook, WebhookRegistry } from '../../src/core/model/ports/webhooks-ports.ts';
import { problem } from '../../src/core/model/problems.ts';
import { DEFAULT_SETTINGS, type StoredWebhook } from '../../src/core/model/webhook.ts';

/** Webhooks to which nothing is delivered. */
export class MemoryWebhooks implements WebhookRegistry {
  readonly webhooks = new Map<string, StoredWebhook>();
  limit = 64;

  list(): readonly StoredWebhook[] {
    return [...this.webhooks.values()];
  }

  get(id: string): StoredWebhook | undefined {
    return this.webhooks.get(id);
  }

  add(webhook: NewWebhook): StoredWebhook {
    if (this.webhooks.size >= this.limit) throw problem('too_many_webhooks', { max: this.limit });
    const stored = {
      ...DEFAULT_SETTINGS,
      ...webhook,
      previousSecret: null,
      held: null,
      id: `w${this.webhooks.size}`,
      created_at: '2026-01-02T03:04:05Z',
      keyId: webhook.keyId ?? null,
      offset: rowOffset(0),
    };
    this.webhooks.set(stored.id, stored);
    return stored;
  }

  change(): never {
    throw new Error('not used');
  }

  readonly retry = (): never => this.change();
  async remove(id: string): Promise<boolean> {
    return this.webhooks.delete(id);
  }

  status(id: string): never {
    throw this.webhooks.has(id) ? new Error('not used') : problem('webhook_not_found');
  }

  lastDelivery(): undefined {}

  readonly deliveries = (): never => this.change();
  readonly detailedDeliveries = (): never => this.change();
  readonly resend = (): never => this.change();

  readonly test = (): never => this.deliveries();
  readonly replay = (): never => this.deliveries();
}
