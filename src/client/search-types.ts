import type { Message } from '../core/model/message.ts';

/** A match in the message's `body`, as UTF-16 offsets. The end is exclusive. */
export type Highlight = readonly [start: number, end: number];

/** Searchable texts of a message besides its body. */
export const SEARCHED_TEXTS = ['transcript', 'link', 'poll', 'app', 'subject'] as const;
export type SearchedTextKind = (typeof SEARCHED_TEXTS)[number];

export interface SearchHit {
  /** The message in its current state in chat.db. */
  readonly message: Message;
  /** The matches in the body, in order and without overlap; empty for a hit by file name. */
  readonly highlights: readonly Highlight[];
  /** The kind of another text that contains a search term missing from the body. Absent if there is no such text. */
  readonly in?: SearchedTextKind | undefined;
}

/** The state of the search index, as the status shows it. */
export interface SearchReport {
  readonly state: 'building' | 'complete' | 'failing';
  readonly indexed_rows: number;
  /** Upper bound of the number of rows to index. Includes rows that are never indexed, such as reactions. */
  readonly total_rows: number;
  /**
   * Date of the oldest indexed message, while older ones are still being added. Null if the index is complete or still
   * empty.
   */
  readonly indexed_from: string | null;
  /** Why the index is not being updated; null while it is. */
  readonly problem: string | null;
  /** Number of messages whose content is not indexed, because decoding it did not end; absent if there are none. */
  readonly skipped_rows?: number | undefined;
  /** The ids of the first of these messages. */
  readonly skipped_ids?: readonly string[] | undefined;
}
