import type { Sqlite, SqlValue, Statement } from '../../../core/runtime/sqlite.ts';
import type { DecodingNotes } from '../ports.ts';
import type { DocumentKey } from './documents.ts';
import { openIndexForReading } from './index-database.ts';
import { skippedRows } from './skipped-rows.ts';

/**
 * A query replaces a prefix by the list of indexed words that start with it. These limits apply to that list: the
 * number of words, and their total length in UTF-16 units. Above either limit, the query uses FTS5's own prefix search.
 */
const MAX_WORDS = 1000;
const MAX_UNITS = 65_536;

/**
 * Reads the index for searches. Passes the bounds of document ids as BigInt: with a double, FTS5 would scan all
 * documents that are newer than the bound.
 */
export class SearchableIndex {
  readonly #sqlite: Sqlite;
  readonly #shift: Statement;
  readonly #all: Statement;
  readonly #matching: Statement;
  readonly #words: Statement;

  constructor(path: string) {
    const sqlite = openIndexForReading(path);
    this.#sqlite = sqlite;
    this.#shift = sqlite.prepare('SELECT shift FROM about');
    this.#all = sqlite.prepare(
      'SELECT id, row FROM doc WHERE id < ? AND id >= ? AND row IS NOT NULL ORDER BY id DESC LIMIT ?',
    );
    this.#matching = sqlite.prepare(
      `SELECT ft.rowid, d.row FROM ft JOIN doc d ON d.id = ft.rowid
       WHERE ft MATCH ? AND ft.rowid < ? AND ft.rowid >= ? AND d.row IS NOT NULL ORDER BY ft.rowid DESC LIMIT ?`,
    );
    // Looks up one word after another, each as the first word beyond the previous one. A plain list of the words would
    // read every occurrence of each word.
    this.#words = sqlite.prepare(
      `WITH RECURSIVE asked(first, last) AS (SELECT ?, ?), found(term) AS (
         SELECT (SELECT term FROM words WHERE term >= first ORDER BY term LIMIT 1) FROM asked
         UNION ALL
         SELECT (SELECT w.term FROM words w WHERE w.term >= found.term || char(1) ORDER BY w.term LIMIT 1)
           FROM found, asked WHERE found.term < last)
       SELECT term FROM found, asked WHERE term < last LIMIT ?`,
    );
  }

  /**
   * Returns the largest difference, in seconds, between a document's id and the time of its message. An id is higher
   * than that time if lower ids were already taken.
   */
  shift(): number {
    return Number(this.#shift.get()?.[0] ?? 0);
  }

  /**
   * Returns up to `limit` documents with ids from `from` (inclusive) to `before` (exclusive), newest first. Without an
   * expression, every document matches.
   */
  documents(expression: string | undefined, from: number, before: number, limit: number): readonly DocumentKey[] {
    const bounds: SqlValue[] = [BigInt(before), BigInt(from), BigInt(limit)];
    const rows = expression === undefined ? this.#all.all(...bounds) : this.#matching.all(expression, ...bounds);
    return rows.map(([id, row]) => ({ id: id as number, row: row as number }));
  }

  /** Returns the indexed words that start with this prefix; undefined above `MAX_WORDS` or `MAX_UNITS`. */
  wordsWith(prefix: string): readonly string[] | undefined {
    const words = this.#words.all(prefix, `${prefix}\u{10FFFF}`, MAX_WORDS + 1).map(([word]) => word as string);
    const units = words.reduce((sum, word) => sum + word.length, 0);
    return words.length > MAX_WORDS || units > MAX_UNITS ? undefined : words;
  }

  /** Returns which rows are skipped at this moment. Notes nothing, because a search is not repeated by itself. */
  notes(): DecodingNotes {
    const skipped = new Set(skippedRows(this.#sqlite));
    return { isSkipped: (rowId) => skipped.has(rowId), begin: () => undefined };
  }

  close(): void {
    this.#sqlite.close();
  }
}
