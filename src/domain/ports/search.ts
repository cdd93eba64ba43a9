import type { Message } from '../message.ts';
import type { SearchHit, SearchQuery, SearchStatus } from '../search.ts';
import type { Contacts } from './contacts.ts';
import type { Page } from './reading.ts';

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
   * Newest first. Each hit is read from chat.db again and matches as it is now. Rejects with AppError
   * `search_disabled`, `search_unavailable` (with the reason), `invalid_cursor` or `chat_db_unavailable`.
   */
  search(query: SearchQuery, page: SearchPage): Promise<Page<SearchHit>>;
}

/** What a person may call a conversation, or somebody who wrote. */
export interface ChatNames {
  /** Ids of the conversations that an id in any variant, an address, or the identifier of a group means, best first. */
  conversations(idOrAddress: string): readonly string[];
  /** Ids of those with this display name, whatever its case and accents. */
  named(name: string): readonly string[];
  /** Whether a message can have come from there: short codes and names of companies are addresses too. */
  isAddress(text: string): boolean;
}

/** Who and what can be named in a search. */
export interface SearchNames {
  readonly contacts: Contacts;
  readonly chats: ChatNames;
}

/** A message that lists show, found without its text. */
export interface ListedRow {
  readonly rowId: number;
  /** Seconds from 2001-01-01T00:00:00Z to its date. */
  readonly second: number;
  /** About as many bytes of text as it has. */
  readonly bytes: number;
}

export interface ListedRows {
  /** Newest first by date. */
  readonly rows: readonly ListedRow[];
  /** Where the next ones begin; absent at the end. */
  readonly next?: string;
}

/** chat.db as the index reads it. Everything fails with AppError `chat_db_unavailable` while it cannot be read. */
export interface IndexSource {
  /** The messages that lists show, behind a place of an earlier answer. */
  listed(after: string | undefined, limit: number): Promise<ListedRows>;
  /** For each row id its message; undefined for what lists do not show: gone, deleted by the person, a reaction. */
  messages(rowIds: readonly number[]): readonly (Message | undefined)[];
  /** For each row id the conversation its message is in, without its text; undefined for what is in none. */
  conversations(rowIds: readonly number[]): readonly (string | undefined)[];
  /** Rows of all kinds. */
  count(): Promise<number>;
}
