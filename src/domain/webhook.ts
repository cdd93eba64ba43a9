import { CHANGE_EVENT_TYPES, type EventType } from './event.ts';
import type { IncludeSet } from './include.ts';
import type { Offset } from './offset.ts';

/** What a webhook may subscribe to. */
export type WebhookEventType = EventType | (typeof CHANGE_EVENT_TYPES)[number];

/** A registered webhook as the contract shows it; the secret is write-only. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly created_at: string;
}

/** A webhook as it is kept. */
export interface StoredWebhook extends Webhook {
  readonly secret: string | null;
  readonly include: IncludeSet;
  /** The limited key that it belongs to; null: the owner's. */
  readonly keyId: string | null;
  /** Everything up to here is done: delivered, dropped, not subscribed or gone (decision F4). */
  readonly offset: Offset;
}

/** True for a webhook that asks for changes of existing rows (decision I2). */
export function wantsChanges({ events }: Pick<Webhook, 'events'>): boolean {
  return events.some((type) => (CHANGE_EVENT_TYPES as readonly string[]).includes(type));
}

/** What became of one event at one webhook; never the body. */
export interface DeliveryRecord {
  /** The `X-Webhook-Delivery` id; the same event has the same id at a webhook forever (decision F2). */
  readonly id: string;
  /** When it ended, ISO 8601 UTC. */
  readonly at: string;
  readonly event: WebhookEventType | 'webhook.test' | 'gone';
  readonly row_id: number;
  readonly outcome: 'delivered' | 'dropped' | 'gone';
  readonly attempts: number;
  /** Status of the last answer, null when there was none. */
  readonly status: number | null;
  /** What went wrong last, null when it was delivered. */
  readonly error: string | null;
  /** Milliseconds from the first attempt's start to the end. */
  readonly duration_ms: number;
}

/** How a webhook is doing. */
export interface WebhookHealth {
  readonly state: 'healthy' | 'failing';
  readonly consecutive_failures: number;
  readonly last_success_at: string | null;
}

/** How a webhook is doing and how far it is. */
export interface WebhookStatus extends WebhookHealth {
  /** Row id up to which it is done; a little ahead of the stored one while rows are skipped (decision F4). */
  readonly row_id: number;
  /** Row ids, and changes if it asks for them, that are published and that it is not done with yet. */
  readonly behind: number;
}

/** What a receiver said to a `webhook.test` event (decision H). */
export interface WebhookTestResult {
  /** The `X-Webhook-Delivery` id it was sent under. */
  readonly id: string;
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
  /** The beginning of the answer's body, null when there was none. */
  readonly answer: string | null;
}
