import { openSqlite, type Sqlite, type SqlValue, type Statement } from '../../core/runtime/sqlite.ts';

/** Writes rows to a SQLite file. Skips columns that the file's schema lacks. */
export class Tables {
  readonly path: string;
  readonly sqlite: Sqlite;
  #isWriting = false;
  readonly #statements = new Map<string, Statement>();
  readonly #columns = new Map<string, ReadonlySet<string>>();

  constructor(path: string) {
    this.path = path;
    this.sqlite = openSqlite(path, { busyTimeoutMs: 5000 });
    this.sqlite.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON');
  }

  /** Runs `work` in one commit, or in the outer transaction if there is one. */
  transaction<Result>(work: () => Result): Result {
    if (this.#isWriting) return work();
    this.#isWriting = true;
    try {
      return this.sqlite.transaction(work);
    } finally {
      this.#isWriting = false;
    }
  }

  /** Inserts a row. Skips values whose column the table lacks. Returns the row id. */
  insert(table: string, values: Readonly<Record<string, SqlValue>>): number {
    const known = Object.entries(values).filter(([name]) => this.hasColumn(table, name));
    const names = known.map(([name]) => name);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    this.#prepared(sql).run(...known.map(([, value]) => value));
    return this.number('SELECT last_insert_rowid()');
  }

  update(table: string, rowId: number, values: Readonly<Record<string, SqlValue>>): void {
    const known = Object.entries(values).filter(([name]) => this.hasColumn(table, name));
    if (known.length === 0) return;
    const set = known.map(([name]) => `${name} = ?`).join(', ');
    this.sqlite.prepare(`UPDATE ${table} SET ${set} WHERE ROWID = ?`).run(...known.map(([, value]) => value), rowId);
  }

  hasColumn(table: string, name: string): boolean {
    let columns = this.#columns.get(table);
    if (columns === undefined) {
      columns = new Set(
        this.sqlite
          .prepare(`PRAGMA table_info("${table.replaceAll('"', '')}")`)
          .all()
          .map((row) => String(row[1])),
      );
      this.#columns.set(table, columns);
    }
    return columns.has(name);
  }

  /** Returns the first column of the query's first row as a number. */
  number(sql: string): number {
    return Number(this.#prepared(sql).get()?.[0]);
  }

  #prepared(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.sqlite.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  close(): void {
    this.sqlite.close();
  }
}
