import type { Message } from '../message.ts';
import type { SearchableMessage, SearchHit, SearchQuery, SearchStatus } from '../search.ts';
import type { NameSource } from './names-ports.ts';
import type { Page } from './reading-ports.ts';

export interface SearchPage {
  /** Maximum number of hits on the page, at least 1. */
  readonly limit: number;
  /** `next` of an earlier page of the same query; absent for the first page. */
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

/** Looks up the conversations and senders that a search names. */
export interface ChatNames {
  /**
   * Returns the ids of the conversations that the text may refer to, best first. The text is a conversation id in any
   * variant, an address, or the identifier in a group's id.
   */
  conversations(idOrAddress: string): readonly string[];
  /** Returns the ids of the conversations with this display name. Ignores case and accents. */
  named(name: string): readonly string[];
  /**
   * Reports whether chat.db knows somebody with this address, ignoring case. Short codes and company names are
   * addresses too.
   */
  isAddress(text: string): boolean;
}

/** The sources in which a search looks up the names of people and conversations. */
export interface SearchNames {
  readonly naming: NameSource;
  readonly chats: ChatNames;
}

/** A message that `GET /messages` would list, without its text. */
export interface ListedRow {
  readonly rowId: number;
  /** The message's date, in seconds since 2001-01-01T00:00:00Z. */
  readonly second: number;
  /** Approximate size of the message's text in bytes. */
  readonly bytes: number;
}

export interface ListedRows {
  /** The messages, in order of their dates, newest first. */
  readonly rows: readonly ListedRow[];
  /** Pass this as `after` to get the next page; absent on the last page. */
  readonly next?: string;
}

/**
 * chat.db as the index reads it. Every method fails with AppError `chat_db_unavailable` while chat.db is unreadable.
 */
export interface IndexSource {
  /**
   * Returns a page of at most `limit` messages, with the same selection as `GET /messages`. `after` is `next` of the
   * previous page; undefined for the first page.
   */
  listed(after: string | undefined, limit: number): Promise<ListedRows>;
  /**
   * Returns the message of each row id, without decoding its content. Undefined for a row that no longer exists, that
   * the user deleted, or that is a reaction or hidden.
   */
  messages(rowIds: readonly number[]): readonly (Message | undefined)[];
  /** Returns the number of rows in chat.db's table of messages, which includes reactions and deleted messages. */
  count(): Promise<number>;
}

/** The rows whose content must not be decoded, and where to note each row before it is decoded. */
export interface DecodingNotes {
  isSkipped(rowId: number): boolean;
  begin(rowId: number): void;
}

/** chat.db as the reader thread searches it. Methods fail as those of `IndexSource` do. */
export interface SearchedSource {
  /**
   * Returns the messages that `IndexSource.messages` returns, with their searchable texts. Messages of skipped rows have
   * only their body and attachments.
   */
  searchable(rowIds: readonly number[], notes: DecodingNotes): readonly (SearchableMessage | undefined)[];
  /**
   * Returns the conversation id of each row id, without reading message texts; undefined for a row without a
   * conversation.
   */
  conversations(rowIds: readonly number[]): readonly (string | undefined)[];
}
