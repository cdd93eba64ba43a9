import type { Subscription } from '@nats-io/nats-core';
import { rowOffset } from '../../../../core/model/offset.ts';
import type {
  NewWebhook,
  ReplayFrom,
  WebhookChanges,
  WebhookRegistry,
} from '../../../../core/model/ports/webhooks-ports.ts';
import { problem } from '../../../../core/model/problems.ts';
import { type WebhookSummary, webhookSummary } from '../../../../core/model/status.ts';
import type {
  DeliveryRecord,
  StoredWebhook,
  WebhookStatus,
  WebhookTestResult,
} from '../../../../core/model/webhook.ts';
import { HUB_NEWS } from '../../protocol/layout.ts';
import { withTimeLimit } from '../time-limit.ts';
import { ElectedDeliveries, type ElectedDeliveriesParts } from './elected-deliveries.ts';
import type { HubCallMethod } from './hub-calls.ts';
import { type FleetWebhook, storedWebhook } from './webhooks-state.ts';

const CLOSE_MS = 9500;
const CHANGING: ReadonlySet<HubCallMethod> = new Set(['add', 'change', 'remove', 'replay']);

/**
 * The webhooks of a fleet (decision N3). Every hub knows all of them. One elected hub delivers. The other hubs forward
 * to it the calls that only the elected hub can perform.
 */
export class HubWebhooks implements WebhookRegistry {
  readonly #parts: ElectedDeliveriesParts;
  readonly #elected: ElectedDeliveries;
  #news: Subscription | undefined;

  constructor(parts: ElectedDeliveriesParts) {
    this.#parts = parts;
    this.#elected = new ElectedDeliveries(parts);
  }

  start(): void {
    const { connection } = this.#parts;
    connection.onConnect(() => {
      this.#news ??= connection.nc.subscribe(HUB_NEWS, { callback: () => void this.#refresh() });
    });
    this.#elected.start();
  }

  /** Waits for running attempts and gives the lease up. Resolves after 9.5 s even if the broker does not answer. */
  async close(): Promise<void> {
    const { clock, log } = this.#parts;
    this.#news?.unsubscribe();
    try {
      await withTimeLimit(this.#elected.close(), clock, CLOSE_MS);
    } catch (error) {
      log.warn('the webhooks could not be released in time; another hub waits until the lease expires', { error });
    }
  }

  get isDelivering(): boolean {
    return this.#elected.isDelivering;
  }

  /** True if the webhook lease was sealed with another key, so that this hub cannot read it. */
  get isLeaseUnreadable(): boolean {
    return this.#elected.isLeaseUnreadable;
  }

  list(): readonly StoredWebhook[] {
    return this.#elected.list();
  }

  get(id: string): StoredWebhook | undefined {
    return this.list().find((webhook) => webhook.id === id);
  }

  async add(webhook: NewWebhook): Promise<StoredWebhook> {
    this.#parts.feed.wanted(webhook.filter ?? {});
    return existing(await this.#call('add', possible(webhook)));
  }

  async change(id: string, changes: WebhookChanges): Promise<StoredWebhook> {
    this.#parts.feed.wanted(changes.filter ?? {});
    return existing(await this.#call('change', id, possible(changes)));
  }

  remove(id: string): Promise<boolean> {
    return this.#call('remove', id);
  }

  status(id: string): Promise<WebhookStatus> {
    return this.#call('status', id);
  }

  deliveries(id: string): Promise<readonly DeliveryRecord[]> {
    return this.#call('deliveries', id);
  }

  /**
   * Returns the deliveries without their attempts. Hubs keep no attempts, because several hubs may have attempted one
   * delivery.
   */
  detailedDeliveries(id: string): Promise<readonly DeliveryRecord[]> {
    return this.deliveries(id);
  }

  lastDelivery(id: string): Promise<DeliveryRecord | undefined> {
    return this.#call('lastDelivery', id);
  }

  test(id: string): Promise<WebhookTestResult> {
    return this.#call('test', id);
  }

  resend(): never {
    throw problem('not_at_a_hub');
  }

  retry(): never {
    throw problem('not_at_a_hub');
  }

  async replay(id: string, from: ReplayFrom): Promise<StoredWebhook> {
    return existing(await this.#call('replay', id, from));
  }

  /**
   * Returns the webhooks for this hub's status. While no hub delivers, returns the last known state of the webhooks.
   */
  summaries(): Promise<readonly WebhookSummary[]> {
    return Promise.all(
      this.list().map(async (webhook) => {
        const { id, enabled, held, name } = webhook;
        try {
          return webhookSummary(webhook, ...(await Promise.all([this.status(id), this.lastDelivery(id)])));
        } catch {
          const state = enabled ? (held === null ? 'failing' : 'held') : 'paused';
          const health = { state, consecutive_failures: 0, last_success_at: null } as const;
          const origin = new URL(webhook.url).origin;
          const error = held?.error ?? 'No hub delivers at the moment.';
          return { id, ...(name !== null && { name }), origin, ...health, last_outcome: null, last_error: error };
        }
      }),
    );
  }

  async #call<Result>(method: HubCallMethod, ...args: readonly unknown[]): Promise<Result> {
    const here = this.#elected.perform(method, args);
    if (here !== undefined) return here as Promise<Result>;
    if (!this.#parts.connection.isConnected) throw problem('broker_away');
    const result = await this.#elected.calls.ask(method, args);
    if (CHANGING.has(method)) await this.#refresh();
    return result as Result;
  }

  async #refresh(): Promise<void> {
    await this.#elected.refresh().catch((error: unknown) => {
      this.#parts.log.debug('the webhooks of the fleet cannot be read', { error });
    });
  }
}

/** Returns the webhook as the delivering hub has stored it. Throws `webhook_not_found` if it was removed meanwhile. */
function existing(webhook: FleetWebhook | undefined): StoredWebhook {
  if (webhook === undefined) throw problem('webhook_not_found');
  return storedWebhook(webhook, rowOffset(0));
}

/**
 * Returns the settings without `include`, which is a set and could not be sent as JSON. Throws 501 if `include` is not
 * empty, because webhooks of a hub have no includes (decision N2).
 */
function possible<Given extends Partial<Pick<NewWebhook, 'include'>>>(given: Given): Omit<Given, 'include'> {
  const { include, ...others } = given;
  if ((include?.size ?? 0) > 0) throw problem('not_at_a_hub');
  return others;
}
