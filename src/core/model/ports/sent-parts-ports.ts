import type { IdempotencyKey } from '../idempotency-key.ts';
import type { ServiceReason } from '../send-service.ts';

/**
 * The chat in which a sent part's row is expected (decision D5). `address`: the chat with this `style;identifier`.
 * `one_to_one`: any one-to-one chat, because for a send to a participant Messages itself chooses among that person's
 * chats. `any`: any chat, or none.
 */
export type ExpectedChat = { readonly address: string } | 'one_to_one' | 'any';

/** One part of a send, recorded before it is handed to Messages (decision I5). */
export interface NewSentPart {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly requestId: string | undefined;
  /** Why the part's service was used. Recorded only if the request chose a service (decision X3). */
  readonly serviceReason?: ServiceReason | undefined;
  readonly idempotencyKey: IdempotencyKey | undefined;
  /** Id of the limited key that sent the part; absent for the owner. */
  readonly keyId?: string | undefined;
  /**
   * Highest row id of chat.db just before the part was handed to Messages: the part's row has a higher one. Undefined
   * if chat.db was unavailable.
   */
  readonly afterRowId: number | undefined;
  readonly chat: ExpectedChat;
  /** Hash of the part's text or file name, by which the part's row in chat.db is recognised. */
  readonly content: string;
}

/** A sent part whose row in chat.db was not found yet, but may still appear. */
export interface OpenPart extends Omit<NewSentPart, 'requestId' | 'idempotencyKey' | 'keyId'> {
  readonly number: number;
  readonly afterRowId: number;
}

/** A sent part whose row in chat.db was not found. `address` is the `style;identifier` of its chat. */
export interface SentUnseen {
  readonly atMs: number;
  readonly address: string;
}

/** A sent part whose row in chat.db was found. */
export interface PairedPart {
  readonly guid: string;
  readonly requestId: string | undefined;
  readonly serviceReason: ServiceReason | undefined;
  /** The client's `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined;
  readonly keyId: string | undefined;
}

/**
 * Keeps the parts that this service sent and the rows of chat.db that they became, for 30 days and at most 100,000
 * parts (decision I5). Contains no text.
 */
export interface SentPartStore {
  /** Records a part, durably even through a power failure. Returns the part's number. */
  record(part: NewSentPart): number;
  /** Replaces the chat in which the part's row is expected, because the next attempt may use another chat. */
  setChat(number: number, chat: ExpectedChat): void;
  /** Removes a part that was certainly not sent. */
  remove(number: number): void;
  pair(number: number, rowId: number, guid: string): void;
  /** Records that another row may be the part's instead. The origins of both are then uncertain. */
  doubt(number: number): void;
  /** Stops waiting for the part's row. `highestRowId` is the highest row id of chat.db at that moment. */
  giveUp(number: number, highestRowId: number): void;
  /** Returns the open parts in the order in which they were recorded. */
  open(): readonly OpenPart[];
  /** Returns the row ids of the parts with this key, the newest part's last. Ignores parts whose row was not found. */
  rowsOf(key: IdempotencyKey): readonly number[];
  /** Returns when the part was recorded, and its row id if its row was found. Undefined if the part was removed. */
  part(number: number): { readonly atMs: number; readonly rowId: number | undefined } | undefined;
  /** Returns the sent part that became row `rowId`; undefined if there is none, or if that is in doubt. */
  ofRow(rowId: number): PairedPart | undefined;
  /**
   * Returns the expected chats of parts whose row was not found yet and may be row `rowId`. With `contents`, considers
   * only parts with one of these content hashes.
   */
  unpaired(rowId: number, contents?: readonly string[]): readonly ExpectedChat[];
  /**
   * Returns the parts with one of these content hashes that were sent to a known chat in this time, in Unix
   * milliseconds, and whose row was not found.
   */
  withoutRow(contents: readonly string[], fromMs: number, toMs: number): readonly SentUnseen[];
  /**
   * Returns the row id after which this store is complete: the store contains the sent part of every later row that
   * this service sent. Undefined before `begin`.
   */
  completeSince(): number | undefined;
  /** Stores the initial row id of `completeSince`. */
  begin(rowId: number): void;
}
