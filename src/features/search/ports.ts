import type { SearchHit, SearchReport } from '../../client/search-types.ts';
import type { ListedRow, ListedRows } from '../../core/chatdb/public.ts';
import type { Message } from '../../core/model/message.ts';
import type { ChatNames } from '../../core/model/ports/chat-names-ports.ts';
import type { NameSource } from '../../core/model/ports/names-ports.ts';
import type { Page } from '../../core/model/ports/reading-ports.ts';
import type { SearchableMessage, SearchQuery, SearchStatus } from './types.ts';

export type { ListedRow, ListedRows, SearchReport };

export interface SearchPage {
  /** Maximum number of hits on the page, at least 1. */
  readonly limit: number;
  /** `next` of an earlier page of the same query; absent for the first page. */
  readonly cursor?: string | undefined;
}

/** Full-text search over the messages of chat.db (decisions J1, J2). */
export interface SearchIndex {
  status(): SearchStatus;
  /**
   * Returns hits, newest first. Reads the message of each hit from chat.db again, so that the hit shows the current
   * text. Rejects with AppError `search_disabled`, `search_unavailable` (with the reason), `invalid_cursor` or
   * `chat_db_unavailable`.
   */
  search(query: SearchQuery, page: SearchPage): Promise<Page<SearchHit>>;
}

/** The search of a caller. */
export interface CallerSearch extends SearchIndex {
  /** The conversations and senders that a query can name. */
  readonly chats: ChatNames;
}

/** The sources in which a search looks up the names of people and conversations. */
export interface SearchNames {
  readonly naming: NameSource;
  readonly chats: ChatNames;
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
   * Returns the messages that `IndexSource.messages` returns, with their searchable texts. Messages of skipped rows
   * have only their body and attachments.
   */
  searchable(rowIds: readonly number[], notes: DecodingNotes): readonly (SearchableMessage | undefined)[];
  /**
   * Returns the conversation id of each row id, without reading message texts; undefined for a row without a
   * conversation.
   */
  conversations(rowIds: readonly number[]): readonly (string | undefined)[];
}
