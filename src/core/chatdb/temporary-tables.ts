import { errorCode } from '../model/errors.ts';
import { lookupTable } from '../model/lookup-table.ts';
import type { Row, Sqlite } from '../runtime/sqlite.ts';

/** The columns that make up a row of a join table. An index that has them can stand in for an unreadable page. */
const JOINED: Readonly<Record<string, readonly string[]>> = lookupTable({
  chat_message_join: ['chat_id', 'message_id'],
  chat_handle_join: ['chat_id', 'handle_id'],
  message_attachment_join: ['message_id', 'attachment_id'],
  chat_recoverable_message_join: ['chat_id', 'message_id'],
});

/** Row ids that are tried one by one if no index lists them. */
const MAX_TRIED = 5_000_000;

/**
 * TEMP tables of one connection to chat.db. A TEMP table hides the table of the same name in chat.db, which is never
 * written.
 */
export class TemporaryTables {
  readonly #sqlite: Sqlite;

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
  }

  /**
   * Makes a TEMP table with the rows that `source` selects and the indexes of the original. Returns a function that
   * makes it again. Adds the content that an index of chat.db still has of the `skipped` rows.
   */
  copy(
    table: string,
    source: () => string,
    moreIndexes: readonly (readonly string[])[],
    skipped: readonly number[] = [],
  ): () => void {
    const fill = (): void => {
      this.create(table, moreIndexes);
      // A damaged table can hold a row twice.
      this.#sqlite.exec(`INSERT OR IGNORE INTO temp.${table} (ROWID, ${columnNames(this.columns(table))}) ${source()}`);
      const saved = columnNames(this.#savedColumns(table));
      for (const row of this.savedByIndex(table, skipped)) {
        const values = row.map(() => '?').join(', ');
        this.#sqlite.prepare(`INSERT OR IGNORE INTO temp.${table} (ROWID, ${saved}) VALUES (${values})`).run(...row);
      }
    };
    this.write(fill);
    return fill;
  }

  /** Creates an empty TEMP table with the columns and indexes of the original, and these indexes. */
  create(table: string, moreIndexes: readonly (readonly string[])[]): void {
    const names = this.columns(table);
    this.#sqlite.exec(`DROP TABLE IF EXISTS temp.${table};
      CREATE TEMP TABLE ${table} (ROWID INTEGER PRIMARY KEY, ${this.#declarations(table)})`);
    const indexes = [...this.indexes(table), ...moreIndexes.map((columns) => ({ columns, isUnique: false }))];
    for (const [at, { columns, isUnique }] of indexes.entries()) {
      if (!columns.every((column) => names.includes(column))) continue;
      const kind = isUnique ? 'UNIQUE INDEX' : 'INDEX';
      this.#sqlite.exec(`CREATE ${kind} temp."${table}_${at}" ON ${table} (${columnNames(columns)})`);
    }
  }

  /** Lists the ids of a table in the TEMP table `ids_TABLE`, except those in `without`. */
  listIds(table: string, without: readonly number[]): void {
    const ids = `temp.ids_${table}`;
    this.#sqlite.exec(`DROP TABLE IF EXISTS ${ids}; CREATE TEMP TABLE ids_${table} (id INTEGER PRIMARY KEY)`);
    const isExact = `ROWID BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;
    const selects = [
      // An index lists all ids without reading a page of the table.
      ...this.indexes(table).map(
        ({ name }) =>
          `SELECT ROWID FROM main.${table} INDEXED BY "${name}" WHERE ${isExact.replace('ROWID', '+ROWID')}`,
      ),
      `SELECT ROWID FROM main.${table} NOT INDEXED WHERE ${isExact}`,
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${this.#highestId(table)}) SELECT i FROM n`,
    ];
    for (const select of selects) {
      try {
        this.#sqlite.exec(`INSERT OR IGNORE INTO ${ids} ${select}`);
        break;
      } catch (error) {
        if (!isCorrupt(error)) throw error;
      }
    }
    this.#sqlite
      .prepare(`DELETE FROM ${ids} WHERE id IN (SELECT value FROM json_each(?))`)
      .run(JSON.stringify(without));
  }

  #highestId(table: string): number {
    for (const sql of [
      `SELECT seq FROM main.sqlite_sequence WHERE name = '${table}'`,
      `SELECT max(ROWID) FROM main.${table}`,
      ...(table === 'message' ? ['SELECT max(message_id) FROM main.chat_message_join'] : []),
    ]) {
      try {
        const highest = Number(this.#sqlite.prepare(sql).get()?.[0] ?? 0);
        if (highest > 0) return Math.min(highest, MAX_TRIED);
      } catch {
        // chat.db has no such table, or cannot read it
      }
    }
    return 1;
  }

  /**
   * Returns the content that an index has of these rows of a join table: the row id, then the values of the join's
   * columns.
   */
  savedByIndex(table: string, rowIds: readonly number[]): readonly Row[] {
    const needed = this.#savedColumns(table);
    if (rowIds.length === 0 || needed.length === 0) return [];
    // As text, because a date in nanoseconds is no exact JavaScript number.
    const values = needed.map((column) => (column === 'message_date' ? `CAST("${column}" AS TEXT)` : `"${column}"`));
    for (const { name, columns } of this.indexes(table)) {
      if (!needed.every((column) => columns.includes(column))) continue;
      try {
        return this.#sqlite
          .prepare(`SELECT ROWID, ${values.join(', ')} FROM main.${table} INDEXED BY "${name}"
            WHERE +ROWID IN (SELECT value FROM json_each(?))`)
          .all(JSON.stringify(rowIds));
      } catch (error) {
        if (!isCorrupt(error)) throw error;
      }
    }
    return [];
  }

  /** The columns that `savedByIndex` reads: with the date, if an index has it. None for a table that joins nothing. */
  #savedColumns(table: string): readonly string[] {
    const needed = JOINED[table] ?? [];
    const dated = [...needed, 'message_date'];
    const isDated = this.indexes(table).some(({ columns }) => dated.every((name) => columns.includes(name)));
    return isDated ? dated : needed;
  }

  /** The columns of a table of chat.db, in lower case, without its row id. */
  columns(table: string): readonly string[] {
    return this.#info(table).map(({ name }) => name);
  }

  #declarations(table: string): string {
    return this.#info(table)
      .map(({ name, type }) => `"${name}" ${/^[\w ]*$/.test(type) ? type : ''}`)
      .join(', ');
  }

  #info(table: string): readonly { readonly name: string; readonly type: string }[] {
    return this.#sqlite
      .prepare(`PRAGMA main.table_info(${table})`)
      .all()
      .map((row) => ({ name: String(row[1]).toLowerCase(), type: String(row[2]) }))
      .filter(({ name }) => name !== 'rowid');
  }

  /** The indexes of a table that cover all of its rows and consist of plain columns. */
  indexes(table: string): readonly (Index & { readonly name: string })[] {
    return this.#sqlite
      .prepare(`PRAGMA main.index_list(${table})`)
      .all()
      .filter((row) => row[4] !== 1)
      .map((row) => {
        const name = String(row[1]).replaceAll('"', '""');
        const columns = this.#sqlite.prepare(`PRAGMA main.index_info("${name}")`).all();
        return { name, columns: columns.map((one) => String(one[2] ?? '').toLowerCase()), isUnique: row[2] === 1 };
      })
      .filter(({ columns }) => !columns.includes(''));
  }

  /** Lets `work` write TEMP tables. Nothing else can be written, because chat.db is open read-only. */
  write<Result>(work: () => Result): Result {
    this.#sqlite.exec('PRAGMA query_only = 0');
    try {
      return work();
    } finally {
      this.#sqlite.exec('PRAGMA query_only = 1');
    }
  }
}

interface Index {
  readonly columns: readonly string[];
  readonly isUnique: boolean;
}

/** Returns the names of columns as SQL. */
export function columnNames(columns: readonly string[], prefix = ''): string {
  return columns.map((column) => `${prefix}"${column}"`).join(', ');
}

/** Reports whether SQLite found a damaged page. */
export function isCorrupt(error: unknown): boolean {
  return /^SQLITE_(?:CORRUPT|IOERR_SHORT_READ)/.test(errorCode(error) ?? '');
}
