import type { Sqlite } from '../../../core/runtime/sqlite.ts';
import type { ListedRow, SearchedSource } from '../ports.ts';
import type { SearchableMessage } from '../types.ts';
import { unitsOf } from './document.ts';
import { Documents } from './documents.ts';
import { openIndexForWriting } from './index-database.ts';
import { IndexFile } from './index-file.ts';
import { IndexState, type Progress } from './index-state.ts';
import { SkippedRows } from './skipped-rows.ts';

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

/** A row to index, whether or not it has a document. */
export interface RowUpdate {
  readonly row: number;
  /** A wrong document of this row, which is removed first. */
  readonly document?: number;
}

/** The result of `put`: the number of updates done, and which of their rows chat.db no longer has. */
export interface Put {
  readonly done: number;
  readonly gone: readonly number[];
}

/** First and last id of the rows to index again, even if the index has them; null for none. */
export type RowsAgain = { readonly first: number; readonly last: number } | null;

/** The state of the walk when it began a block: the block's start, and the rows to index again. */
export type WalkPosition = Pick<Progress, 'next' | 'again'>;

/**
 * Decodes and indexes messages on a separate connection to search.db, in the reader thread if there is one. Callers
 * make sure that the session's connection writes nothing meanwhile. Decodes outside of transactions, because each row
 * is noted before it is decoded.
 */
export class IndexWriter {
  readonly #source: Pick<SearchedSource, 'searchable'>;
  readonly #file = new IndexFile((path) => new WritableIndex(path));

  constructor(source: Pick<SearchedSource, 'searchable'>) {
    this.#source = source;
  }

  /**
   * Indexes each of `rows` that the index lacks or that `again` includes. Stops once it has added `ADDED_BYTES` of
   * text. Returns the number of rows processed; the caller passes the remaining rows in another call.
   */
  add(path: string, rows: readonly ListedRow[], again: RowsAgain): number {
    const index = this.#file.open(path);
    const { documents } = index;
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
    const messages: SearchableMessage[] = [];
    for (let at = 0; at < wanted.length; at += READ) {
      for (const message of this.#read(index, wanted.slice(at, at + READ))) if (message) messages.push(message);
    }
    store(index, messages);
    return taken;
  }

  /**
   * Indexes the rows of these updates, and replaces their documents. Stops once it has added `ADDED_BYTES` of text; the
   * caller passes the remaining updates in another call.
   */
  put(path: string, updates: readonly RowUpdate[]): Put {
    const index = this.#file.open(path);
    const messages: SearchableMessage[] = [];
    const gone: number[] = [];
    let done = 0;
    for (let units = 0; done < updates.length && units < ADDED_BYTES; done += 1) {
      const { row = 0 } = updates[done] ?? {};
      const [message] = this.#read(index, [row]);
      if (message === undefined) gone.push(row);
      else messages.push(message);
      units += message === undefined ? 0 : unitsOf(message);
    }
    store(index, messages, updates.slice(0, done));
    return { done, gone };
  }

  #read({ skipped }: WritableIndex, rows: readonly number[]): readonly (SearchableMessage | undefined)[] {
    return skipped.during(() => this.#source.searchable(rows, skipped));
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

/** Adds documents for the messages, after it has removed the wrong documents of `updates`. */
function store(
  { sqlite, documents }: WritableIndex,
  messages: readonly SearchableMessage[],
  updates: readonly RowUpdate[] = [],
): void {
  sqlite.transaction(() => {
    for (const { document, row } of updates) if (document !== undefined) documents.remove(document, row);
    for (const message of messages) documents.put(message);
    documents.finish(PAGES_PER_LONG_STEP);
  });
}

class WritableIndex {
  readonly sqlite: Sqlite;
  readonly documents: Documents;
  readonly state: IndexState;
  readonly skipped: SkippedRows;

  constructor(path: string) {
    this.sqlite = openIndexForWriting(path);
    this.skipped = new SkippedRows(this.sqlite);
    this.documents = new Documents(this.sqlite);
    this.state = new IndexState(this.sqlite);
  }

  close(): void {
    this.sqlite.close();
  }
}
