import type { ClientOffset, Offset } from '../offset.ts';
import type {
  DeliveryRecord,
  HeldDelivery,
  StoredWebhook,
  WebhookHealth,
  WebhookSettings,
  WebhookStatus,
  WebhookTestResult,
} from '../webhook.ts';

/** What is not given is as `DEFAULT_SETTINGS` says. */
export type NewWebhook = Pick<WebhookSettings, 'url' | 'events'> &
  Partial<Omit<WebhookSettings, 'url' | 'events'>> & {
    /** The limited key that registers it; absent: the owner's. */
    readonly keyId?: string;
  };

/** What is not given stays. Of the headers those named are set, or taken away by null. */
export interface WebhookChanges extends Partial<Omit<WebhookSettings, 'headers'>> {
  readonly headers?: Readonly<Record<string, string | null>> | null;
}

/** A dropped event: the place that it has in the log. */
export interface DroppedEvent {
  readonly rowId: number;
  /** Number of the change; 0 for a new row. */
  readonly change: number;
}

/** A delivery that ended, as it is to be stored. */
export interface EndedDelivery extends DeliveryRecord {
  /** Of a dropped event: where it can be read again. */
  readonly place?: DroppedEvent | undefined;
}

/** Where delivery goes on: after a position, at the newest event, or with what was dropped (decisions P1, P6). */
export type ReplayFrom = ClientOffset | 'latest' | 'dropped';

/** How far a webhook has come, and what became of the deliveries on the way. */
export interface WebhookStep {
  readonly id: string;
  readonly offset: Offset;
  readonly records: readonly EndedDelivery[];
}

export interface WebhookStore {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /** Stores the webhook with the offset it starts after in one transaction; throws `too_many_webhooks` above the limit. */
  add(webhook: NewWebhook, start: Offset): StoredWebhook;
  /**
   * Stores a webhook of the fleet as it is, in place of what is known of it here. Without `keepsHistory` its deliveries
   * and dropped events are forgotten: another hub has had it since.
   */
  adopt(webhook: StoredWebhook, keepsHistory: boolean): void;
  /** Stores its settings, secrets and position. */
  update(webhook: StoredWebhook): void;
  /** False when there was none. */
  remove(id: string): boolean;
  /** Sets the offset up to which the webhook is done, and keeps the record if there is one (the last 100 stay). */
  advance(id: string, offset: Offset, record?: EndedDelivery): void;
  /**
   * Sets the offset by command: nothing is held any more, nor being replayed, and what comes after the offset is not
   * counted as dropped.
   */
  seek(id: string, offset: Offset): void;
  /** Notes the delivery that is being held, or that there is none any more. */
  hold(id: string, held: HeldDelivery | null): void;
  /** How many dropped events are kept, at most 10,000 (decision P6). */
  droppedCount(id: string): number;
  /** What is dropped so far is to be delivered again. */
  replayDropped(id: string): void;
  /** The first in the order of the log that is to be delivered again. */
  nextReplayed(id: string): DroppedEvent | undefined;
  /** It was delivered, is gone, or was dropped again: then `isDropped`. */
  endReplayed(id: string, event: DroppedEvent, isDropped: boolean): void;
  /** The same for several webhooks and records, oldest first, in one transaction. */
  advanceMany(steps: readonly WebhookStep[]): void;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[];
  /** The newest delivery, undefined before the first. */
  lastDelivery(id: string): DeliveryRecord | undefined;
  health(id: string): WebhookHealth;
}

/**
 * The registered webhooks, each with its running worker (decision F3). What is given as a promise may come from another
 * process.
 */
export interface WebhookRegistry {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /**
   * Registers it from the event published next; throws `too_many_webhooks` (decisions F1, F4), and throws
   * `changes_disabled` when it asks for changes and the configuration has them off.
   */
  add(webhook: NewWebhook): StoredWebhook | Promise<StoredWebhook>;
  /**
   * Changes its settings: what is sent from now on is sent by them. Throws `webhook_not_found`, and what `add` throws.
   */
  change(id: string, changes: WebhookChanges): StoredWebhook | Promise<StoredWebhook>;
  /** Resolves once nothing can be sent to it any more (decision F5); false when there was none. */
  remove(id: string): Promise<boolean>;
  /** This one and all below throw `webhook_not_found` for an unknown id. */
  status(id: string): WebhookStatus | Promise<WebhookStatus>;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[] | Promise<readonly DeliveryRecord[]>;
  /** undefined before the first. */
  lastDelivery(id: string): DeliveryRecord | undefined | Promise<DeliveryRecord | undefined>;
  /** Sends one `webhook.test` event, once, without waiting for the events before it. */
  test(id: string): Promise<WebhookTestResult>;
  /**
   * Goes on from there, durably; throws `invalid_request` for a position ahead of where the webhook is, and
   * throws `offset_expired` as the feed does.
   */
  replay(id: string, from: ReplayFrom): StoredWebhook | Promise<StoredWebhook>;
}
