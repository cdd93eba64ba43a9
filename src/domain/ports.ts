import type { Conversation } from './conversation.ts';
import type { Mistake } from './errors.ts';
import type { Arrival, LogEntry } from './event.ts';
import type { LogIdentity, Mark } from './mark.ts';
import type { Message } from './message.ts';
import type { DeliveryRecord, StoredWebhook, WebhookHealth, WebhookStatus, WebhookTestResult } from './webhook.ts';

/** Stops what it was given for; calling it twice is fine. */
export type Cancel = () => void;

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds that never step back. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds. */
  after(ms: number, run: () => void): Cancel;
}

/** One line a call; fields never hold a key or a body (decision A6). */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  child(fields: Readonly<Record<string, unknown>>): Log;
}

/** The contract's `backend` part of the health record. */
export interface BackendHealth {
  readonly connected: boolean;
  readonly message: string | null;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Opaque place to go on from, absent on the last page. */
  readonly next?: string;
}

export interface MessageQuery {
  readonly conversationId?: string;
  /** Strictly after this instant, nanoseconds since the Unix epoch. */
  readonly sinceNs?: bigint;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  /** `next` of an earlier page of the same query; replaces `offset`. */
  readonly cursor?: string;
  readonly includeDetails?: boolean;
}

/** What else a read is to give (section H). */
export interface ReadOptions {
  readonly includeDetails?: boolean;
}

/** Reads for clients. Every method throws AppError `unavailable` while chat.db cannot be read (C6). */
export interface MessageReader {
  listMessages(query: MessageQuery): Page<Message> | Promise<Page<Message>>;
  /** undefined for an unknown row id and for a reaction (B8). */
  message(rowId: number, options?: ReadOptions): Message | undefined;
  listConversations(query: {
    readonly limit: number;
    readonly offset: number;
  }): Page<Conversation> | Promise<Page<Conversation>>;
  /** Accepts every spelling of the chat guid (B4). */
  conversation(id: string): Conversation | undefined | Promise<Conversation | undefined>;
}

/** An open file of a message. Whoever has it reads once or closes it. */
export interface AttachmentFile {
  readonly name: string;
  /** As Messages stored it: anything. */
  readonly mimeType: string | null;
  readonly bytes: number;
  /** From byte `start` to byte `end`, both included; closes the file at its end. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

export interface AttachmentReader {
  /** The n-th file of a message, counted from 0; undefined when it is not on this machine (section H). */
  open(rowId: number, n: number): Promise<AttachmentFile | undefined>;
}

/** What `/metrics` shows besides counts (section H). */
export interface Metrics {
  readonly isConnected: boolean;
  readonly newestRow: number | null;
  readonly newestEvent: number;
  /** Since the start. */
  readonly published: number;
  readonly clients: number;
  /** Since the start. */
  readonly missed: number;
}

/** chat.db as a log. Every method throws AppError `unavailable` while it cannot be read. */
export interface MessageLog {
  /** Entries with `after < row id <= upTo`, ascending, at most `limit`. Rows deleted since are simply not there. */
  entries(after: number, upTo: number, limit: number): readonly LogEntry[];
  /** The same for rows nobody has published yet, with what each still lacks. */
  arrivals(after: number, limit: number): readonly Arrival[];
  /** The newest row there is: the place a first start begins at. */
  newest(): Mark;
  /** Facts for `isReplaced`. */
  identity(rowId: number): LogIdentity;
}

/** What a reader took from the feed. */
export interface FeedBatch {
  /** In row id order. */
  readonly entries: readonly LogEntry[];
  /** Once `entries` are done, everything up to this row id is: rows between them were deleted from chat.db. */
  readonly upTo: number;
  /** Events lost since the last take because this reader was too slow (C7); always 0 for a resumed reader. */
  readonly missed: number;
}

/** A place in the log that moves forward as it is taken from. Taking never waits. */
export interface FeedReader {
  /** The next entries, at most `limit`; none when level. A resumed reader throws `unavailable` while chat.db is away. */
  take(limit: number): FeedBatch;
  /** True when nothing published is left to take. */
  isLevel(): boolean;
  /** Changes when the log was replaced (C5): row ids taken before mean nothing any more. */
  generation(): number;
  close(): void;
}

/** The published events, as a stream that anyone may join. `onMore` is called when there may be more to take. */
export interface EventFeed {
  /** Row id of the newest published event. */
  lastPublished(): number;
  /** From now on; one that falls behind by more than the capacity loses the oldest (C7, G2). */
  live(onMore: () => void): FeedReader;
  /**
   * Everything after `rowId`, never skipped: read from chat.db until level, then live (F4, G3).
   * `pacing`: the publisher waits a moment (C7) for this reader while it is level.
   */
  resume(rowId: number, onMore: () => void, options?: { readonly pacing?: boolean }): FeedReader;
  /** Refuses a client's `after`: 410 above the highest row id there ever was, 503 while chat.db is away (G3). */
  admit(after: number): void;
  /** One page for `GET /events` (G4). */
  page(after: number, limit: number): readonly LogEntry[];
}

export interface CursorStore {
  load(): Mark | undefined;
  save(mark: Mark): void;
  /** Starts over at `mark` (first start, or the log was replaced: C4, C5), every webhook with it, in one transaction. */
  restart(mark: Mark): void;
}

export interface NewWebhook {
  readonly url: string;
  readonly events: StoredWebhook['events'];
  readonly secret: string | null;
  readonly includeDetails: boolean;
}

/** How far a webhook has come, and what became of the deliveries on the way. */
export interface WebhookStep {
  readonly id: string;
  readonly rowId: number;
  readonly records: readonly DeliveryRecord[];
}

export interface WebhookStore {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /** Stores the webhook with its starting row id in one transaction; throws `conflict` past `limit` webhooks. */
  add(webhook: NewWebhook, startRowId: number): StoredWebhook;
  /** False when there was none. */
  remove(id: string): boolean;
  /** Sets the row id up to which the webhook is done, and keeps the record if there is one (the last 100 stay). */
  advance(id: string, rowId: number, record?: DeliveryRecord): void;
  /** The same for several webhooks and records, oldest first, in one transaction. */
  advanceMany(steps: readonly WebhookStep[]): void;
  deliveries(id: string): readonly DeliveryRecord[];
  health(id: string): WebhookHealth;
}

/** The registered webhooks, each with its running lane (F3). */
export interface WebhookRegistry {
  list(): readonly StoredWebhook[];
  get(id: string): StoredWebhook | undefined;
  /** Registers it from the event published next; throws `conflict` when there are too many (F1, F4). */
  add(webhook: NewWebhook): StoredWebhook;
  /** Resolves once nothing can be sent to it any more (F5); false when there was none. */
  remove(id: string): Promise<boolean>;
  /** This one and all below throw `not_found` for an unknown id. */
  status(id: string): WebhookStatus;
  /** Newest first. */
  deliveries(id: string): readonly DeliveryRecord[];
  /** Sends one `webhook.test` event, once, past the lane's queue. */
  test(id: string): Promise<WebhookTestResult>;
  /** Goes back to row id `after`, durably; throws `invalid` when that is ahead of where the webhook is. */
  replay(id: string, after: number): StoredWebhook;
}

/** One part of a send: exactly one run of osascript (decision D1). */
export interface SendPart {
  /** The address for a participant lookup, or the group id as given. */
  readonly recipient: string;
  /** Known chat guids, best first. */
  readonly chatIds: readonly string[];
  readonly service: string;
  readonly content: { readonly body: string } | { readonly attachment: string };
}

/** How one run ended. `number` is the AppleScript error number, null when none was printed. */
export type RunOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly number: number | null; readonly message: string }
  /** Time limit reached and killed (D3), or killed by somebody: nobody knows whether it was sent. */
  | { readonly kind: 'killed' }
  /** osascript could not be started at all. */
  | { readonly kind: 'not_started'; readonly message: string };

/** Messages, driven by osascript. */
export interface MessagesApp {
  run(part: SendPart, signal: AbortSignal): Promise<RunOutcome>;
  /** Starts Messages and waits until it may be asked again, at most 10 s (D2). */
  open(): Promise<void>;
}

/** A known chat as a send needs it. */
export interface ChatTarget {
  readonly guid: string;
  /** All known spellings, best first. */
  readonly chatIds: readonly string[];
  /** Service of the chat (`iMessage`, `SMS`, `RCS`), null when unknown. */
  readonly service: string | null;
}

/** An own row above a mark, as a candidate for a send's confirmation (D5). */
export interface OwnRow {
  readonly rowId: number;
  /** `style and identifier` of its chat: the chat guid after its first `;`, null while it has no chat. */
  readonly address: string | null;
  readonly body: string;
  /** File names of its attachments. */
  readonly attachmentNames: readonly string[];
}

/** What a send asks chat.db. Every method throws AppError `unavailable` while it cannot be read. */
export interface SendLookup {
  /** Chats that the typed recipient means: any spelling of a chat guid, or an address (B4). */
  target(recipient: string): ChatTarget | undefined;
  /** Highest row id there ever was. */
  highestRowId(): number;
  ownRowsAbove(rowId: number): readonly OwnRow[];
  message(rowId: number): Message | undefined;
}

export interface SendRequest {
  readonly recipient: string;
  readonly body: string;
  readonly attachments: readonly string[];
  /** `Idempotency-Key` (D9), when given. */
  readonly idempotencyKey?: string;
  /** Stands in every log line of this send (E8). */
  readonly requestId?: string;
}

/** Decision D6: `confirmed` when its row was found, else the Message is provisional. */
export interface SendResult {
  readonly confirmed: boolean;
  readonly message: Message;
  /** True when this is a stored outcome given again (D9). */
  readonly replayed: boolean;
}

export interface MessageSender {
  /** What is wrong with these attachments (D7), with pointers like `/attachments/0`; none when all can be sent. */
  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]>;
  /** Checks the attachments itself; throws AppError as decisions D4, D7 and D9 say. */
  send(request: SendRequest): Promise<SendResult>;
}

/** Outcome of an earlier send kept for 24 hours (D9). No text: hashes, a row id or a problem. */
export type StoredOutcome =
  | { readonly state: 'running' }
  /** It was running when an earlier process died: nobody knows whether it went out. */
  | { readonly state: 'interrupted' }
  | { readonly state: 'confirmed'; readonly rowId: number }
  | { readonly state: 'provisional' }
  | { readonly state: 'problem'; readonly problem: string };

/** What a key was used for before. */
export interface EarlierUse {
  readonly requestHash: string;
  readonly outcome: StoredOutcome;
}

export interface IdempotencyStore {
  /** What became of the key, undefined when it was not used within 24 hours. */
  find(key: string, nowMs: number): EarlierUse | undefined;
  /** Claims the key durably, or says what it was used for. Keys older than 24 hours are forgotten. */
  claim(
    key: string,
    requestHash: string,
    nowMs: number,
  ): 'claimed' | { readonly requestHash: string; readonly outcome: StoredOutcome };
  finish(key: string, outcome: StoredOutcome): void;
}

/** State of one macOS permission as far as it can be known without asking. */
export interface PermissionReport {
  readonly name: 'full_disk_access' | 'automation';
  readonly state: 'granted' | 'denied' | 'unknown';
  readonly detail: string;
}

export interface Permissions {
  fullDiskAccess(): Promise<PermissionReport>;
  /** Runs a harmless read-only script: may make macOS ask the person. */
  automation(): Promise<PermissionReport>;
}
