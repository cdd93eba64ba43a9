import type { SearchIndex } from '../domain/ports/search.ts';
import { problem } from '../domain/problems.ts';
import type { SearchStatus } from '../domain/search.ts';
import { deleteIndex } from './files.ts';
import type { SearchParts } from './search.ts';

/** Search as the service runs it. */
export interface RunningSearch extends SearchIndex {
  start(): void;
  close(): Promise<void>;
}

const OFF: SearchStatus = { isEnabled: false, isComplete: false, indexedRows: 0, totalRows: 0 };

const disabled: RunningSearch = {
  status: () => OFF,
  search: () => Promise.reject(problem('search_disabled')),
  start: () => undefined,
  close: () => Promise.resolve(),
};

/** `find` is absent where there is no reader thread. Switched off, nothing is loaded, and the index is deleted. */
export async function openSearch(
  isEnabled: boolean,
  parts: Omit<SearchParts, 'find'> & { readonly find: SearchParts['find'] | undefined },
): Promise<RunningSearch> {
  if (!isEnabled) {
    deleteIndex(parts.path);
    return disabled;
  }
  const { Search } = await import('./search.ts');
  if (parts.find !== undefined) return new Search({ ...parts, find: parts.find });
  const { Finder } = await import('./finder.ts');
  const finder = new Finder(parts.source);
  return new Search({ ...parts, find: async (...args) => finder.find(...args) });
}
