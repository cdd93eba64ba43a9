import type { IdempotencyKey } from '../idempotency-key.ts';
import type { ServiceReason } from '../send-service.ts';

/**
 * Where the row of a sent part may be: in the chat with this `style;identifier`, in any one-to-one chat, or in any chat
 * and none (decision D5). Sent to a participant, Messages itself chooses among the one-to-one chats of that person.
 */
export type ExpectedChat = { readonly address: string } | 'one_to_one' | 'any';

/** One part of a send, as it is recorded before it is handed to Messages (decision I5). */
export interface NewSentPart {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly requestId: string | undefined;
  /** Why it went by its service, where the request asked (decision X3). */
  readonly serviceReason?: ServiceReason | undefined;
  readonly idempotencyKey: IdempotencyKey | undefined;
  /** Highest row id before the run; undefined while chat.db was away. */
  readonly afterRowId: number | undefined;
  readonly chat: ExpectedChat;
  /** Hash of its text or file name, which its row has too. */
  readonly content: string;
}

/** A part whose row may still come. */
export interface OpenPart extends Omit<NewSentPart, 'requestId' | 'idempotencyKey'> {
  readonly number: number;
  readonly afterRowId: number;
}

/** The part that a row of chat.db was sent as. */
export interface PairedPart {
  readonly guid: string;
  readonly requestId: string | undefined;
  readonly serviceReason: ServiceReason | undefined;
  /** The client's `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined;
}

/** The parts that this service has sent, and their rows: 30 days, 100,000 parts (decision I5). No text is kept. */
export interface SentPartStore {
  /** Durable, also through a power failure. Gives the part's number. */
  record(part: NewSentPart): number;
  /** The chat may be another one with the next attempt. */
  setChat(number: number, chat: ExpectedChat): void;
  /** It was certainly not sent. */
  remove(number: number): void;
  pair(number: number, rowId: number, guid: string): void;
  /** Its row is not waited for any more; `highestRowId` is the highest one by now. */
  giveUp(number: number, highestRowId: number): void;
  /** In the order in which they were recorded. */
  open(): readonly OpenPart[];
  /** undefined for a row that belongs to no part. */
  ofRow(rowId: number): PairedPart | undefined;
  /** Where the parts without a row are expected that this row could belong to: one of these contents, or any. */
  unpaired(rowId: number, contents?: readonly string[]): readonly ExpectedChat[];
  /** Every part with a row above this one is recorded here; undefined before `begin`. */
  completeSince(): number | undefined;
  /** From this row on every part is recorded. */
  begin(rowId: number): void;
}
