import type { SearchableMessage, SearchHit, SearchQuery, SearchStatus } from '../search.ts';
import type { Contacts } from './contacts-ports.ts';
import type { Page } from './reading-ports.ts';

export interface SearchPage {
  /** Hits on the page, at least 1. */
  readonly limit: number;
  /** `next` of an earlier page of the same query. */
  readonly cursor?: string | undefined;
}

/** Full-text search over the messages of chat.db (decision J). */
export interface SearchIndex {
  status(): SearchStatus;
  /**
   * Returns hits, newest first. Reads the message of each hit from chat.db again, so that the hit shows the current
   * text. Rejects with AppError `search_disabled`, `search_unavailable` (with the reason), `invalid_cursor` or
   * `chat_db_unavailable`.
   */
  search(query: SearchQuery, page: SearchPage): Promise<Page<SearchHit>>;
}

/** Looks up conversations and senders by the names that people use. */
export interface ChatNames {
  /**
   * Ids of the conversations that an id in any variant, an address or a group's identifier may refer to, best first.
   */
  conversations(idOrAddress: string): readonly string[];
  /** Ids of the conversations with this display name, ignoring case and accents. */
  named(name: string): readonly string[];
  /** Reports whether the text can be a sender. Short codes and company names are addresses too. */
  isAddress(text: string): boolean;
}

/** Everything that a search can refer to by name. */
export interface SearchNames {
  readonly contacts: Contacts;
  readonly chats: ChatNames;
}

/** A message shown in lists, without its text. */
export interface ListedRow {
  readonly rowId: number;
  /** Seconds from 2001-01-01T00:00:00Z to its date. */
  readonly second: number;
  /** Approximate size of its text in bytes. */
  readonly bytes: number;
}

export interface ListedRows {
  /** Newest first by date. */
  readonly rows: readonly ListedRow[];
  /** The start of the next page; absent on the last. */
  readonly next?: string;
}

/**
 * chat.db as the index reads it. Every method fails with AppError `chat_db_unavailable` while chat.db is unreadable.
 */
export interface IndexSource {
  /** Returns a page of the messages shown in lists. `after` is `next` of the previous page; undefined for the first. */
  listed(after: string | undefined, limit: number): Promise<ListedRows>;
  /**
   * Returns the message of each row id; undefined if lists do not show it: gone, deleted by the user, or a reaction.
   */
  messages(rowIds: readonly number[]): readonly (SearchableMessage | undefined)[];
  /** The conversation of each row id, read without text; undefined if there is none. */
  conversations(rowIds: readonly number[]): readonly (string | undefined)[];
  /** Returns the number of rows of all kinds. */
  count(): Promise<number>;
}
