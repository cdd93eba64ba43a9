import type { Cursor } from '../../../core/model/cursor.ts';
import { type Offset, rowOffset } from '../../../core/model/offset.ts';
import type { Sqlite, SqlValue, Statement } from '../../../core/runtime/sqlite.ts';

/** An offset with the generation of its change log. */
export interface IndexPosition extends Offset {
  readonly generation: number;
}

/** Progress of the walk from the newest message to the oldest. */
export interface Progress {
  /** Value to pass to `IndexSource.listed` for the next block; null to start at the newest message. */
  readonly next: string | null;
  /** Date of the oldest message that a walk has reached, in seconds since 2001; null before the first block. */
  readonly reached: number | null;
  /** True once a walk has reached the oldest message. Stays true when the walk starts over. */
  readonly isComplete: boolean;
  /** When a walk last finished, in Unix milliseconds; 0 if the next walk must not wait. */
  readonly checkedAtMs: number;
  /** First and last id of the rows that the walk indexes again, even if the index has them; null for none. */
  readonly again: { readonly first: number; readonly last: number } | null;
  /** Number of documents. */
  readonly docs: number;
  /**
   * Number of removed or replaced documents whose words may still be in search.db. A walk merges the index if the
   * number is above 0. The first complete walk adds 1, because it leaves the index in many pieces, which must be merged
   * too.
   */
  readonly removed: number;
}

/** Reads and writes the state of the index: the only row of the table `about` in search.db. */
export class IndexState {
  readonly #select: Statement;
  readonly #selectCursor: Statement;
  readonly #insert: Statement;
  readonly #seen: Statement;
  readonly #walked: Statement;
  readonly #rewrite: Statement;
  readonly #merged: Statement;
  readonly #checked: Statement;

  constructor(sqlite: Sqlite) {
    this.#select = sqlite.prepare(
      'SELECT next, reached, is_complete, checked_at, again_first, again_last, docs, removed FROM about',
    );
    this.#selectCursor = sqlite.prepare('SELECT row_id, change, generation, seen_row, seen_guid, inode FROM about');
    this.#insert = sqlite.prepare(
      `INSERT OR REPLACE INTO about (one, row_id, change, generation, seen_row, seen_guid, inode)
       VALUES (1, ?, ?, ?, ?, ?, ?)`,
    );
    this.#seen = sqlite.prepare(
      'UPDATE about SET row_id = ?, change = ?, generation = ?, seen_row = ?, seen_guid = ?, inode = ?',
    );
    this.#walked = sqlite.prepare(
      `UPDATE about SET next = ?, reached = min(ifnull(reached, ?), ?), removed = removed + (? > is_complete),
         is_complete = max(is_complete, ?), checked_at = ?, again_first = ?, again_last = ?`,
    );
    this.#rewrite = sqlite.prepare(
      `UPDATE about SET next = NULL, checked_at = 0, again_first = min(ifnull(again_first, ?), ?),
         again_last = max(ifnull(again_last, ?), ?)`,
    );
    this.#checked = sqlite.prepare('UPDATE about SET checked_at = ? WHERE next IS NULL AND again_first IS NULL');
    this.#merged = sqlite.prepare('UPDATE about SET removed = removed - ?');
  }

  /** Inserts the row of `about` for a new index. */
  begin(position: IndexPosition, newest: Cursor): void {
    this.#insert.run(...columnsOf(position, newest));
  }

  /** Returns how far the event log has been processed. */
  position(): IndexPosition {
    const [rowId, change, generation] = this.#selectCursor.get() ?? [];
    return { rowId: Number(rowId), change: Number(change), generation: Number(generation) };
  }

  /**
   * Returns the newest row seen in chat.db. `isReplaced` compares that row with chat.db, to recognise a replaced
   * chat.db.
   */
  seen(): Cursor {
    const [, , , rowId, guid, inode] = this.#selectCursor.get() ?? [];
    return { offset: rowOffset(Number(rowId)), guid: typeof guid === 'string' ? guid : null, inode: String(inode) };
  }

  see(position: IndexPosition, newest: Cursor): void {
    this.#seen.run(...columnsOf(position, newest));
  }

  progress(): Progress {
    const [next, reached, isComplete, checkedAt, first, last, docs, removed] = this.#select.get() ?? [];
    return {
      next: typeof next === 'string' ? next : null,
      reached: typeof reached === 'number' ? reached : null,
      isComplete: isComplete === 1,
      checkedAtMs: Number(checkedAt),
      again: typeof first === 'number' && typeof last === 'number' ? { first, last } : null,
      docs: Number(docs),
      removed: Number(removed),
    };
  }

  /**
   * Stores that the walk has finished a block. `next` is where the following block starts. `reached` is the date of the
   * oldest message so far, in seconds since 2001.
   */
  walked(next: string, reached: number): void {
    const { checkedAtMs, again } = this.progress();
    this.#walked.run(next, reached, reached, 0, 0, checkedAtMs, again?.first ?? null, again?.last ?? null);
  }

  /**
   * Stores that the walk has finished its last block. If the program ends before it calls `checked`, the walk is
   * repeated.
   */
  walkedAll(): void {
    this.#walked.run(null, 0, 0, 1, 1, 0, null, null);
  }

  /** Stores when the walk was finished. Does nothing if the walk has had to start over in the meantime. */
  checked(nowMs: number): void {
    this.#checked.run(nowMs);
  }

  /** Makes the walk start over at the newest message and index the rows from `first` to `last` (inclusive) again. */
  indexAgain(first: number, last: number): void {
    this.#rewrite.run(first, first, last, last);
  }

  /** Stores that the words of this many removed documents are no longer in search.db. */
  merged(removed: number): void {
    this.#merged.run(removed);
  }
}

function columnsOf({ rowId, change, generation }: IndexPosition, { offset, guid, inode }: Cursor): SqlValue[] {
  return [exact(rowId), change, generation, exact(offset.rowId), guid, inode];
}

/**
 * Returns the row id, at most the largest safe integer. Only a hostile chat.db has rows with larger ids, and they are
 * not indexed.
 */
function exact(rowId: number): number {
  return Math.min(rowId, Number.MAX_SAFE_INTEGER);
}
