import type { RowFeature } from '../../core/row-feature.ts';
import { IndexReader } from './index/index-source.ts';
import type { IndexWriter } from './index/index-writer.ts';
import type { Finder } from './query/finder.ts';

/** The objects in the reader thread that search calls. */
export interface SearchTargets {
  readonly index: IndexReader;
  readonly finder: Pick<Finder, 'find'>;
  readonly writer: Pick<IndexWriter, 'add' | 'put' | 'advance' | 'merge'>;
}

export const searchRows: RowFeature<SearchTargets> = (connection) => {
  const index = new IndexReader(connection);
  return {
    index: () => index,
    finder: async () => new (await import('./query/finder.ts')).Finder(index),
    writer: async () => new (await import('./index/index-writer.ts')).IndexWriter(index),
  };
};
