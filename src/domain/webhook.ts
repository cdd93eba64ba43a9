import type { EventType } from './event.ts';

/** A registered webhook as the contract shows it; the secret is write-only. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly created_at: string;
}

/** A webhook as it is kept. */
export interface StoredWebhook extends Webhook {
  readonly secret: string | null;
  /** `"include": ["details"]` was asked for (section H). */
  readonly includeDetails: boolean;
  /** Row id up to which it is done: delivered, dropped, not subscribed or gone (F4). */
  readonly rowId: number;
}

/** What became of one event at one webhook; never the body. */
export interface DeliveryRecord {
  /** The `X-Webhook-Delivery` id; the same for the same event and webhook for ever (F2). */
  readonly id: string;
  /** When it ended, ISO 8601 UTC. */
  readonly at: string;
  readonly event: EventType | 'webhook.test' | 'gone';
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
