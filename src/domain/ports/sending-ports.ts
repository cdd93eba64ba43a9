import type { Approval, HeldFile } from '../approval.ts';
import type { Mistake } from '../errors.ts';
import type { IdempotencyKey } from '../idempotency-key.ts';
import type { Message } from '../message.ts';
import type { ScheduledSend } from '../scheduled.ts';
import type { SendPreferences } from '../send-service.ts';
import type { UploadedFile } from './uploads-ports.ts';

/** One way to reach the recipient: exactly one run of the send script (decision T1). */
export interface Attempt {
  /** The address for a participant lookup, or the group id as received. */
  readonly recipient: string;
  /** The chat to send to; null sends to the recipient as a participant. */
  readonly chatId: string | null;
  /** Service of the chat, or of the account used for the participant lookup; null for any account. */
  readonly service: string | null;
}

export type Content = { readonly body: string } | { readonly attachment: string };

/** One part of a send, and one way to reach the recipient. */
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
  run(part: SendPart, signal: AbortSignal): Promise<RunOutcome>;
  /** Starts Messages and waits until it is up, at most 10 s (decision D2). */
  open(signal: AbortSignal): Promise<void>;
  /** Ids of the chats in Messages' own list, which may be incomplete; empty if Messages does not answer. */
  liveChatIds(signal: AbortSignal): Promise<readonly string[]>;
}

/** A known chat, with the facts that a send needs. */
export interface KnownChat {
  readonly guid: string;
  /** `iMessage`, `SMS`, `RCS`; null when unknown. */
  readonly service: string | null;
}

/** An outgoing row above a given row id. It may be the row of a sent part (decision D5). */
export interface OwnRow {
  readonly rowId: number;
  readonly guid: string;
  /** Unix milliseconds. */
  readonly datedMs: number;
  /** `style;identifier` of its chat, which is the chat guid after its first `;`; null while it has no chat. */
  readonly address: string | null;
  readonly body: string;
  /** File names of its attachments. */
  readonly attachmentNames: readonly string[];
  /**
   * Messages stores some messages as two rows, one with the text and one with the link. Only on the row with the link:
   * guid of the row with the text.
   */
  readonly textGuid?: string;
}

/** The lookups of a send in chat.db. Every method throws `chat_db_unavailable` while chat.db is unreadable. */
export interface SendLookup {
  /**
   * Returns the chats that the typed recipient may refer to, best match first: any spelling of a chat guid, or an
   * address (decision B4).
   */
  chats(recipient: string): readonly KnownChat[];
  /** Returns the highest row id ever used. */
  highestRowId(): number;
  ownRowsAbove(rowId: number): readonly OwnRow[];
  /**
   * Returns the service of the newest message that was sent to this address without an error. Ignores an iMessage that
   * was not delivered.
   */
  newestServiceTo(address: string): string | undefined;
  /**
   * Reports whether the row's conversation began after `afterRowId`: all its rows are newer. Returns false for a row
   * without a conversation.
   */
  isNewChat(rowId: number, afterRowId: number): boolean;
  message(rowId: number): Message | undefined;
  /**
   * Returns the names of the folders in the staging folder that are still in use: chat.db refers to one of their files
   * (decision T2).
   */
  stagedFoldersInUse(stagingFolder: string): Promise<ReadonlySet<string>>;
}

export interface SendRequest extends SendPreferences {
  readonly recipient: string;
  /** The Mac to send from, by id or by one of its addresses; only at a hub (decision N1). */
  readonly from?: string | undefined;
  readonly body: string;
  readonly attachments: readonly string[];
  /** Uploaded files, which are sent after the attachments (decision R1). */
  readonly uploads?: readonly UploadedFile[];
  /** A repeat under the same key sends nothing (decision D9). */
  readonly idempotencyKey?: IdempotencyKey;
  /**
   * The key to record with the parts instead of `idempotencyKey`, so that their rows can be found by it. The send does
   * not claim this key.
   */
  readonly recordedAs?: IdempotencyKey;
  /** Recorded with the parts: id of the limited key that sends; absent for the owner. */
  readonly keyId?: string;
  /** Included in every log line of this send (decision E8). */
  readonly requestId?: string;
  /** Only reports what would happen (decision L1). */
  readonly dryRun?: boolean;
  /** The attachments are copies that Postern made when the send was held. */
  readonly areCopies?: boolean;
  /** Called just before each part is handed to Messages. If it throws, the send ends. */
  readonly check?: () => void;
}

/** The result of a send. `confirmed` if its row was found; otherwise the Message is provisional (decision D6). */
export interface SendResult {
  readonly confirmed: boolean;
  readonly message: Message;
  /** True if this is a stored outcome of an earlier send (decision D9). */
  readonly replayed: boolean;
}

/** The answer to a dry run. Nothing is sent. */
export interface DryRun {
  readonly would: 'send' | 'hold';
  readonly to: string;
  /** The addresses of everyone who would read it. */
  readonly members: readonly string[];
  readonly text: string;
}

export type SendAnswer =
  | ({ readonly kind: 'sent' } & SendResult)
  /** The send waits for the owner's decision (decision L3). */
  | { readonly kind: 'held'; readonly approval: Approval }
  /** The send waits for its time (decision X1). */
  | { readonly kind: 'scheduled'; readonly scheduled: ScheduledSend; readonly replayed: boolean }
  | { readonly kind: 'dry_run'; readonly dryRun: DryRun };

/** Sends for one caller. */
export interface CallerSender {
  /** Like `MessageSender.attachmentMistakes`, but silent about files that the caller may not send. */
  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]>;
  /** Throws what `MessageSender.send` throws, and the refusals of decision L2. */
  send(request: SendRequest): Promise<SendAnswer>;
}

export type GivenFiles = Pick<SendRequest, 'attachments' | 'uploads'>;

/** Stores copies of the files of held sends. */
export interface HeldFiles {
  /** Copies files that may be sent. Throws the problems with them, or `storage_full` above `maxBytes`. */
  copy(id: string, given: GivenFiles, maxBytes: number): Promise<readonly HeldFile[]>;
  /** Returns the paths of the copies. Throws `attachment_changed` if a copy no longer matches. */
  paths(id: string, files: readonly HeldFile[]): Promise<readonly string[]>;
  remove(id: string): Promise<void>;
  /** Removes all copies except those that belong to these ids. */
  keepOnly(ids: ReadonlySet<string>): Promise<void>;
}

export interface MessageSender {
  /**
   * Returns the mistakes in these attachments (decision D7), with pointers like `/attachments/0`; empty if all can be
   * sent.
   */
  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]>;
  /** Sends, after checking the attachments. Throws AppError as decisions D4, D7 and D9 say. */
  send(request: SendRequest): Promise<SendResult>;
}

/**
 * Outcome of an earlier send, kept for 24 hours (decision D9). Contains no message text: only an id or a problem.
 */
export type StoredOutcome =
  | { readonly state: 'running' }
  /** The process died while the send was running: it is unknown whether it was sent. */
  | { readonly state: 'interrupted' }
  | { readonly state: 'confirmed'; readonly rowId: number }
  | { readonly state: 'provisional' }
  /** Scheduled for a later time, or already sent at its time: the entry tells which. */
  | { readonly state: 'scheduled'; readonly id: string }
  | { readonly state: 'problem'; readonly problem: string };

/** An earlier use of a key. */
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

/** An idempotency store whose claims can outlive the time of a scheduled send (decision X1). */
export interface SchedulingStore extends IdempotencyStore {
  /**
   * Claims the key for a scheduled send and calls `write` to store the send, in one transaction. Keeps the key until
   * 24 hours after `untilMs`.
   */
  schedule(
    key: IdempotencyKey,
    requestHash: string,
    claim: { readonly id: string; readonly nowMs: number; readonly untilMs: number },
    write: () => void,
  ): 'claimed' | EarlierUse;
}
