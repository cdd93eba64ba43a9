import type { EventType, LogEntry } from '../../../core/model/event.ts';
import { LATE_S } from '../../../core/model/event.ts';
import { eventFilter } from '../../../core/model/event-filter.ts';
import type { Narrowing, Reading } from '../../../core/model/narrowing.ts';
import type { Offset } from '../../../core/model/offset.ts';

/** The content of an event: only ids, or the message too. */
export const EVENT_CONTENTS = ['ids', 'full'] as const;
export type EventContent = (typeof EVENT_CONTENTS)[number];

/** The arguments with which a client of MCP Events subscribes to events of one name. */
export interface SubscriptionArguments {
  /** A conversation id in any variant. */
  readonly conversation_id?: string | undefined;
  readonly sender?: string | undefined;
  /** Default: `ids` for events that are posted to another machine, otherwise `full`. */
  readonly content?: EventContent | undefined;
  /** True to include messages that macOS filed as junk. */
  readonly junk?: boolean | undefined;
  /** True to include messages that arrived more than 30 minutes after they were written. */
  readonly late?: boolean | undefined;
}

/**
 * The events that a client asks for, and the URL that receives them. These members and the key together identify a
 * subscription.
 */
export interface SubscriptionTarget {
  readonly name: EventType;
  readonly arguments: SubscriptionArguments;
  readonly url: string;
}

/** A new subscription, or the refresh of an existing one. */
export interface SubscriptionRequest extends SubscriptionTarget {
  /** The secret that signs posts, in the format of Standard Webhooks. */
  readonly secret: string;
  /** The position to continue from; undefined to begin with new events. */
  readonly cursor: string | undefined;
  readonly maxAgeMs: number | undefined;
  /**
   * The lifetime in milliseconds that the client asks for; null or undefined asks for a day. The service grants at
   * least a minute and at most a day.
   */
  readonly ttlMs: number | null | undefined;
}

/** Why a receiver did not take an event. */
export type CallbackFailure =
  | 'connection_refused'
  | 'timeout'
  | 'tls_error'
  | 'http_4xx'
  | 'http_5xx'
  | 'challenge_failed';

/** The outcome of a subscription's posts so far. */
export interface SubscriptionHealth {
  readonly lastDeliveryMs: number | null;
  /** Why the last attempt failed; null if it succeeded or there was none. */
  readonly lastError: CallbackFailure | null;
  readonly failedSinceMs: number | null;
  /** True if the delivery of an event was given up since the client's last refresh. */
  readonly hasSkipped: boolean;
  /** True if chat.db was replaced, and neither the receiver nor the client knows yet that events may be missing. */
  readonly hasGap: boolean;
}

/** A subscription as stored: events of one name, posted to one URL until it lapses (decision Y3). */
export interface StoredSubscription extends SubscriptionTarget {
  /** Derived from key, name, arguments and URL. */
  readonly id: string;
  readonly keyId: string;
  readonly secret: string;
  /** The previous secret, which also signs until `untilMs`. */
  readonly previousSecret: { readonly secret: string; readonly untilMs: number } | null;
  readonly expiresMs: number;
  readonly health: SubscriptionHealth;
  /** Offset up to which every event is done: delivered, given up, or not asked for. */
  readonly offset: Offset;
}

/** The answer to a subscription or its refresh. */
export interface SubscriptionGrant {
  readonly id: string;
  readonly refreshBeforeMs: number;
  readonly cursor: string;
  /**
   * True if the client has missed events: its cursor was too old, deliveries were given up, or chat.db was replaced.
   */
  readonly truncated: boolean;
  /** The health before this refresh; undefined for a new subscription. */
  readonly health: SubscriptionHealth | undefined;
}

export const NEW_HEALTH: SubscriptionHealth = {
  lastDeliveryMs: null,
  lastError: null,
  failedSinceMs: null,
  hasSkipped: false,
  hasGap: false,
};

/** Returns what agents skip unless they ask for it: junk, and what came late. */
export function forAgents({ junk, late }: Pick<SubscriptionArguments, 'junk' | 'late'>): Narrowing {
  return { ...(junk !== true && { junk: false }), ...(late !== true && { max_age_s: LATE_S }) };
}

/** Returns a filter for the events that a client asks for. `key` returns the key of the client. */
export function subscriptionFilter(
  name: EventType,
  asked: SubscriptionArguments,
  key: () => Reading,
): (entry: LogEntry) => boolean {
  const { conversation_id: conversation, sender, junk, late } = asked;
  const filter = {
    ...(conversation !== undefined && { conversation_ids: [conversation] }),
    ...(sender !== undefined && { senders: [sender] }),
    ...forAgents({ junk, late }),
  };
  return eventFilter({ events: [name], filter }, key);
}

/** The error numbers of MCP Events, as in the draft that today's clients follow. The final text has other numbers. */
export const EVENT_ERRORS = {
  notFound: -32_011,
  forbidden: -32_012,
  exhausted: -32_013,
  unsupported: -32_014,
  callback: -32_015,
} as const;
