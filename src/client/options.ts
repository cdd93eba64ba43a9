import type { ChangeEvent, Event } from '../core/model/event.ts';
import type { Include } from '../core/model/include.ts';
import type { Message } from '../core/model/message.ts';
import type { Clock } from '../core/model/ports/host-ports.ts';
import type { SendChoices } from '../core/model/send-service.ts';
import type { DeliveryRecord, FailureMode, WebhookEventType, WebhookFilter } from '../core/model/webhook.ts';
import type { Approval } from './access-types.ts';
import type { ScheduledSend } from './scheduled-types.ts';

/**
 * `details` adds `details` to every conversation, and to every message whose row still exists. `contacts` adds `names`
 * to both.
 */
export interface Included {
  readonly include?: Include | readonly Include[];
}

/** The choice to leave junk out. */
export interface Junk {
  /** False skips what macOS filed as junk, and conversations that Messages hides. */
  readonly junk?: boolean | undefined;
}

/** The events to skip. */
interface Narrowed extends Junk {
  /** Skips events whose row appeared in chat.db more than this many seconds after the row's date. At least 60. */
  readonly maxAgeS?: number | undefined;
}

/**
 * `include_hidden` includes hidden messages: the messages that Postern sends to its owner to see that messages still
 * arrive (decision B14).
 */
interface Hidden {
  readonly include_hidden?: boolean;
}

export interface MessageFilter extends Included, Hidden, Junk {
  readonly conversation_id?: string;
  /** ISO 8601; exclusive. */
  readonly since?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly order?: 'asc' | 'desc';
}

export interface ConversationPage extends Included, Junk {
  /** Words or parts of words that occur in the name, the id, or the name or address of a participant. */
  readonly q?: string | undefined;
  readonly limit?: number;
  readonly offset?: number;
}

export interface EventPage extends Included, Hidden, Narrowed {
  /** Seconds to wait for an event if there is none, at most 50. */
  readonly wait?: number;
}

export interface ListenOptions extends Included, Narrowed {
  /**
   * `websocket` needs the package `ws`, and is the default if `ws` is installed. `http`, a plain HTTP stream, needs no
   * package. The platform's own WebSocket is not used: it hides pings, so that a dead connection would go unnoticed.
   */
  readonly over?: 'websocket' | 'http';
  /** Row id or `offset` of an event: yields every event after it. Default: only events from now on. */
  readonly after?: number | string;
  /** Also yields changes of existing messages: edits, unsends, receipts and deletions. */
  readonly changes?: boolean;
  readonly signal?: AbortSignal;
  /** Called when the connection is lost, with the reason and the milliseconds until the next attempt. */
  readonly onReconnect?: (reason: string, inMs: number) => void;
}

export interface ClientOptions {
  /** Base address of the service. Default `http://127.0.0.1:3001`. */
  readonly url?: string;
  /** Path of the service's Unix socket, used instead of the URL. For Node.js and Bun. */
  readonly socketPath?: string;
  readonly key: string;
  /**
   * Milliseconds to wait for the answer to a request; default 30,000. Sends have no time limit. Slow requests, such as
   * uploads, have fixed limits instead.
   */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

/** An event or change, as `trackedEvents` and `listen` with `changes` report it. */
export type TrackedEvent = (Event | ChangeEvent) & {
  /** The position right after this event. Pass it as `after` to continue there. */
  readonly offset: string;
};

export interface TrackedOptions extends Narrowed {
  readonly after?: number | string | undefined;
  readonly limit?: number;
  readonly include?: Included['include'] | undefined;
}

export interface TrackedPage {
  readonly events: TrackedEvent[];
  /** The position right after this page, even if `events` is empty. Pass it as `after` to read the next page. */
  readonly offset: string;
}

/** In the answer to a send, `details` says which service was used and why. */
export interface SendOptions extends SendChoices {
  readonly recipient: string;
  readonly body?: string;
  /** `markdown` is rendered to plain text before sending. */
  readonly format?: 'plain' | 'markdown';
  /** Paths of files on the machine that runs the service. */
  readonly attachments?: readonly string[];
  /** Ids of files that were uploaded with this client's key. */
  readonly attachment_ids?: readonly string[];
  readonly idempotencyKey?: string;
}

/**
 * `replayed` is true if an earlier send had the same `idempotencyKey`. In that case nothing was sent, and the message
 * is the answer to the earlier send.
 */
export type SentMessage = Message & { readonly replayed?: true };

/** A send that waits for the owner's approval. */
export interface HeldSend {
  readonly approval: Approval;
  /**
   * URL of the page on which the owner decides, relative to the service's address. Absent before version 0.2.
   */
  readonly console?: string;
}

export interface ScheduleOptions extends SendOptions {
  /** When to send: an ISO 8601 date and time with its zone, at most a year ahead. */
  readonly send_at: string;
  /** After this time the message is no longer sent. Default: an hour after `send_at`. */
  readonly send_until?: string;
}

/**
 * A scheduled message; `scheduled.get` returns its outcome. `replayed` is true if an earlier request with the same
 * `idempotencyKey` had scheduled it.
 */
export interface ScheduledAnswer {
  readonly scheduled: ScheduledSend;
  readonly replayed?: true;
}

/**
 * Options for listing a webhook's deliveries. With `include: 'tries'`, each delivery has its attempts, and the list
 * begins with the delivery that is held, if any.
 */
export interface DeliveryFilter {
  readonly include?: 'tries';
  readonly outcome?: DeliveryRecord['outcome'];
}

interface WebhookOptions {
  readonly include?: readonly Include[];
  /** False stops deliveries. Events that happen meanwhile are delivered once the webhook is enabled again. */
  readonly enabled?: boolean;
  /** `hold` retries a delivery until it succeeds. The default, `drop`, gives up after 3 failures. */
  readonly on_failure?: FailureMode;
}

export interface NewWebhookOptions extends WebhookOptions {
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  /** Secret with which deliveries are signed. No answer shows it. */
  readonly secret?: string;
  readonly name?: string;
  /** HTTP headers sent with each delivery, such as `Authorization`. No answer shows their values. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Only events that match every condition are delivered. */
  readonly filter?: WebhookFilter;
}

/** Changes to a webhook. Null removes a setting. */
export interface WebhookEdits extends WebhookOptions {
  readonly url?: string;
  readonly events?: readonly WebhookEventType[];
  /** A new secret. For 24 hours, deliveries are also signed with the previous secret. */
  readonly secret?: string | null;
  readonly name?: string | null;
  /** Null removes a header. Headers that are not listed stay unchanged. */
  readonly headers?: Readonly<Record<string, string | null>> | null;
  readonly filter?: WebhookFilter | null;
}
