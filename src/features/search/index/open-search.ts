import type { SearchedSource, SearchIndex } from '../ports.ts';
import { searchProblem } from '../problems.ts';
import type { SearchParts } from '../query/search.ts';
import type { SearchStatus } from '../types.ts';
import { deleteIndex } from './index-file.ts';
import type { IndexWork } from './session.ts';

/** A search index that the service starts and closes. */
export interface RunningSearch extends SearchIndex {
  start(): void;
  close(): Promise<void>;
}

const OFF: SearchStatus = { isEnabled: false, isComplete: false, indexedRows: 0, totalRows: 0 };

const disabled: RunningSearch = {
  status: () => OFF,
  search: () => Promise.reject(searchProblem('search_disabled')),
  start: () => undefined,
  close: () => Promise.resolve(),
};

/**
 * Opens search. `work` calls the reader thread; if there is none, it is the source of the messages, and the work is
 * done in this thread. If search is off, deletes the index and does not load the code of search.
 */
export async function openSearch(
  isEnabled: boolean,
  { work, ...parts }: Omit<SearchParts, 'work'> & { readonly work: IndexWork | SearchedSource },
): Promise<RunningSearch> {
  if (!isEnabled) {
    deleteIndex(parts.path);
    return disabled;
  }
  const { Search } = await import('../query/search.ts');
  return new Search({ ...parts, work: 'find' in work ? work : await here(work) });
}

async function here(source: SearchedSource): Promise<IndexWork> {
  const { Finder } = await import('../query/finder.ts');
  const { IndexWriter } = await import('./index-writer.ts');
  const finder = new Finder(source);
  const writer = new IndexWriter(source);
  return {
    find: async (...args) => finder.find(...args),
    add: async (...args) => writer.add(...args),
    put: async (...args) => writer.put(...args),
    advance: async (...args) => writer.advance(...args),
    merge: async (...args) => writer.merge(...args),
  };
}
