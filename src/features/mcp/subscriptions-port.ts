import type { Port, Reach } from '../../core/model/port.ts';
import type { Subscriptions } from './subscriptions/ports.ts';

export interface CallersSubscriptions {
  /** The caller's own subscriptions; undefined for the owner, who has none. */
  readonly own: Subscriptions | undefined;
  /** Returns the subscriptions of a limited key. */
  ofKey(key: Reach): CallersSubscriptions;
}

/** A limited key sees only its own subscriptions. */
export const SUBSCRIPTIONS: Port<CallersSubscriptions> = {
  name: 'subscriptions',
  narrow: (all, key) => all.ofKey(key),
};
