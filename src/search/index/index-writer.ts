import type { IndexSource, ListedRow } from '../../domain/ports/search-ports.ts';
import type { Sqlite } from '../../runtime/sqlite.ts';
import { Documents } from './documents.ts';
import { openIndexForWriting } from './index-database.ts';
import { IndexFile } from './index-file.ts';
import { IndexState, type Progress } from './index-state.ts';

/**
 * A transaction adds no further message once it has added this many bytes of text. An average message has 100 bytes.
 */
const ADDED_BYTES = 131_072;
/** Maximum size of a message's text in bytes. The walk leaves a longer message out of the index. */
const MAX_BYTES = 4_194_304;
/**
 * Number of messages read from chat.db at once. With more, their objects would outlive V8's first garbage collection.
 */
const READ = 50;
/** Number of pages of the full-text index merged after each addition, and in each step of `merge`. */
const PAGES_PER_LONG_STEP = 160;

/** First and last id of the rows to index again, even if the index has them; null for none. */
export type RowsAgain = { readonly first: number; readonly last: number } | null;

/** The state of the walk when it began a block: the block's start, and the rows to index again. */
export type WalkPosition = Pick<Progress, 'next' | 'again'>;

/**
 * Does the long writes to search.db on a separate connection, in the reader thread if there is one. Callers make sure
 * that the session's connection writes nothing meanwhile.
 */
export class IndexWriter {
  readonly #source: Pick<IndexSource, 'messages'>;
  readonly #file = new IndexFile((path) => new WritableIndex(path));

  constructor(source: Pick<IndexSource, 'messages'>) {
    this.#source = source;
  }

  /**
   * Indexes each of `rows` that the index lacks or that `again` includes. Stops once it has added `ADDED_BYTES` of
   * text. Returns the number of rows processed; the caller passes the remaining rows in another call.
   */
  add(path: string, rows: readonly ListedRow[], again: RowsAgain): number {
    const { sqlite, documents } = this.#file.open(path);
    const isFree = documents.isFree(rows[0]?.second ?? 0, rows.at(-1)?.second ?? 0);
    const wanted: number[] = [];
    let bytes = 0;
    let taken = 0;
    for (const { rowId, second, bytes: length } of rows) {
      if (bytes >= ADDED_BYTES) break;
      taken += 1;
      if (length > MAX_BYTES) continue;
      const isAgain = again !== null && rowId >= again.first && rowId <= again.last;
      if (!isFree && !isAgain && documents.has(rowId, second)) continue;
      wanted.push(rowId);
      bytes += length;
    }
    if (wanted.length === 0) return taken;
    sqlite.transaction(() => {
      for (let at = 0; at < wanted.length; at += READ) {
        const messages = this.#source.messages(wanted.slice(at, at + READ));
        for (const message of messages) if (message !== undefined) documents.put(message);
      }
      documents.finish(PAGES_PER_LONG_STEP);
    });
    return taken;
  }

  /** Indexes this row, and replaces its document if it has one. Returns false if chat.db no longer contains the row. */
  put(path: string, row: number): boolean {
    const { sqlite, documents } = this.#file.open(path);
    const [message] = this.#source.messages([row]);
    if (message === undefined) return false;
    sqlite.transaction(() => {
      documents.put(message);
      documents.finish(PAGES_PER_LONG_STEP);
    });
    return true;
  }

  /**
   * Stores that the walk has finished the block that began at `from`. Stores nothing and returns false if the walk has
   * had to start over since then.
   */
  advance(path: string, from: WalkPosition, to: Pick<Progress, 'next' | 'reached'>): boolean {
    const { sqlite, state } = this.#file.open(path);
    return sqlite.transaction(() => {
      const { next, again } = state.progress();
      if (next !== from.next || again?.first !== from.again?.first || again?.last !== from.again?.last) return false;
      if (to.next === null) state.walkedAll();
      else state.walked(to.next, to.reached ?? 0);
      return true;
    });
  }

  /**
   * Makes one step of merging the index into one piece. The merge drops the words of removed documents. Returns false
   * once done.
   */
  merge(path: string, isFirst: boolean): boolean {
    const { sqlite, documents } = this.#file.open(path);
    const isMore = sqlite.transaction(() => documents.mergeAll(isFirst, PAGES_PER_LONG_STEP));
    if (!isMore) this.close(); // frees memory that is not needed until the next walk
    return isMore;
  }

  close(): void {
    this.#file.close();
  }
}

class WritableIndex {
  readonly sqlite: Sqlite;
  readonly documents: Documents;
  readonly state: IndexState;

  constructor(path: string) {
    this.sqlite = openIndexForWriting(path);
    this.documents = new Documents(this.sqlite);
    this.state = new IndexState(this.sqlite);
  }

  close(): void {
    this.sqlite.close();
  }
}
