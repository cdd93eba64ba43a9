import type { ClientOffset, Offset } from '../offset.ts';
import type {
  DeliveryRecord,
  DetailedDelivery,
  HeldDelivery,
  StoredWebhook,
  WebhookHealth,
  WebhookSettings,
  WebhookStatus,
  WebhookTestResult,
  WebhookWire,
} from '../webhook.ts';

/** Absent settings have the values of `DEFAULT_SETTINGS`. */
export type NewWebhook = Pick<WebhookSettings, 'url' | 'events'> &
  Partial<Omit<WebhookSettings, 'url' | 'events'>> & {
    /** The limited key that registers it; absent for the owner's. */
    readonly keyId?: string;
    /** The protocol that the webhook was registered with, if not the API. */
    readonly wire?: WebhookWire | undefined;
  };

/** Absent settings stay as they are. A header is set to its value, or removed if the value is null. */
export interface WebhookChanges extends Partial<Omit<WebhookSettings, 'headers'>> {
  readonly headers?: Readonly<Record<string, string | null>> | null;
}

/** A dropped event's position in the log. */
export interface DroppedEvent {
  readonly rowId: number;
  /** Number of the change; 0 for a new row. */
  readonly change: number;
}

/** A finished delivery, ready to be stored. */
export interface EndedDelivery extends DeliveryRecord {
  /** For a dropped event: its position in the log, from which it can be read again. */
  readonly position?: DroppedEvent | undefined;
}

/**
 * The point at which delivery continues: after a position, at the newest event, or with the dropped events (decisions
 * P1, P6).
 */
export type ReplayFrom = ClientOffset | 'latest' | 'dropped';

/** The new offset of a webhook, and the finished deliveries that led to it. */
export interface WebhookStep {
  readonly id: string;
  readonly offset: Offset;
  readonly records: readonly EndedDelivery[];
}

export interface WebhookStore {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /**
   * Stores the webhook with the offset to start after, in one transaction. Throws `too_many_webhooks` above the
   * limit.
   */
  add(webhook: NewWebhook, start: Offset): StoredWebhook;
  /**
   * Replaces the local record of a fleet's webhook. Without `keepsHistory` its deliveries and dropped events are
   * deleted, because another hub has delivered since.
   */
  adopt(webhook: StoredWebhook, keepsHistory: boolean): void;
  /** Stores the webhook's settings, secrets and position. */
  update(webhook: StoredWebhook): void;
  /** Returns false if it did not exist. */
  remove(id: string): boolean;
  /**
   * Sets the offset up to which the webhook is done, and stores the record if there is one. The last 100 records are
   * kept.
   */
  advance(id: string, offset: Offset, record?: EndedDelivery): void;
  /** Moves the offset at the owner's command. Ends holding and replaying; skipped events do not count as dropped. */
  seek(id: string, offset: Offset): void;
  /** Stores the held delivery, or null when none is held any more. */
  hold(id: string, held: HeldDelivery | null): void;
  /** Returns the number of dropped events kept, at most 10,000 (decision P6). */
  droppedCount(id: string): number;
  /** Marks all events dropped so far for redelivery. */
  replayDropped(id: string): void;
  /** Returns the first event in log order that is marked for redelivery. */
  nextReplayed(id: string): DroppedEvent | undefined;
  /** Ends the redelivery of an event: it was delivered, is gone, or with `isDropped` was dropped again. */
  endReplayed(id: string, event: DroppedEvent, isDropped: boolean): void;
  /** Like `advance`, for several webhooks and records, oldest first, in one transaction. */
  advanceMany(steps: readonly WebhookStep[]): void;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[];
  /** Returns the newest delivery; undefined before the first. */
  lastDelivery(id: string): DeliveryRecord | undefined;
  health(id: string): WebhookHealth;
}

/**
 * The registered webhooks, each with its running worker (decision F3). Methods that return a promise may be answered by
 * another process.
 */
export interface WebhookRegistry {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /**
   * Registers a webhook, which receives events published from now on. Throws `too_many_webhooks` (decisions F1, F4),
   * and `changes_disabled` if it asks for changes and the configuration disables them.
   */
  add(webhook: NewWebhook): StoredWebhook | Promise<StoredWebhook>;
  /** Changes settings, effective at the next attempt. Throws `webhook_not_found`, and what `add` throws. */
  change(id: string, changes: WebhookChanges): StoredWebhook | Promise<StoredWebhook>;
  /**
   * Removes a webhook. Resolves once nothing can be sent to it any more (decision F5), to false if it did not exist.
   */
  remove(id: string): Promise<boolean>;
  /** Like all methods below, throws `webhook_not_found` for an unknown id. */
  status(id: string): WebhookStatus | Promise<WebhookStatus>;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[] | Promise<readonly DeliveryRecord[]>;
  /** Returns the held delivery if there is one, then the finished deliveries, all with their attempts (decision Z2). */
  detailedDeliveries(id: string): readonly DetailedDelivery[] | Promise<readonly DetailedDelivery[]>;
  /** Returns the newest delivery; undefined before the first. */
  lastDelivery(id: string): DeliveryRecord | undefined | Promise<DeliveryRecord | undefined>;
  /** Sends one `webhook.test` event, once, ahead of waiting events. */
  test(id: string): Promise<WebhookTestResult>;
  /** Sends the event of a finished delivery again, once, ahead of waiting events. Throws `delivery_not_found`. */
  resend(id: string, delivery: string): Promise<WebhookTestResult>;
  /** Attempts a held delivery now. Does nothing if none is held. */
  retry(id: string): StoredWebhook | Promise<StoredWebhook>;
  /**
   * Continues delivery from `from`, durably. Throws `invalid_request` for a position ahead of the webhook's, and
   * `offset_expired` as the feed does.
   */
  replay(id: string, from: ReplayFrom): StoredWebhook | Promise<StoredWebhook>;
}
