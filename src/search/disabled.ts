import type { SearchIndex } from '../domain/ports/search.ts';
import { problem } from '../domain/problems.ts';
import type { SearchHit, SearchQuery, SearchStatus } from '../domain/search.ts';

const STATUS: SearchStatus = { isEnabled: false, isComplete: false, indexedRows: 0, totalRows: 0 };

/** Search while it is switched off. */
export const disabledSearch: SearchIndex = {
  status: () => STATUS,
  search: (_query: SearchQuery): Promise<{ items: SearchHit[] }> => Promise.reject(problem('search_disabled')),
};
