import type { Sqlite, Statement } from '../../../core/runtime/sqlite.ts';
import type { DecodingNotes } from '../ports.ts';

/**
 * Notes in search.db which row is about to be decoded. A row that was begun and never ended, because the thread or the
 * process died, is skipped from then on: it is found by its body and the names of its files only. It stays skipped,
 * whatever happens to the message, until search.db is built again (decision AB14).
 */
export class SkippedRows implements DecodingNotes {
  readonly #sqlite: Sqlite;
  readonly #begin: Statement;
  readonly #end: Statement;
  readonly #isSkipped: Statement;
  #hasBegun = false;

  /** Skips the row that an earlier process or thread has begun and not ended. */
  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    sqlite.transaction(() => sqlite.exec('INSERT OR IGNORE INTO skipped SELECT row FROM begun; DELETE FROM begun'));
    this.#begin = sqlite.prepare('INSERT OR REPLACE INTO begun (one, row) VALUES (1, ?)');
    this.#end = sqlite.prepare('DELETE FROM begun');
    this.#isSkipped = sqlite.prepare('SELECT 1 FROM skipped WHERE row = ?');
  }

  isSkipped(rowId: number): boolean {
    return this.#isSkipped.get(BigInt(rowId)) !== undefined;
  }

  /** Must not be called in a transaction, because the note would be lost with it. */
  begin(rowId: number): void {
    this.#begin.run(BigInt(rowId));
    this.#hasBegun = true;
  }

  /** Runs `decode`. Afterwards, no row is noted as begun. */
  during<Result>(decode: () => Result): Result {
    try {
      return decode();
    } finally {
      if (this.#hasBegun) this.#end.run();
      this.#hasBegun = false;
    }
  }

  all(): readonly number[] {
    return skippedRows(this.#sqlite);
  }
}

/** Returns the skipped rows of an index, in ascending order. */
export function skippedRows(sqlite: Sqlite): readonly number[] {
  return sqlite
    .prepare('SELECT row FROM skipped ORDER BY row')
    .all()
    .map(([row]) => Number(row));
}
