import type { Approval } from '../domain/approval.ts';
import type { ChangeEvent, Event } from '../domain/event.ts';
import type { Include } from '../domain/include.ts';

/**
 * With `details` every message has `details`, unless its row is deleted just then. With `contacts` every message and
 * conversation has `names`.
 */
export interface Included {
  readonly include?: Include | readonly Include[];
}

export interface MessageFilter extends Included {
  readonly conversation_id?: string;
  /** ISO 8601; strictly after. */
  readonly since?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly order?: 'asc' | 'desc';
}

export interface ConversationPage extends Included {
  readonly limit?: number;
  readonly offset?: number;
}

export interface EventPage extends Included {
  /** Seconds to wait for an event when there is none, at most 50. */
  readonly wait?: number;
}

export interface ListenOptions extends Included {
  /** `websocket` (default), which needs the package `ws`, or `http`: a stream of plain HTTP, which needs none. */
  readonly over?: 'websocket' | 'http';
  /** Row id or `offset` of an event to go on after: nothing after it is missed. Default: from now on. */
  readonly after?: number | string;
  /** Also edits, unsends, receipts and deletions of messages that were there before. */
  readonly changes?: boolean;
  readonly signal?: AbortSignal;
  /** Told why there is no line, and when it is tried again. */
  readonly onReconnect?: (reason: string, inMs: number) => void;
}

/** An event of those who ask for changes too. */
export type TrackedEvent = (Event | ChangeEvent) & {
  /** The position after this event, to go on from. */
  readonly offset: string;
};

export interface TrackedOptions {
  readonly after?: number | string | undefined;
  readonly limit?: number;
  readonly include?: Included['include'] | undefined;
}

export interface TrackedPage {
  readonly events: TrackedEvent[];
  /** Where the next page begins; there is always one. */
  readonly offset: string;
}

export interface SendOptions {
  readonly recipient: string;
  readonly body?: string;
  readonly attachments?: readonly string[];
  readonly idempotencyKey?: string;
}

/** A send that waits for the owner's decision. */
export interface HeldSend {
  readonly approval: Approval;
}
