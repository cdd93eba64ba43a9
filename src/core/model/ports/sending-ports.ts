import type { Mistake } from '../errors.ts';
import type { IdempotencyKey } from '../idempotency-key.ts';
import type { Message } from '../message.ts';
import type { SendPreferences } from '../send-service.ts';
import type { DeferredSend } from './deferral-ports.ts';
import type { SentUnseen } from './sent-parts-ports.ts';
import type { UploadedFile } from './uploads-ports.ts';

/** One way to reach the recipient. Each attempt runs the send script exactly once (decision T1). */
export interface Attempt {
  /**
   * The recipient's address, by which the script looks up a participant; for a group, its id as the client wrote it.
   */
  readonly recipient: string;
  /** Id of the chat to send to; null to send to `recipient` as a participant. */
  readonly chatId: string | null;
  /**
   * Service of the chat. If `chatId` is null: service of the account in which the script looks up the participant, or
   * null for any account.
   */
  readonly service: string | null;
}

export type Content = { readonly body: string } | { readonly attachment: string };

/** One attempt to send one part of a message: its text or one of its files. */
export interface SendPart extends Attempt {
  readonly content: Content;
}

/** The result of one run of the send script. `number` is the AppleScript error number; null if none was printed. */
export type RunOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly number: number | null; readonly message: string }
  /** Killed at the time limit (decision D3) or by another program: it is unknown whether the message was sent. */
  | { readonly kind: 'killed' }
  /** osascript could not be started at all. */
  | { readonly kind: 'not_started'; readonly message: string };

/** Messages, controlled through osascript. */
export interface MessagesApp {
  /** Reports whether macOS is showing the dialog that asks the user to allow control of Messages. */
  isAsking(): Promise<boolean>;
  run(part: SendPart, signal: AbortSignal): Promise<RunOutcome>;
  /** Starts Messages and waits until it is running, at most 10 s (decision D2). */
  open(signal: AbortSignal): Promise<void>;
  /**
   * Returns the ids of the chats that Messages lists to scripts. The list may be incomplete, and is empty if Messages
   * does not answer.
   */
  liveChatIds(signal: AbortSignal): Promise<readonly string[]>;
}

/** A known chat, with the facts that a send needs. */
export interface KnownChat {
  readonly guid: string;
  /** `iMessage`, `SMS`, `RCS`; null when unknown. */
  readonly service: string | null;
  /** Id of the conversation in which its rows are listed, if it is one of several joined chats (decision AB7). */
  readonly conversation?: string;
}

/** An outgoing row of chat.db that is newer than a send. It may be the row of a part of this send (decision D5). */
export interface OwnRow {
  readonly rowId: number;
  readonly guid: string;
  /** Unix milliseconds. */
  readonly datedMs: number;
  /**
   * `style;identifier` of the row's chat: the part of the chat guid after the first `;`. Null while the row belongs to
   * no chat.
   */
  readonly address: string | null;
  readonly body: string;
  /** File names of the row's attachments. */
  readonly attachmentNames: readonly string[];
  /**
   * Messages stores a message with text and link as two rows. On the row of the link, this is the guid of the row with
   * the text. Absent on all other rows.
   */
  readonly textGuid?: string;
}

/** Looks up in chat.db what a send needs. Every method throws `chat_db_unavailable` while chat.db is unreadable. */
export interface SendLookup {
  /**
   * Returns the chats that `recipient` may refer to, best match first. `recipient` is any variant of a chat guid, or an
   * address (decision B4).
   */
  chats(recipient: string): readonly KnownChat[];
  /** Returns the highest row id that chat.db has ever used, even if that row was deleted. */
  highestRowId(): number;
  /** Returns outgoing rows above this row id, except those dated before `sinceMs` (Unix milliseconds). */
  ownRowsAbove(rowId: number, sinceMs: number): readonly OwnRow[];
  /**
   * Returns the service of the newest message that the owner sent to this address without an error. Ignores iMessages
   * that were not delivered.
   */
  newestServiceTo(address: string): string | undefined;
  /**
   * Reports whether the conversation of row `rowId` is new: whether all its rows have ids above `afterRowId`. Returns
   * false for a row without a conversation.
   */
  isNewChat(rowId: number, afterRowId: number): boolean;
  message(rowId: number): Message | undefined;
  /**
   * Reports whether an incoming message is the copy of one that the owner sent to oneself. `sent` holds the texts equal
   * to the message's that were sent and whose row was not found.
   */
  isMirror(message: Message, sent: readonly SentUnseen[]): boolean;
  /**
   * Returns the names of the subfolders of `stagingFolder` that contain a file to which chat.db still refers (decision
   * T2).
   */
  stagedFoldersInUse(stagingFolder: string): Promise<ReadonlySet<string>>;
}

export interface SendRequest extends SendPreferences {
  readonly recipient: string;
  readonly body: string;
  readonly attachments: readonly string[];
  /** Uploaded files, which are sent after the attachments (decision R1). */
  readonly uploads?: readonly UploadedFile[];
  /** A second request with this key sends nothing: it repeats the stored outcome (decision D9). */
  readonly idempotencyKey?: IdempotencyKey;
  /**
   * Recorded with each part of the message instead of `idempotencyKey`, so that the parts' rows can be found by this
   * key. The send does not claim this key, unlike `idempotencyKey`.
   */
  readonly recordedAs?: IdempotencyKey;
  /** Id of the limited key that sends, recorded with each part of the message. Absent for the owner. */
  readonly keyId?: string;
  /** Included in every log line of this send (decision E8). */
  readonly requestId?: string;
  /** True to send nothing and only report what the send would do. */
  readonly dryRun?: boolean;
  /** True if `attachments` are Postern's own copies, made when the send was held or deferred. */
  readonly areCopies?: boolean;
  /** Called just before each part is handed to Messages, or the send is deferred. If it throws, the send ends. */
  readonly check?: () => void;
}

/**
 * The result of a send. `confirmed` is true if the row of the message was found in chat.db. If not, `message` is
 * provisional: its ids are empty (decision D6).
 */
export interface SendResult {
  readonly confirmed: boolean;
  readonly message: Message;
  /** True if this is the stored result of an earlier request with the same `Idempotency-Key` (decision D9). */
  readonly replayed: boolean;
}

/** The answer to a dry run: what the request would do. Nothing is sent. */
export interface DryRun {
  readonly would: 'send' | 'hold';
  readonly to: string;
  /** The addresses of everyone who would receive the message. Empty for a recipient that cannot be resolved. */
  readonly members: readonly string[];
  readonly text: string;
}

export type SendAnswer =
  | ({ readonly kind: 'sent' } & SendResult)
  /** A feature makes the send later. */
  | { readonly kind: 'deferred'; readonly deferred: DeferredSend; readonly replayed: boolean }
  | { readonly kind: 'dry_run'; readonly dryRun: DryRun };

/** Sends on behalf of one caller: the owner or a limited key. */
export interface CallerSender {
  /**
   * Like `MessageSender.attachmentMistakes`, but returns no mistakes to a limited key, because they would reveal which
   * files exist.
   */
  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]>;
  /** Throws what `MessageSender.send` throws, and what refuses a limited key, such as `recipient_not_allowed`. */
  send(request: SendRequest): Promise<SendAnswer>;
}

export type GivenFiles = Pick<SendRequest, 'attachments' | 'uploads'>;

export interface MessageSender {
  /**
   * Returns the mistakes in these attachments (decision D7), with pointers like `/attachments/0`; empty if all can be
   * sent.
   */
  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]>;
  /**
   * Checks the attachments, then sends. Throws the problems of decisions D4, D7 and D9, such as `send_failed`,
   * `messages_unavailable` and `send_outcome_unknown`.
   */
  send(request: SendRequest): Promise<SendResult>;
}

/**
 * The stored outcome of a send with an `Idempotency-Key`, kept for 24 hours (decision D9). Contains no message text:
 * only an id or a problem.
 */
export type StoredOutcome =
  | { readonly state: 'running' }
  /** The process died while the send was running, so it is unknown whether the message was sent. */
  | { readonly state: 'interrupted' }
  | { readonly state: 'confirmed'; readonly rowId: number }
  /** Messages accepted the message, but its row had not appeared. `part` is the number of its first sent part. */
  | { readonly state: 'provisional'; readonly part?: number | undefined }
  /** The send was deferred, and may have ended since. The deferred send with this `id` has its current state. */
  | { readonly state: 'deferred'; readonly id: string }
  | { readonly state: 'problem'; readonly problem: string };

/** An earlier request with the same `Idempotency-Key`. */
export interface EarlierUse {
  readonly requestHash: string;
  readonly outcome: StoredOutcome;
}

export interface IdempotencyStore {
  /** Returns the key's earlier use, or undefined if there was none within 24 hours. */
  find(key: IdempotencyKey, nowMs: number): EarlierUse | undefined;
  /** Claims the key durably, or returns its earlier use. Deletes keys older than 24 hours. */
  claim(key: IdempotencyKey, requestHash: string, nowMs: number): 'claimed' | EarlierUse;
  finish(key: IdempotencyKey, outcome: StoredOutcome): void;
}

/**
 * An idempotency store that also keeps the keys of deferred sends, until 24 hours after the latest time to send.
 */
export interface DeferringStore extends IdempotencyStore {
  /**
   * Claims the key for a deferred send and calls `write` to store the send, in one transaction. Keeps the key until
   * 24 hours after `untilMs`.
   */
  defer(
    key: IdempotencyKey,
    requestHash: string,
    claim: { readonly id: string; readonly nowMs: number; readonly untilMs: number },
    write: () => void,
  ): 'claimed' | EarlierUse;
}
