import type { Message } from './message.ts';

/** The longest search, in characters. */
export const MAX_SEARCH_CHARACTERS = 500;

/** One thing that a message must contain, in the person's own spelling. */
export interface SearchTerm {
  /** A word as a whole, words in exactly this order, or how a word begins. */
  readonly kind: 'word' | 'phrase' | 'prefix';
  readonly text: string;
}

/** Who wrote a message: the person of this Mac, or one of these addresses in any spelling of a handle. */
export type SearchSender = { readonly isMe: true } | { readonly isMe: false; readonly addresses: readonly string[] };

/** A question to the index (decision J2). All of it must hold; an empty list demands nothing. */
export interface SearchQuery {
  readonly terms: readonly SearchTerm[];
  /** Words that the message must not contain. */
  readonly excluded: readonly string[];
  /** By one of them. */
  readonly senders: readonly SearchSender[];
  /** For each list: in one of its conversations. Ids as stored in chat.db, as `Conversation.id` has them. */
  readonly conversations: readonly (readonly string[])[];
  readonly hasAttachment: boolean;
  /** From this instant on, Unix milliseconds. */
  readonly fromMs?: number | undefined;
  /** Strictly before this instant, Unix milliseconds. */
  readonly beforeMs?: number | undefined;
}

/** UTF-16 offsets into `body`; the second is behind the last unit. */
export type Highlight = readonly [start: number, end: number];

export interface SearchHit {
  /** As chat.db has it now. */
  readonly message: Message;
  /** What was found in the body, in order and not overlapping; none for a hit by the name of a file. */
  readonly highlights: readonly Highlight[];
}

/** State of the index. */
export interface SearchStatus {
  readonly isEnabled: boolean;
  /** False while older messages are still being added. */
  readonly isComplete: boolean;
  /** Messages from this instant on can be found (`YYYY-MM-DDTHH:MM:SSZ`); absent when complete, and before the first. */
  readonly indexedFrom?: string | undefined;
  readonly indexedRows: number;
  /** How many rows chat.db may have to index; reactions are among them, and are not indexed. */
  readonly totalRows: number;
  /** Why the index is not kept up to date now, for a person. */
  readonly problem?: string | undefined;
}
