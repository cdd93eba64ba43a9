import { CHANGE_EVENT_TYPES, type EventType } from './event.ts';
import { type Include, type IncludeSet, NO_INCLUDES } from './include.ts';
import type { Narrowing } from './narrowing.ts';
import type { Offset } from './offset.ts';

/** The maximum number of webhooks (decision F1). */
export const MAX_WEBHOOKS = 64;

/** The event types that a webhook may subscribe to. */
export type WebhookEventType = EventType | (typeof CHANGE_EVENT_TYPES)[number];

/** A registered webhook as the contract shows it; the secret is write-only. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly created_at: string;
}

/**
 * Conditions on the events that a webhook receives, in addition to their type. Events that do not meet the conditions
 * are skipped, as if the webhook had not subscribed to them (decision P4).
 */
export interface WebhookFilter extends Narrowing {
  /** Conversation ids in any variant. */
  readonly conversation_ids?: readonly string[] | undefined;
  readonly senders?: readonly string[] | undefined;
  readonly is_from_me?: boolean | undefined;
}

/** The fate of a delivery after its third failure: dropped, or held: retried until it succeeds (decision P3). */
export const FAILURE_MODES = ['drop', 'hold'] as const;
export type FailureMode = (typeof FAILURE_MODES)[number];

/** The changeable settings of a webhook. A change keeps the webhook's position and history (decision P1). */
export interface WebhookSettings {
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly secret: string | null;
  readonly include: IncludeSet;
  readonly name: string | null;
  /** If false, nothing is sent, and the position stays. */
  readonly enabled: boolean;
  /** Headers that the owner adds to each delivery; write-only (decision P2). */
  readonly headers: Readonly<Record<string, string>>;
  readonly on_failure: FailureMode;
  readonly filter: WebhookFilter | null;
}

/** The default settings of a webhook, as the contract states them. */
export const DEFAULT_SETTINGS: Omit<WebhookSettings, 'url' | 'events'> = {
  secret: null,
  include: NO_INCLUDES,
  name: null,
  enabled: true,
  headers: {},
  on_failure: 'drop',
  filter: null,
};

/**
 * The protocol of another program. The webhook was registered in this protocol, and receives its events in it.
 */
export interface WebhookWire {
  readonly protocol: string;
  /** The event types as registered, in the protocol's own names. */
  readonly events: readonly string[];
}

export interface StoredWebhook extends Webhook, WebhookSettings {
  /** Protocol of the program that registered the webhook; absent if it was registered with Postern's API. */
  readonly wire?: WebhookWire | undefined;
  /** The previous secret, which also signs until `untilMs` (decision P5). */
  readonly previousSecret: { readonly secret: string; readonly untilMs: number } | null;
  /** The held delivery; null if there is none. */
  readonly held: HeldDelivery | null;
  /** Id of the limited key that the webhook belongs to; null for the owner's. */
  readonly keyId: string | null;
  /** Offset up to which every event is done: delivered, dropped, not subscribed or gone (decision F4). */
  readonly offset: Offset;
}

/**
 * Returns the URL with `***` instead of its password. For a webhook of another program's protocol, also masks the query
 * and removes the fragment, because clients of that protocol put the API key into the query.
 */
export function withoutPassword({ url, wire }: Pick<StoredWebhook, 'url' | 'wire'>): string {
  const shown = new URL(url);
  if (wire !== undefined) {
    if (shown.search !== '') shown.search = '***';
    shown.hash = '';
    if (shown.password !== '') shown.password = '***';
    return shown.href;
  }
  if (shown.password === '') return url;
  shown.password = '***';
  return shown.href;
}

/** Reports whether a webhook asks for changes of existing rows. */
export function wantsChanges({ events }: Pick<Webhook, 'events'>): boolean {
  return events.some((type) => (CHANGE_EVENT_TYPES as readonly string[]).includes(type));
}

/** The outcome of delivering one event to one webhook. Never contains the event's body. */
export interface DeliveryRecord {
  /** The `X-Webhook-Delivery` id. Every attempt to deliver this event to this webhook has this id (decision F2). */
  readonly id: string;
  /** When the delivery ended, ISO 8601 UTC. */
  readonly at: string;
  readonly event: WebhookEventType | 'webhook.test' | 'gone';
  readonly row_id: number;
  readonly outcome: 'delivered' | 'dropped' | 'gone';
  readonly attempts: number;
  /** HTTP status of the answer to the last attempt; null if there was no answer. */
  readonly status: number | null;
  /** Why the last attempt failed, or which rows are gone; null if the event was delivered. */
  readonly error: string | null;
  /** Milliseconds from the start of the first attempt to the end of the last one. */
  readonly duration_ms: number;
}

/** One attempt of a delivery (decision Z2). */
export interface AttemptRecord {
  /** When the attempt began, ISO 8601 UTC. */
  readonly at: string;
  /** Status of the answer; null if there was none. */
  readonly status: number | null;
  /** Why the attempt failed; null if it succeeded. */
  readonly error: string | null;
  readonly duration_ms: number;
}

/**
 * The outcomes of deliveries. `held`: the delivery failed and is still being retried. Such a delivery is listed only if
 * the client asks for attempts.
 */
export const DELIVERY_OUTCOMES = ['delivered', 'dropped', 'gone', 'held'] as const;

/** A delivery with its attempts (decision Z2). Its outcome is `held` while the delivery is still being retried. */
export interface DetailedDelivery extends Omit<DeliveryRecord, 'outcome'> {
  readonly outcome: (typeof DELIVERY_OUTCOMES)[number];
  /**
   * The delivery's newest attempts, at most 10, oldest first. If there was more than one attempt, all are kept only in
   * memory: they are absent after a restart of the service, or after 500 later deliveries.
   */
  readonly tries?: readonly AttemptRecord[] | undefined;
  /** When this dropped event was delivered after all; absent if it was not. */
  readonly redelivered_at?: string | undefined;
  /** The row that the event was about; null if the row is gone, or if the caller may not read it. Absent for tests. */
  readonly message?: DeliveredRow | null | undefined;
  /** The first 2 KB of the receiver's last answer. Only for the owner, and only if the delivery failed. */
  readonly answer?: string | undefined;
}

/** The row that a delivery was about, as chat.db has it now. */
export interface DeliveredRow {
  readonly id: string;
  readonly conversation_id: string;
  /** The first 100 characters of the text; null for a reaction. */
  readonly text: string | null;
}

/** A failed delivery that is retried until it succeeds (decision P3). */
export interface HeldDelivery {
  /** The `X-Webhook-Delivery` id. */
  readonly id: string;
  readonly row_id: number;
  readonly attempts: number;
  /** When the third attempt failed, ISO 8601 UTC. */
  readonly since: string;
  /** Why the last attempt failed. */
  readonly error: string;
  /** The time until which the receiver asked to be left alone (decision AB10), ISO 8601 UTC. */
  readonly retry_after?: string | undefined;
  /** True if the receiver answered 410, which paused the webhook. */
  readonly gone?: true | undefined;
}

/** `paused`: switched off by its owner, or by its receiver. `held`: one delivery is being retried until it succeeds. */
export const WEBHOOK_STATES = ['healthy', 'failing', 'held', 'paused'] as const;

export interface WebhookHealth {
  readonly state: (typeof WEBHOOK_STATES)[number];
  readonly consecutive_failures: number;
  readonly last_success_at: string | null;
}

/** The visible settings of a webhook: all but the secret and the values of its headers (decision P1). */
export interface ShownSettings extends Pick<WebhookSettings, 'name' | 'enabled' | 'on_failure' | 'filter'> {
  readonly include: readonly Include[];
  readonly has_secret: boolean;
  /** Until when the previous secret still signs; null if there is none. */
  readonly previous_secret_until: string | null;
  readonly header_names: readonly string[];
}

/** The state and progress of a webhook. */
export interface WebhookStatus extends WebhookHealth, ShownSettings {
  /** The held delivery; null if there is none. */
  readonly held: HeldDelivery | null;
  /** When the held delivery is attempted next; absent during an attempt, and if there is none. */
  readonly next_attempt_at?: string | undefined;
  /** Number of dropped events that can be delivered again (decision P6). */
  readonly dropped: number;
  /**
   * Row id up to which everything is done; slightly ahead of the stored position while rows are skipped (decision F4).
   */
  readonly row_id: number;
  /**
   * Number of published row ids that are not finished yet, plus the unfinished changes if the webhook asks for changes.
   */
  readonly behind: number;
}

/** A receiver's answer to a `webhook.test` event (decision H). */
export interface WebhookTestResult {
  /** The `X-Webhook-Delivery` id of the test. */
  readonly id: string;
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
  /** The beginning of the answer's body; null if there was none. */
  readonly answer: string | null;
}

/** Sees what becomes of deliveries. */
export interface DeliveryWatcher {
  /** Called with the outcome of a delivery. */
  countDelivery(record: DeliveryRecord, webhookId: string): void;
  /** Called after each failed attempt of a held delivery. */
  countRetry(webhookId: string): void;
}
