import type { SearchedTextKind } from '../../client/search-types.ts';
import type { Message } from '../../core/model/message.ts';

/** The longest search, in characters. */
export const MAX_SEARCH_CHARACTERS = 500;

/** One search condition, as the user typed it. */
export interface SearchTerm {
  /** A whole word, words in exactly this order, or the beginning of a word. */
  readonly kind: 'word' | 'phrase' | 'prefix';
  readonly text: string;
  /** The number that consecutive words may form, such as `555 010 0100`. Absent for other words. */
  readonly number?: string | undefined;
}

/**
 * A sender to search for: the user of this Mac, or a person with one of these addresses, however the address is
 * spelled.
 */
export type SearchSender = { readonly isMe: true } | { readonly isMe: false; readonly addresses: readonly string[] };

/** A query to the index (decision J2). Every condition must hold; an empty list is no condition. */
export interface SearchQuery {
  readonly terms: readonly SearchTerm[];
  /** Words that the message must not contain. */
  readonly excluded: readonly string[];
  /** The message must be from one of these senders. */
  readonly senders: readonly SearchSender[];
  /**
   * Lists of conversation ids. The message must be in at least one conversation of every list. Ids are spelled as in
   * chat.db, like `Conversation.id`.
   */
  readonly conversations: readonly (readonly string[])[];
  /** Ids of conversations whose messages the search ignores. */
  readonly without?: readonly string[];
  readonly hasAttachment: boolean;
  /** From this instant (inclusive), Unix milliseconds. */
  readonly fromMs?: number | undefined;
  /** Before this instant (exclusive), Unix milliseconds. */
  readonly beforeMs?: number | undefined;
}

/** A message with its searchable texts besides the body. */
export interface SearchableMessage extends Message {
  /**
   * The names of its attachments, also of those without a path, which `attachments` lacks; "" for one without a name.
   * Absent if there are no attachments.
   */
  readonly fileNames?: readonly string[] | undefined;
  readonly texts?: readonly (readonly [kind: SearchedTextKind, text: string])[] | undefined;
}

/** The state of the search index. */
export interface SearchStatus {
  readonly isEnabled: boolean;
  /** False while older messages are still being added. */
  readonly isComplete: boolean;
  /**
   * Date of the oldest indexed message (`YYYY-MM-DDTHH:MM:SSZ`), while older ones are still being added. Absent if the
   * index is complete or still empty.
   */
  readonly indexedFrom?: string | undefined;
  readonly indexedRows: number;
  /** Upper bound of the number of rows to index. Includes rows that are never indexed, such as reactions. */
  readonly totalRows: number;
  /** Why the index is not being updated, as a sentence for the user. */
  readonly problem?: string | undefined;
  /**
   * Row ids of the messages whose content is not indexed, because decoding it did not end. Absent if there are none.
   */
  readonly skippedRows?: readonly number[];
}
