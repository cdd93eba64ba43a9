import type { SearchHit, SearchQuery, SearchStatus } from '../search.ts';
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
