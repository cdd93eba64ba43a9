import type { Log } from '../domain/ports/host.ts';
import { openSqlite, type Row, type Sqlite, type SqlValue, type Statement } from '../runtime/sqlite.ts';
import { readSchemaInfo, type SchemaInfo } from './schema-info.ts';

export interface ChatDatabaseOptions {
  readonly path: string;
  /** What `~` in an attachment's name means when the database is in no `Library/Messages`. */
  readonly home: string;
  readonly log: Log;
}

/** Long enough for a writer without WAL to finish a commit, short enough to block the event loop for. */
const BUSY_TIMEOUT_MS = 100;

/** Of the file, kept in memory. With 32 MiB no long list was faster. */
const CACHE_KIB = 4096;

/**
 * chat.db, open for reading: only SQLite touches the file, nothing is ever written, no transaction outlives
 * one call (decision B1).
 */
export class ChatDatabase {
  readonly options: ChatDatabaseOptions;
  readonly schema: SchemaInfo;
  readonly #sqlite: Sqlite;
  readonly #statements = new Map<string, Statement>();
  /** Of the tables that `schema` was read from. */
  readonly #schemaVersion: number;

  private constructor(sqlite: Sqlite, options: ChatDatabaseOptions) {
    this.#sqlite = sqlite;
    this.#schemaVersion = this.#readSchemaVersion();
    this.schema = readSchemaInfo(sqlite);
    this.options = options;
  }

  /** Throws SQLite's error when it cannot be opened, AppError when it is no database of Messages. */
  static open(options: ChatDatabaseOptions): ChatDatabase {
    const sqlite = openSqlite(options.path, { readonly: true, busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      sqlite.exec(`PRAGMA query_only = 1; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = 0`);
      return new ChatDatabase(sqlite, options);
    } catch (error) {
      sqlite.close();
      throw error;
    }
  }

  all(sql: string, ...parameters: readonly SqlValue[]): Row[] {
    return this.#statement(sql).all(...parameters);
  }

  get(sql: string, ...parameters: readonly SqlValue[]): Row | undefined {
    return this.#statement(sql).get(...parameters);
  }

  /** Changes with every commit of another connection, and means nothing to any other handle. */
  version(): number {
    return Number(this.get('PRAGMA data_version')?.[0]);
  }

  /** True when tables were altered since it was opened, as by the first Messages after an update of macOS. */
  hasNewSchema(): boolean {
    return this.#readSchemaVersion() !== this.#schemaVersion;
  }

  /**
   * Reads in one transaction: everything is seen at one commit, and the WAL is locked once instead of at every
   * statement. `use` must not wait for anything.
   */
  inTransaction<Result>(use: () => Result): Result {
    this.#statement('BEGIN').run();
    try {
      const result = use();
      this.#statement('COMMIT').run();
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#sqlite.close();
  }

  #readSchemaVersion(): number {
    return Number(this.get('PRAGMA schema_version')?.[0]);
  }

  #rollBack(): void {
    try {
      this.#statement('ROLLBACK').run();
    } catch {
      // SQLite has done it already: some failures end the transaction.
    }
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#sqlite.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
