import { CHANGE_EVENT_TYPES, type EventType } from './event.ts';
import { type Include, type IncludeSet, NO_INCLUDES } from './include.ts';
import type { Offset } from './offset.ts';

/** How many there can be (decision F1). */
export const MAX_WEBHOOKS = 64;

/** What a webhook may subscribe to. */
export type WebhookEventType = EventType | (typeof CHANGE_EVENT_TYPES)[number];

/** A registered webhook as the contract shows it; the secret is write-only. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly created_at: string;
}

/** Which events a webhook gets beside their types; what does not match counts as not subscribed (decision P4). */
export interface WebhookFilter {
  /** Any variant of their ids. */
  readonly conversation_ids?: readonly string[] | undefined;
  readonly senders?: readonly string[] | undefined;
  readonly is_from_me?: boolean | undefined;
  /** Seconds; older rows are skipped (decision U4). */
  readonly max_age_s?: number | undefined;
  /** False: what macOS filed as junk is skipped (decision V5). */
  readonly junk?: boolean | undefined;
}

/** What becomes of a delivery after the third failure: dropped, or attempted until it succeeds (decision P3). */
export const FAILURE_MODES = ['drop', 'hold'] as const;
export type FailureMode = (typeof FAILURE_MODES)[number];

/** What may be changed of a webhook; its position and history stay (decision P1). */
export interface WebhookSettings {
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly secret: string | null;
  readonly include: IncludeSet;
  readonly name: string | null;
  /** False: it keeps its position, and nothing is sent. */
  readonly enabled: boolean;
  /** Headers of the owner's own on each delivery, write-only (decision P2). */
  readonly headers: Readonly<Record<string, string>>;
  readonly on_failure: FailureMode;
  readonly filter: WebhookFilter | null;
}

/** What a webhook is without anything said: as the contract has it. */
export const DEFAULT_SETTINGS: Omit<WebhookSettings, 'url' | 'events'> = {
  secret: null,
  include: NO_INCLUDES,
  name: null,
  enabled: true,
  headers: {},
  on_failure: 'drop',
  filter: null,
};

/** A webhook as it is kept. */
export interface StoredWebhook extends Webhook, WebhookSettings {
  /** The secret before a rotation, which signs too until then (decision P5). */
  readonly previousSecret: { readonly secret: string; readonly untilMs: number } | null;
  /** The delivery that is being held; null when there is none. */
  readonly held: HeldDelivery | null;
  /** The limited key that it belongs to; null: the owner's. */
  readonly keyId: string | null;
  /** Everything up to here is done: delivered, dropped, not subscribed or gone (decision F4). */
  readonly offset: Offset;
}

/** The address with `***` in place of its password. Callers pass addresses that are registered, so that they parse. */
export function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password === '') return url;
  shown.password = '***';
  return shown.href;
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

/** A delivery that failed and is attempted again until it succeeds (decision P3). */
export interface HeldDelivery {
  /** The `X-Webhook-Delivery` id. */
  readonly id: string;
  readonly row_id: number;
  /** Attempts so far. */
  readonly attempts: number;
  /** When the third one had failed, ISO 8601 UTC. */
  readonly since: string;
  /** What went wrong last. */
  readonly error: string;
}

/** `paused`: switched off by its owner. `held`: a delivery is attempted until it succeeds. */
export const WEBHOOK_STATES = ['healthy', 'failing', 'held', 'paused'] as const;

/** How a webhook is doing. */
export interface WebhookHealth {
  readonly state: (typeof WEBHOOK_STATES)[number];
  readonly consecutive_failures: number;
  readonly last_success_at: string | null;
}

/** What is shown of the settings of a webhook: all but the secret and the values of its headers (decision P1). */
export interface ShownSettings extends Pick<WebhookSettings, 'name' | 'enabled' | 'on_failure' | 'filter'> {
  readonly include: readonly Include[];
  readonly has_secret: boolean;
  /** Until when the secret before signs too; null when there is none. */
  readonly previous_secret_until: string | null;
  readonly header_names: readonly string[];
}

/** How a webhook is doing and how far it is. */
export interface WebhookStatus extends WebhookHealth, ShownSettings {
  /** null unless a delivery is being held. */
  readonly held: HeldDelivery | null;
  /** How many dropped events can be delivered again (decision P6). */
  readonly dropped: number;
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
