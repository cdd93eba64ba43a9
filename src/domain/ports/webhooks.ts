import type { IncludeSet } from '../include.ts';
import type { ClientOffset, Offset } from '../offset.ts';
import type { DeliveryRecord, StoredWebhook, WebhookHealth, WebhookStatus, WebhookTestResult } from '../webhook.ts';

export interface NewWebhook {
  readonly url: string;
  readonly events: StoredWebhook['events'];
  readonly secret: string | null;
  readonly include: IncludeSet;
  /** The limited key that registers it; absent: the owner's. */
  readonly keyId?: string;
}

/** How far a webhook has come, and what became of the deliveries on the way. */
export interface WebhookStep {
  readonly id: string;
  readonly offset: Offset;
  readonly records: readonly DeliveryRecord[];
}

export interface WebhookStore {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /** Stores the webhook with the offset it starts after in one transaction; throws `conflict` past `limit` webhooks. */
  add(webhook: NewWebhook, start: Offset): StoredWebhook;
  /** False when there was none. */
  remove(id: string): boolean;
  /** Sets the offset up to which the webhook is done, and keeps the record if there is one (the last 100 stay). */
  advance(id: string, offset: Offset, record?: DeliveryRecord): void;
  /** The same for several webhooks and records, oldest first, in one transaction. */
  advanceMany(steps: readonly WebhookStep[]): void;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[];
  /** The newest delivery, undefined before the first. */
  lastDelivery(id: string): DeliveryRecord | undefined;
  health(id: string): WebhookHealth;
}

/** The registered webhooks, each with its running worker (decision F3). */
export interface WebhookRegistry {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /**
   * Registers it from the event published next; throws `conflict` when there are too many (decisions F1, F4), and 404
   * `changes_disabled` when it asks for changes and the configuration has them off.
   */
  add(webhook: NewWebhook): StoredWebhook;
  /** Resolves once nothing can be sent to it any more (decision F5); false when there was none. */
  remove(id: string): Promise<boolean>;
  /** This one and all below throw `not_found` for an unknown id. */
  status(id: string): WebhookStatus;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[];
  /** undefined before the first. */
  lastDelivery(id: string): DeliveryRecord | undefined;
  /** Sends one `webhook.test` event, once, without waiting for the events before it. */
  test(id: string): Promise<WebhookTestResult>;
  /**
   * Goes back to `after`, durably; throws `invalid` when that is ahead of where the webhook is, and 410
   * `offset_expired` as the feed does.
   */
  replay(id: string, after: ClientOffset): StoredWebhook;
}
