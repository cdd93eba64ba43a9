import type { Log } from '../model/ports/host-ports.ts';
import { openSqlite, type Row, type Sqlite, type SqlValue, type Statement } from '../runtime/sqlite.ts';
import { messagesFolder } from './attachment-place.ts';
import type { Decoder, RunDecoder } from './decoder.ts';
import { type Damage, ReadAround } from './read-around.ts';
import { readSchemaInfo, type SchemaInfo, type SchemaOptions } from './schema-info.ts';
import { isCorrupt } from './temporary-tables.ts';

export interface ChatDatabaseParts extends SchemaOptions {
  readonly path: string;
  /**
   * The folder for which `~` stands in attachment paths. Used only if the database is not in a `Library/Messages`
   * folder.
   */
  readonly home: string;
  readonly log: Log;
  readonly decoders?: readonly Decoder[];
  /** Receives the row whose content is being decoded. Default: none. */
  readonly decoding?: RowDecoding;
}

/** The settings with which both threads open chat.db. Passed between them, so it is data. */
export type SharedDatabaseParts = Pick<ChatDatabaseParts, 'path' | 'home' | 'associatedRows' | 'hidden'>;

/** Notes which row's content is being decoded, so that a row that takes too long can be found and left out. */
export interface RowDecoding {
  /** Reports whether the row's content is left out. */
  isLeftOut(rowId: number): boolean;
  begin(rowId: number): void;
  end(): void;
}

/**
 * Maximum time that SQLite waits for a lock, in milliseconds. It is long enough for a writer without WAL to finish a
 * commit. It is no longer than that, because the wait blocks the event loop.
 */
const BUSY_TIMEOUT_MS = 100;

/** Size of SQLite's page cache, in KiB. A cache of 32 MiB did not make long lists faster. */
const CACHE_KIB = 4096;

/**
 * chat.db, opened for reading: only SQLite touches the file, nothing is ever written, and no transaction outlives one
 * call (decision B1).
 */
export class ChatDbHandle {
  readonly parts: ChatDatabaseParts;
  readonly decoders: readonly Decoder[];
  readonly runDecoders: readonly RunDecoder[];
  readonly #around: ReadAround;
  #schema: SchemaInfo;
  #isPreparing: boolean;
  readonly #sqlite: Sqlite;
  readonly #statements = new Map<string, Statement>();
  #folder: string | undefined;
  /** Value of `PRAGMA schema_version` at the time when `schema` was read. */
  readonly #schemaVersion: number;

  private constructor(sqlite: Sqlite, parts: ChatDatabaseParts, inSlices: boolean) {
    this.parts = parts;
    this.decoders = parts.decoders ?? [];
    this.runDecoders = this.decoders.flatMap(({ run = [] }) => run);
    this.#sqlite = sqlite;
    this.#schemaVersion = this.#readSchemaVersion();
    this.#around = new ReadAround(sqlite);
    this.#isPreparing = this.#around.lacksJoinIndex();
    if (this.#isPreparing && !inSlices) this.prepare();
    this.#schema = readSchemaInfo(sqlite, parts);
  }

  /**
   * Opens the database. Throws SQLite's error if it cannot be opened, and an AppError if it is not a database of
   * Messages. With `inSlices`, a missing index is left to calls of `prepare`.
   */
  static open(parts: ChatDatabaseParts, { isImmutable = false, inSlices = false } = {}): ChatDbHandle {
    const sqlite = openSqlite(parts.path, { readonly: true, isImmutable, busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      sqlite.exec(`PRAGMA query_only = 1; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = 0`);
      return new ChatDbHandle(sqlite, parts, inSlices);
    } catch (error) {
      sqlite.close();
      throw error;
    }
  }

  /** The folder of chat.db, which holds the files of messages. If the path is a link, the link was followed once. */
  get folder(): string {
    this.#folder ??= messagesFolder(this.parts.path);
    return this.#folder;
  }

  get schema(): SchemaInfo {
    return this.#schema;
  }

  all(sql: string, ...parameters: readonly SqlValue[]): Row[] {
    return this.#statement(sql).all(...parameters);
  }

  get(sql: string, ...parameters: readonly SqlValue[]): Row | undefined {
    return this.#statement(sql).get(...parameters);
  }

  /**
   * Returns a number that changes with every commit of another connection. Comparable only with numbers from this
   * handle.
   */
  version(): number {
    return Number(this.get('PRAGMA data_version')?.[0]);
  }

  /**
   * Reports whether tables were altered since the handle was opened, as happens when Messages first runs after an
   * update of macOS.
   */
  hasNewSchema(): boolean {
    return this.#readSchemaVersion() !== this.#schemaVersion;
  }

  /**
   * Runs `use` in one read transaction. All its reads then show one commit, and SQLite locks the WAL only once. `use`
   * must be synchronous.
   */
  inTransaction<Result>(use: () => Result): Result {
    this.#around.refresh();
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

  /** True until `prepare` has made up for an index that chat.db lacks. */
  get isPreparing(): boolean {
    return this.#isPreparing;
  }

  /** Copies up to `limit` joins for the index that chat.db lacks. Throws `index_missing`. */
  prepare(limit?: number): void {
    if (!this.#around.copyJoins(limit)) return;
    this.#isPreparing = false;
    this.#schema = readSchemaInfo(this.#sqlite, this.parts);
  }

  /** Finds the rows that cannot be read. Reads the whole of chat.db, which can take seconds. */
  survey(): Damage {
    return this.#around.survey();
  }

  /** Skips the unreadable rows in every later read. */
  skip(damage: Damage): void {
    this.#statements.clear();
    this.#around.apply(damage);
    this.#schema = { ...this.#schema, messagesByIndex: this.#around.messagesByIndex };
  }

  /** Returns what SQLite's quick check of chat.db complains about, or `ok`. Reads all of it. */
  quickCheck(limit: number): readonly string[] {
    try {
      return this.all(`PRAGMA main.quick_check(${limit})`).map(([line]) => String(line));
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      return ['the quick check itself met a damaged page'];
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
      // Fails if SQLite has already rolled back by itself, as it does after some failures.
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
