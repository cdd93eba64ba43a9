import type { Approval, HeldFile } from '../approval.ts';
import type { Mistake } from '../errors.ts';
import type { IdempotencyKey } from '../idempotency-key.ts';
import type { Message } from '../message.ts';
import type { SendPreferences } from '../send-service.ts';
import type { UploadedFile } from './uploads.ts';

/** One way to reach the recipient: exactly one run of the send script (decision T1). */
export interface Attempt {
  /** The address for a participant lookup, or the group id as given. */
  readonly recipient: string;
  /** The chat to send to; null sends to the recipient as a participant. */
  readonly chatId: string | null;
  /** Service of the chat, or of the account that the participant is looked up in; null: whatever account. */
  readonly service: string | null;
}

export type Content = { readonly body: string } | { readonly attachment: string };

/** One part of a send, by one way. */
export interface SendPart extends Attempt {
  readonly content: Content;
}

/** How one run ended. `number` is the AppleScript error number, null when none was printed. */
export type RunOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly number: number | null; readonly message: string }
  /** Time limit reached and killed (decision D3), or killed by somebody: nobody knows whether it was sent. */
  | { readonly kind: 'killed' }
  /** osascript could not be started at all. */
  | { readonly kind: 'not_started'; readonly message: string };

/** Messages, driven by osascript. */
export interface MessagesApp {
  run(part: SendPart, signal: AbortSignal): Promise<RunOutcome>;
  /** Starts Messages and waits until it is up, at most 10 s (decision D2). */
  open(signal: AbortSignal): Promise<void>;
  /** Ids of the chats in Messages' own list, which may lack some; none when it cannot be asked. */
  liveChatIds(signal: AbortSignal): Promise<readonly string[]>;
}

/** A known chat as a send needs it. */
export interface KnownChat {
  readonly guid: string;
  /** `iMessage`, `SMS`, `RCS`; null when unknown. */
  readonly service: string | null;
}

/** An own row above a mark, as a candidate for a send's confirmation (decision D5). */
export interface OwnRow {
  readonly rowId: number;
  readonly guid: string;
  /** Unix milliseconds. */
  readonly datedMs: number;
  /** `style and identifier` of its chat: the chat guid after its first `;`, null while it has no chat. */
  readonly address: string | null;
  readonly body: string;
  /** File names of its attachments. */
  readonly attachmentNames: readonly string[];
  /** Of the link of a message that is two rows: guid of the row with its text. */
  readonly textGuid?: string;
}

/** What a send asks chat.db. Every method throws `chat_db_unavailable` while it cannot be read. */
export interface SendLookup {
  /** Chats that the typed recipient means, best first: any spelling of a chat guid, or an address (decision B4). */
  chats(recipient: string): readonly KnownChat[];
  /** Highest row id there ever was. */
  highestRowId(): number;
  ownRowsAbove(rowId: number): readonly OwnRow[];
  /** The service of the newest own message to this address that was delivered, or sent by a service without receipts. */
  newestServiceTo(address: string): string | undefined;
  /** Reports whether the conversation of this row has no row up to `afterRowId`. False for a row without one. */
  isNewChat(rowId: number, afterRowId: number): boolean;
  message(rowId: number): Message | undefined;
  /** Names of the folders in the staging folder that hold a file which chat.db refers to (decision T2). */
  stagedFoldersInUse(stagingFolder: string): Promise<ReadonlySet<string>>;
}

export interface SendRequest extends SendPreferences {
  readonly recipient: string;
  /** At a hub alone: the Mac, or one of its own addresses (decision N1). */
  readonly from?: string | undefined;
  readonly body: string;
  readonly attachments: readonly string[];
  /** Files that were uploaded, which follow the attachments (decision R1). */
  readonly uploads?: readonly UploadedFile[];
  /** A repeat under the same key sends nothing (decision D9). */
  readonly idempotencyKey?: IdempotencyKey;
  /** Part of every log line of this send (decision E8). */
  readonly requestId?: string;
  /** Only says what would happen (decision L1). */
  readonly dryRun?: boolean;
  /** The attachments are copies that Postern made when the send was held. */
  readonly areCopies?: boolean;
  /** Called in its turn, just before each part is handed to Messages; what it throws ends the send. */
  readonly check?: () => void;
}

/** Decision D6: `confirmed` when its row was found, else the Message is provisional. */
export interface SendResult {
  readonly confirmed: boolean;
  readonly message: Message;
  /** True when this is a stored outcome given again (decision D9). */
  readonly replayed: boolean;
}

/** The answer to a dry run: nothing is sent. */
export interface DryRun {
  readonly would: 'send' | 'hold';
  readonly to: string;
  /** Its readers. */
  readonly members: readonly string[];
  readonly text: string;
}

export type SendAnswer =
  | ({ readonly kind: 'sent' } & SendResult)
  /** It waits for the owner's decision (decision L3). */
  | { readonly kind: 'held'; readonly approval: Approval }
  | { readonly kind: 'dry_run'; readonly dryRun: DryRun };

/** Sends for one caller. */
export interface CallerSender {
  /** As with `MessageSender`; says nothing about files that the caller may not send. */
  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]>;
  /** Besides what `MessageSender.send` throws, the refusals of decision L2. */
  send(request: SendRequest): Promise<SendAnswer>;
}

/** The files of a send. */
export type GivenFiles = Pick<SendRequest, 'attachments' | 'uploads'>;

/** Copies of the files of held sends. */
export interface HeldFiles {
  /** Copies files that may be sent; throws what is wrong with them, or `storage_full` above `maxBytes`. */
  copy(id: string, given: GivenFiles, maxBytes: number): Promise<readonly HeldFile[]>;
  /** Paths of the copies; throws `attachment_changed` when one is not what was copied. */
  paths(id: string, files: readonly HeldFile[]): Promise<readonly string[]>;
  remove(id: string): Promise<void>;
  /** Removes all copies but those for these ids. */
  keepOnly(ids: ReadonlySet<string>): Promise<void>;
}

export interface MessageSender {
  /**
   * What is wrong with these attachments (decision D7), with pointers like `/attachments/0`; none when all can be
   * sent.
   */
  attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]>;
  /** Checks the attachments itself; throws AppError as decisions D4, D7 and D9 say. */
  send(request: SendRequest): Promise<SendResult>;
}

/** Outcome of an earlier send kept for 24 hours (decision D9). No text: hashes, a row id or a problem. */
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
  /** Returns what became of the key, or undefined when it was not used within 24 hours. */
  find(key: IdempotencyKey, nowMs: number): EarlierUse | undefined;
  /** Claims the key durably, or returns what it was used for. Keys older than 24 hours are forgotten. */
  claim(key: IdempotencyKey, requestHash: string, nowMs: number): 'claimed' | EarlierUse;
  finish(key: IdempotencyKey, outcome: StoredOutcome): void;
}
