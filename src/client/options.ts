import type { Approval } from '../domain/approval.ts';
import type { ChangeEvent, Event } from '../domain/event.ts';
import type { Include } from '../domain/include.ts';
import type { Message } from '../domain/message.ts';
import type { FailureMode, WebhookEventType, WebhookFilter } from '../domain/webhook.ts';

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
  /** Skips rows that came more than so many seconds after they were written, at least 60. */
  readonly maxAgeS?: number | undefined;
  /** False skips what macOS 27 filed as junk. */
  readonly junk?: boolean | undefined;
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
  /** As with `listen`. */
  readonly maxAgeS?: number | undefined;
  /** As with `listen`. */
  readonly junk?: boolean | undefined;
}

export interface TrackedPage {
  readonly events: TrackedEvent[];
  /** Where the next page begins; there is always one. */
  readonly offset: string;
}

export interface SendOptions {
  readonly recipient: string;
  /** At a hub: the Mac that sends, by its id or by an address of its own. */
  readonly from?: string;
  readonly body?: string;
  /** `markdown` is rendered to plain text, which is what is sent. */
  readonly format?: 'plain' | 'markdown';
  /** Which service it goes by; the `details` of the answer say which it was, and why. */
  readonly service?: 'auto' | 'imessage' | 'sms' | 'rcs';
  /** SMS where nothing was sent by another service, or Messages marked the message as failed. */
  readonly fallback?: 'sms';
  /** Paths on the machine of the service. */
  readonly attachments?: readonly string[];
  /** Of files that were uploaded with the same key. */
  readonly attachment_ids?: readonly string[];
  readonly idempotencyKey?: string;
}

/** `replayed`: the answer to an earlier send with the same `idempotencyKey`. */
export type SentMessage = Message & { readonly replayed?: true };

/** A send that waits for the owner's decision. */
export interface HeldSend {
  readonly approval: Approval;
}

interface WebhookOptions {
  readonly include?: readonly Include[];
  /** false: nothing is sent, and the backlog comes once it is enabled again. */
  readonly enabled?: boolean;
  /** `hold`: a delivery is attempted until it succeeds. Default `drop`: given up after 3 failures. */
  readonly on_failure?: FailureMode;
}

export interface NewWebhookOptions extends WebhookOptions {
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  /** Signs deliveries; never shown again. */
  readonly secret?: string;
  readonly name?: string;
  /** On each delivery, such as `Authorization`; values are never shown again. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What does not match all of it is not delivered. */
  readonly filter?: WebhookFilter;
}

/** Null takes away what there was. */
export interface WebhookEdits extends WebhookOptions {
  readonly url?: string;
  readonly events?: readonly WebhookEventType[];
  /** The one before signs too for 24 hours. */
  readonly secret?: string | null;
  readonly name?: string | null;
  /** Headers that are not named stay. */
  readonly headers?: Readonly<Record<string, string | null>> | null;
  readonly filter?: WebhookFilter | null;
}
