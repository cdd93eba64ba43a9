import type { Offset } from '../offset.ts';
import type {
  StoredSubscription,
  SubscriptionGrant,
  SubscriptionHealth,
  SubscriptionRequest,
  SubscriptionTarget,
} from '../subscription.ts';

export interface SubscriptionStore {
  list(): readonly StoredSubscription[];
  get(id: string): StoredSubscription | undefined;
  /** Adds it, or replaces one that has lapsed. */
  add(subscription: StoredSubscription): void;
  /** Stores its secrets, its end and its health; the offset stays. */
  update(subscription: StoredSubscription): void;
  advance(id: string, offset: Offset, health: SubscriptionHealth): void;
  remove(id: string): void;
}

/** The subscriptions of all keys, each with its running worker. */
export interface SubscriptionService {
  /** Goes on with the stored ones. */
  start(): Promise<void>;
  /** Those of a key that have not lapsed. */
  of(keyId: string): readonly StoredSubscription[];
  /**
   * Adds or refreshes; at most `maxOfKey` of one key. Throws `callback_failed` if the receiver does not confirm a new
   * address, `too_many_webhooks`, `invalid_cursor`, and `chat_db_unavailable`.
   */
  subscribe(keyId: string, request: SubscriptionRequest, maxOfKey: number): Promise<SubscriptionGrant>;
  /** Resolves once nothing is posted any more; false if it did not exist. */
  unsubscribe(keyId: string, target: SubscriptionTarget): Promise<boolean>;
  /** Ends it without a word to the receiver. */
  remove(id: string): void;
  /** Ends all subscriptions of a key, and tells each receiver once. */
  terminate(keyId: string): void;
  close(): Promise<void>;
}

/** A limited key's own subscriptions. Throws what `SubscriptionService` throws, and what the key may not do. */
export interface Subscriptions {
  subscribe(request: SubscriptionRequest): Promise<SubscriptionGrant>;
  unsubscribe(target: SubscriptionTarget): Promise<boolean>;
}
