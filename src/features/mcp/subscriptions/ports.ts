import type { Offset } from '../../../core/model/offset.ts';
import type {
  StoredSubscription,
  SubscriptionGrant,
  SubscriptionHealth,
  SubscriptionRequest,
  SubscriptionTarget,
} from './subscription.ts';

export interface SubscriptionStore {
  list(): readonly StoredSubscription[];
  get(id: string): StoredSubscription | undefined;
  /** Adds a subscription, or replaces one that has lapsed. */
  add(subscription: StoredSubscription): void;
  /** Stores a subscription's secrets, expiry and health, but not its offset. */
  update(subscription: StoredSubscription): void;
  advance(id: string, offset: Offset, health: SubscriptionHealth): void;
  remove(id: string): void;
}

/** The subscriptions of all keys, each with its running worker. */
export interface SubscriptionService {
  /** Removes stored subscriptions that have lapsed, and starts a worker for each of the others. */
  start(): Promise<void>;
  /** Returns a key's subscriptions that have not lapsed. */
  of(keyId: string): readonly StoredSubscription[];
  /**
   * Adds or refreshes a subscription. Throws `callback_failed` if the receiver does not confirm a new address,
   * `too_many_webhooks` if the key already has `maxOfKey` subscriptions, `invalid_cursor`, and `chat_db_unavailable`.
   * Asks `mayPost`, and whether the key is valid, once more after the receiver has confirmed.
   */
  subscribe(
    keyId: string,
    request: SubscriptionRequest,
    maxOfKey: number,
    mayPost: () => boolean,
  ): Promise<SubscriptionGrant>;
  /**
   * Ends a subscription. Resolves once nothing is being posted: to true, or to false if there was no such subscription.
   */
  unsubscribe(keyId: string, target: SubscriptionTarget): Promise<boolean>;
  /** Ends a subscription in the background. Unlike `terminate`, does not notify the receiver. */
  remove(id: string): void;
  /** Ends all subscriptions of a key, and notifies each receiver once. */
  terminate(keyId: string): void;
  close(): Promise<void>;
}

/**
 * The subscriptions of one limited key. These methods throw what the methods of `SubscriptionService` throw, and refuse
 * anything that the key may not do.
 */
export interface Subscriptions {
  subscribe(request: SubscriptionRequest): Promise<SubscriptionGrant>;
  unsubscribe(target: SubscriptionTarget): Promise<boolean>;
}
