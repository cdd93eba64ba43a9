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

/** A webhook to register. Absent settings have the values of `DEFAULT_SETTINGS`. */
export type NewWebhook = Pick<WebhookSettings, 'url' | 'events'> &
  Partial<Omit<WebhookSettings, 'url' | 'events'>> & {
    /** Id of the limited key that registers the webhook; absent if the owner registers it. */
    readonly keyId?: string;
    /** Protocol of the program that registers the webhook; absent if the webhook is registered with Postern's API. */
    readonly wire?: WebhookWire | undefined;
  };

/**
 * Changes to a webhook's settings. Absent settings keep their values. A header whose value is null is removed;
 * `headers: null` removes all headers.
 */
export interface WebhookChanges extends Partial<Omit<WebhookSettings, 'headers'>> {
  readonly headers?: Readonly<Record<string, string | null>> | null;
  /** Only for a webhook that was registered in another program's protocol. */
  readonly wire?: WebhookWire | undefined;
}

/** A dropped event's position in the log. */
export interface DroppedEvent {
  readonly rowId: number;
  /** Number of the change in the change log; 0 if the event is a new row. */
  readonly change: number;
}

/** A finished delivery, ready to be stored. */
export interface EndedDelivery extends DeliveryRecord {
  /** For a dropped event: its position in the log, from which it can be read again. */
  readonly position?: DroppedEvent | undefined;
}

/**
 * Selects the events to deliver next: those after an offset, only new ones (`latest`), or the dropped ones (decisions
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
  /** Stores the webhook's settings, secrets and position. */
  update(webhook: StoredWebhook): void;
  /** Removes a webhook. Returns false if there was none with this id. */
  remove(id: string): boolean;
  /**
   * Moves the webhook to another offset on request. Forgets the held delivery, and stops redelivering dropped
   * events. Events that the move skips do not count as dropped.
   */
  seek(id: string, offset: Offset): void;
  /**
   * Stores the held delivery, or null when none is held any more. Pauses the webhook if the delivery says that
   * its receiver wants no more.
   */
  setHeld(id: string, held: HeldDelivery | null): void;
  /** Returns how many dropped events are stored for the webhook; at most 10,000 are stored (decision P6). */
  droppedCount(id: string): number;
  /** Marks all events dropped so far for redelivery. */
  replayDropped(id: string): void;
  /** Returns the first event in log order that is marked for redelivery. */
  nextReplayed(id: string): DroppedEvent | undefined;
  /**
   * Ends the redelivery of a dropped event. With `isDropped`, the redelivery failed, and the event stays among the
   * dropped events. Otherwise the event is removed from them.
   */
  endReplayed(id: string, event: DroppedEvent, isDropped: boolean): void;
  /**
   * Sets the offsets up to which webhooks are done, and stores their records, oldest first, in one transaction. Keeps
   * the newest 100 records of each webhook.
   */
  advance(steps: readonly WebhookStep[]): void;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[];
  /** Returns the newest delivery; undefined before the first. */
  lastDelivery(id: string): DeliveryRecord | undefined;
  health(id: string): WebhookHealth;
}

/**
 * The registered webhooks, each with its running worker (decision F3). A method may return a promise, because they may
 * be kept elsewhere.
 */
export interface WebhookRegistry {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /**
   * Registers a webhook, which receives events published from now on. Throws `too_many_webhooks` (decisions F1, F4),
   * and `changes_disabled` if the webhook asks for changes but the configuration disables changes.
   */
  add(webhook: NewWebhook): StoredWebhook | Promise<StoredWebhook>;
  /** Changes settings, effective at the next attempt. Throws `webhook_not_found`, and what `add` throws. */
  change(id: string, changes: WebhookChanges): StoredWebhook | Promise<StoredWebhook>;
  /**
   * Removes a webhook. Resolves once nothing can be sent to it any more (decision F5): to true, or to false if there
   * was none with this id.
   */
  remove(id: string): Promise<boolean>;
  /** Returns the webhook's state and progress. Like all methods below, throws `webhook_not_found` for an unknown id. */
  status(id: string): WebhookStatus | Promise<WebhookStatus>;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[] | Promise<readonly DeliveryRecord[]>;
  /**
   * Returns the held delivery, if there is one, then the finished deliveries. Each delivery lists its attempts
   * that are still in memory (decision Z2).
   */
  detailedDeliveries(id: string): readonly DetailedDelivery[] | Promise<readonly DetailedDelivery[]>;
  /** Returns the newest delivery; undefined before the first. */
  lastDelivery(id: string): DeliveryRecord | undefined | Promise<DeliveryRecord | undefined>;
  /** Sends a `webhook.test` event in a single attempt, without waiting for the webhook's pending events. */
  test(id: string): Promise<WebhookTestResult>;
  /**
   * Sends the event of a finished delivery again in a single attempt, without waiting for the webhook's pending events.
   * Throws `delivery_not_found`.
   */
  resend(id: string, delivery: string): Promise<WebhookTestResult>;
  /** Attempts a held delivery now. Does nothing if there is none. */
  retry(id: string): StoredWebhook | Promise<StoredWebhook>;
  /**
   * Makes the webhook continue with the events that `from` selects, even after a restart. Throws `invalid_request` if
   * `from` is after the webhook's current position, and `offset_expired` if the changes after `from` are no longer
   * kept.
   */
  replay(id: string, from: ReplayFrom): StoredWebhook | Promise<StoredWebhook>;
}
