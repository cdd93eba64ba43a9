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
  /** Why its service was used, if the request chose one (decision X3). */
  readonly serviceReason?: ServiceReason | undefined;
  readonly idempotencyKey: IdempotencyKey | undefined;
  /** Id of the limited key that sent it. */
  readonly keyId?: string | undefined;
  /** Highest row id before the run; undefined if chat.db was unavailable. */
  readonly afterRowId: number | undefined;
  readonly chat: ExpectedChat;
  /** Hash of its text or file name, by which its row is recognised. */
  readonly content: string;
}

/** A part whose row may still appear. */
export interface OpenPart extends Omit<NewSentPart, 'requestId' | 'idempotencyKey' | 'keyId'> {
  readonly number: number;
  readonly afterRowId: number;
}

/** The part that belongs to a row of chat.db. */
export interface PairedPart {
  readonly guid: string;
  readonly requestId: string | undefined;
  readonly serviceReason: ServiceReason | undefined;
  /** The client's `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined;
  readonly keyId: string | undefined;
}

/**
 * The parts that this service has sent, and their rows: 30 days, at most 100,000 parts (decision I5). Contains no text.
 */
export interface SentPartStore {
  /** Records a part, durably even through a power failure. Returns the part's number. */
  record(part: NewSentPart): number;
  /** Replaces the expected chat, which may differ at the next attempt. */
  setChat(number: number, chat: ExpectedChat): void;
  /** Removes a part that was certainly not sent. */
  remove(number: number): void;
  pair(number: number, rowId: number, guid: string): void;
  /** Stops waiting for the part's row. `highestRowId` is the highest row id so far. */
  giveUp(number: number, highestRowId: number): void;
  /** Returns the open parts in the order in which they were recorded. */
  open(): readonly OpenPart[];
  /** Returns the row of the newest part with this key that has a row. */
  rowOf(key: IdempotencyKey): number | undefined;
  /** Returns the part that was sent as this row; undefined if there is none. */
  ofRow(rowId: number): PairedPart | undefined;
  /**
   * Returns the expected chat of each part that still lacks a row and could have led to this row. With `contents`,
   * considers only parts with one of these contents.
   */
  unpaired(rowId: number, contents?: readonly string[]): readonly ExpectedChat[];
  /** Returns the row id above which the record of sent parts is complete. Undefined before `begin`. */
  completeSince(): number | undefined;
  /** Stores the initial row id of `completeSince`. */
  begin(rowId: number): void;
}
