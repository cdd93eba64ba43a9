import type { Approval } from '../domain/approval.ts';
import type { ChangeEvent, Event } from '../domain/event.ts';
import type { Include } from '../domain/include.ts';
import type { Message } from '../domain/message.ts';
import type { Clock } from '../domain/ports/host-ports.ts';
import type { ScheduledSend } from '../domain/scheduled.ts';
import type { DeliveryRecord, FailureMode, WebhookEventType, WebhookFilter } from '../domain/webhook.ts';

/**
 * `details` adds `details` to every message whose row still exists. `contacts` adds `names` to every message and
 * conversation.
 */
export interface Included {
  readonly include?: Include | readonly Include[];
}

/** Canaries are left out by default. */
interface Canaries {
  readonly include_canary?: boolean;
}

export interface MessageFilter extends Included, Canaries {
  readonly conversation_id?: string;
  /** ISO 8601; exclusive. */
  readonly since?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly order?: 'asc' | 'desc';
}

export interface ConversationPage extends Included {
  readonly limit?: number;
  readonly offset?: number;
}

export interface EventPage extends Included, Canaries {
  /** Seconds to wait for an event if there is none, at most 50. */
  readonly wait?: number;
  /** As with `listen`. */
  readonly maxAgeS?: number | undefined;
  /** As with `listen`. */
  readonly junk?: boolean | undefined;
}

export interface ListenOptions extends Included {
  /**
   * `websocket` needs the package `ws` and is the default if that is installed. `http`, a plain HTTP stream, needs no
   * package. The platform's own WebSocket is not used, because it hides pings and a dead connection would go unnoticed.
   */
  readonly over?: 'websocket' | 'http';
  /** Row id or `offset` of an event after which to continue without a gap. Default: from now on. */
  readonly after?: number | string;
  /** Includes edits, unsends, receipts and deletions of older messages. */
  readonly changes?: boolean;
  /** Skips rows that appeared more than this many seconds after they were written. At least 60. */
  readonly maxAgeS?: number | undefined;
  /** False skips messages that macOS 27 filed as junk. */
  readonly junk?: boolean | undefined;
  readonly signal?: AbortSignal;
  /** Called when the connection is lost, with the reason and the time until the next attempt. */
  readonly onReconnect?: (reason: string, inMs: number) => void;
}

export interface ClientOptions {
  /** Base address of the service. Default `http://127.0.0.1:3001`. */
  readonly url?: string;
  /** Path of the service's Unix socket, used instead of the URL. For Node.js and Bun. */
  readonly socketPath?: string;
  readonly key: string;
  /**
   * Time limit of an answer in milliseconds; default 30,000. Sends have none, and slow requests such as uploads have
   * their own.
   */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

/** An event of a listener that also asked for changes. */
export type TrackedEvent = (Event | ChangeEvent) & {
  /** The position right after this event, from which to continue. */
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
  /** The position at which the next page begins. Always present. */
  readonly offset: string;
}

export interface SendOptions {
  readonly recipient: string;
  /** The Mac to send from, by id or by one of its addresses; only at a hub. */
  readonly from?: string;
  readonly body?: string;
  /** `markdown` is rendered to plain text before sending. */
  readonly format?: 'plain' | 'markdown';
  /** The service to send by. In the answer, `details` says which service was used and why. */
  readonly service?: 'auto' | 'imessage' | 'sms' | 'rcs';
  /** Resends by SMS if nothing was sent by another service, or if Messages marked the message as failed. */
  readonly fallback?: 'sms';
  /** Paths on the service's machine. */
  readonly attachments?: readonly string[];
  /** Ids of files uploaded with the same key. */
  readonly attachment_ids?: readonly string[];
  readonly idempotencyKey?: string;
}

/** `replayed` marks the answer to an earlier send with the same `idempotencyKey`. */
export type SentMessage = Message & { readonly replayed?: true };

/** A send that waits for the owner's approval. */
export interface HeldSend {
  readonly approval: Approval;
  /** The console's page for the decision, relative to the service's address; absent before version 0.2. */
  readonly console?: string;
}

export interface ScheduleOptions extends SendOptions {
  /** When to send: an instant with its zone, within a year. */
  readonly send_at: string;
  /** After this time the message is no longer sent. Default: an hour after `send_at`. */
  readonly send_until?: string;
}

/**
 * A scheduled message; `scheduled.get` returns its outcome. `replayed` means that the `idempotencyKey` was used before.
 */
export interface ScheduledAnswer {
  readonly scheduled: ScheduledSend;
  readonly replayed?: true;
}

/**
 * Options for the deliveries of a webhook. With `tries`, each delivery lists its attempts, and the held delivery is
 * first.
 */
export interface DeliveryFilter {
  readonly include?: 'tries';
  readonly outcome?: DeliveryRecord['outcome'];
}

interface WebhookOptions {
  readonly include?: readonly Include[];
  /** False sends nothing. The backlog is delivered once the webhook is enabled again. */
  readonly enabled?: boolean;
  /** `hold` retries a delivery until it succeeds. The default, `drop`, gives up after 3 failures. */
  readonly on_failure?: FailureMode;
}

export interface NewWebhookOptions extends WebhookOptions {
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  /** Signs deliveries. Never shown again. */
  readonly secret?: string;
  readonly name?: string;
  /** Sent with each delivery, such as `Authorization`. Values are never shown again. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Only events that match every condition are delivered. */
  readonly filter?: WebhookFilter;
}

/** Changes to a webhook. Null removes a setting. */
export interface WebhookEdits extends WebhookOptions {
  readonly url?: string;
  readonly events?: readonly WebhookEventType[];
  /** A new secret. The previous one also signs for another 24 hours. */
  readonly secret?: string | null;
  readonly name?: string | null;
  /** Headers not named stay unchanged. */
  readonly headers?: Readonly<Record<string, string | null>> | null;
  readonly filter?: WebhookFilter | null;
}
