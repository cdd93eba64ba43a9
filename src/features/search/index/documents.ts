import type { Message } from '../../../core/model/message.ts';
import type { Row, Sqlite, Statement } from '../../../core/runtime/sqlite.ts';
import type { SearchableMessage } from '../types.ts';
import { documentOf, secondOf } from './document.ts';

/**
 * Number of consecutive ids to try first for a message, beginning with the message's time in seconds since 2001. Later
 * attempts use ids that are spread over a range of following seconds, which doubles after every fourth attempt, up to
 * half a year: so a message is not far from its place, however many have the same second.
 */
const NEAR = 32;
const MOST_SPREAD = 2 ** 24;
const TRIES_PER_RANGE = 4;
/** Number of ids that are tried before a message is left out of the index. */
const MAX_TRIES = 10_000;
/** Greater than the id of every document. */
export const LAST_ID = 2 ** 40;
/** Default number of pages of the full-text index that are merged after a transaction. */
const PAGES_PER_TRANSACTION = 48;

/** The id of a document in the index, and the row id of its message in chat.db. */
export interface DocumentKey {
  readonly id: number;
  readonly row: number;
}

/**
 * The documents of the index. A document's id is the time of its message in seconds since 2001, so that "newest first"
 * and date ranges need no sorting. If that id is taken, other ids are tried in a fixed order. The id of a removed
 * document stays marked as used, as in a hash table. Otherwise a search for a row's document would stop at that id.
 */
export class Documents {
  readonly #sqlite: Sqlite;
  readonly #rowAt: Statement;
  readonly #setRow: Statement;
  readonly #insertText: Statement;
  readonly #replaceText: Statement;
  readonly #deleteText: Statement;
  readonly #count: Statement;
  readonly #merge: Statement;
  readonly #totalChanges: Statement;
  readonly #between: Statement;
  readonly #skip: Statement;
  readonly #ofRows: Statement;
  /** Number of documents added since the last `finish`, minus those removed since then. */
  #added = 0;
  #removed = 0;
  #shift = 0;

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    this.#rowAt = sqlite.prepare('SELECT row FROM doc WHERE id = ?');
    this.#setRow = sqlite.prepare('INSERT OR REPLACE INTO doc (id, row) VALUES (?, ?)');
    this.#insertText = sqlite.prepare('INSERT INTO ft (rowid, body) VALUES (?, ?)');
    this.#replaceText = sqlite.prepare('INSERT OR REPLACE INTO ft (rowid, body) VALUES (?, ?)');
    this.#deleteText = sqlite.prepare('DELETE FROM ft WHERE rowid = ?');
    this.#count = sqlite.prepare('UPDATE about SET docs = docs + ?, removed = removed + ?, shift = max(shift, ?)');
    this.#merge = sqlite.prepare("INSERT INTO ft (ft, rank) VALUES ('merge', ?)");
    this.#totalChanges = sqlite.prepare('SELECT total_changes()');
    this.#between = sqlite.prepare(
      'SELECT id, row FROM doc WHERE id >= ? AND id < ? AND row IS NOT NULL ORDER BY id LIMIT ?',
    );
    this.#skip = sqlite.prepare('SELECT id FROM doc WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ?');
    this.#ofRows = sqlite.prepare(
      'SELECT id, row FROM doc WHERE id < ? AND id >= ? AND row IN (SELECT value FROM json_each(?))',
    );
  }

  /**
   * Reports whether the index has a document for the row. `second` is the time of the row's message, in seconds since
   * 2001.
   */
  has(row: number, second: number): boolean {
    return this.#idFor(row, second).isTaken;
  }

  /**
   * Reports whether all ids that `put` tries first for messages from `fromSecond` to `toSecond` are free. Both are
   * seconds since 2001.
   */
  isFree(fromSecond: number, toSecond: number): boolean {
    return this.#between.get(BigInt(clamped(fromSecond)), BigInt(clamped(toSecond) + NEAR), 1) === undefined;
  }

  /**
   * Adds a document for the message, or replaces its document. Does nothing if all ids that it may choose are taken.
   */
  put(message: SearchableMessage): void {
    const row = Number(message.id);
    const second = secondOf(message);
    const { id, isTaken } = this.#idFor(row, second);
    if (id === undefined) return;
    if (isTaken) {
      this.#replaceText.run(BigInt(id), documentOf(message));
      this.#removed += 1;
      return;
    }
    this.#setRow.run(id, row);
    // A plain INSERT is enough: an id without a document has no text, because `remove` deletes the text too.
    this.#insertText.run(BigInt(id), documentOf(message));
    this.#added += 1;
    this.#shift = Math.max(this.#shift, id - clamped(second));
  }

  /** Removes the document with this id, but only if it belongs to this row. */
  remove(id: number, row: number): void {
    if (this.#rowAt.get(BigInt(id))?.[0] !== row) return;
    this.#setRow.run(BigInt(id), null);
    this.#deleteText.run(BigInt(id));
    this.#added -= 1;
    this.#removed += 1;
  }

  /** Removes these documents in one transaction. Leaves out those that belong to other rows meanwhile. */
  removeAll(keys: readonly DocumentKey[]): void {
    this.#sqlite.transaction(() => {
      for (const { id, row } of keys) this.remove(id, row);
      this.finish();
    });
  }

  /** Reports whether `put` may choose this id for the row's message. */
  static isIdOf(id: number, row: number, message: Message): boolean {
    const start = clamped(secondOf(message));
    if (id >= start && id < start + NEAR) return true;
    for (let at = NEAR; at < MAX_TRIES; at += 1) if (idAt(at, row, start) === id) return true;
    return false;
  }

  /** Returns at most `limit` documents whose ids are at least `from` and below `before`, in ascending order. */
  between(from: number, before: number, limit: number): readonly DocumentKey[] {
    return this.#between.all(BigInt(from), BigInt(before), limit).map(keyOf);
  }

  /**
   * Examines the next `limit` documents with ids below `before`, and returns those that belong to one of `rows`. To
   * continue, pass the returned `end` as `before`. `end` is absent once all documents have been examined.
   */
  ofRows(
    rows: readonly number[],
    before: number,
    limit: number,
  ): { readonly found: readonly DocumentKey[]; readonly end?: number } {
    const end = this.#skip.get(BigInt(before), limit)?.[0] as number | undefined;
    const found = this.#ofRows.all(BigInt(before), BigInt(end ?? 0), JSON.stringify(rows)).map(keyOf);
    return end === undefined ? { found } : { found, end };
  }

  /**
   * Must be called at the end of each transaction. If documents changed, merges some pages of the full-text index.
   * Otherwise SQLite would merge at an unpredictable time and take half a second.
   */
  finish(mergedPages = PAGES_PER_TRANSACTION): void {
    if (this.#added === 0 && this.#removed === 0) return;
    this.#count.run(this.#added, this.#removed, this.#shift);
    this.#added = 0;
    this.#removed = 0;
    this.#merge.run(mergedPages);
  }

  /**
   * Makes one step of merging the index into one piece. The merge drops the words of removed documents. Returns false
   * once done.
   */
  mergeAll(isFirst: boolean, pages: number): boolean {
    const before = this.#changes();
    this.#merge.run(isFirst ? -pages : pages);
    return this.#changes() - before >= 2;
  }

  #changes(): number {
    return Number(this.#totalChanges.get()?.[0]);
  }

  #idFor(row: number, second: number): { readonly id: number | undefined; readonly isTaken: boolean } {
    const start = clamped(second);
    let free: number | undefined;
    for (let at = 0; at < MAX_TRIES; at += 1) {
      const id = idAt(at, row, start);
      const found = this.#rowAt.get(id);
      if (found?.[0] === row) return { id, isTaken: true };
      if (found === undefined) return { id: free ?? id, isTaken: false };
      if (found[0] === null) free ??= id;
    }
    return { id: free, isTaken: false };
  }
}

function keyOf([id, row]: Row): DocumentKey {
  return { id: id as number, row: row as number };
}

/**
 * Returns a time in seconds since 2001, or 0 if it is negative. No message existed before 2001, so a negative time is
 * wrong.
 */
function clamped(second: number): number {
  return Math.max(0, second);
}

function idAt(at: number, row: number, start: number): number {
  if (at < NEAR) return start + at;
  let mixed = Math.imul(row ^ (row / 2 ** 32) ^ Math.imul(at, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  const range = NEAR * 2 ** Math.floor((at - NEAR) / TRIES_PER_RANGE);
  return start + NEAR + (((mixed ^ (mixed >>> 16)) >>> 0) % Math.min(range, MOST_SPREAD));
}
