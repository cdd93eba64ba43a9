import type { AssociatedRows } from '../model/associated-rows.ts';
import type { AppError } from '../model/errors.ts';
import type { HiddenText } from '../model/hidden-text.ts';
import { lookupTable } from '../model/lookup-table.ts';
import type { Log } from '../model/ports/host-ports.ts';
import { problem } from '../model/problems.ts';
import { openSqlite, type Row, type Sqlite, type SqlValue, type Statement } from '../runtime/sqlite.ts';
import { messagesFolder } from './attachment-place.ts';
import type { Decoder } from './decoder.ts';
import { type Damage, ReadAround } from './read-around.ts';
import { isCorrupt } from './temporary-tables.ts';

export interface ChatDatabaseParts {
  readonly path: string;
  /**
   * The folder for which `~` stands in attachment paths. Used only if the database is not in a `Library/Messages`
   * folder.
   */
  readonly home: string;
  readonly log: Log;
  /** Default: `reactions`. */
  readonly associatedRows?: AssociatedRows;
  /** The messages that lists leave out. Default: none. */
  readonly hidden?: readonly HiddenText[];
  /** What features decode of rows. Default: nothing. */
  readonly decoders?: readonly Decoder[];
  /** Receives the row whose content is being decoded. Default: none. */
  readonly decoding?: RowDecoding;
}

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

/** The tables and columns of this database. Determined by inspection, never by the version of macOS (decision B1). */
export interface SchemaInfo {
  hasTable(table: string): boolean;
  hasColumn(table: string, column: string): boolean;
  /** Reports whether an index begins with these columns. If so, a search by them is fast. */
  hasIndex(table: string, ...columns: readonly string[]): boolean;
  /** Names of the indexes that begin with these columns, including partial ones. */
  indexes(table: string, ...columns: readonly string[]): readonly string[];
  /** Reports whether a unique index ensures that no two rows are equal in all of these columns. */
  isUnique(table: string, ...columns: readonly string[]): boolean;
  /** The table or view for queries that find messages by an index; `message` is for all others. */
  readonly messagesByIndex: 'message' | 'message_by_index';
  /** SQL for the byte length of a value. SQLite 3.43 and newer determine the length without reading the value. */
  byteLength(value: string): string;
  /** How rows with an `associated_message_type` are shown (decision U5). */
  readonly associatedRows: AssociatedRows;
  /** The messages that lists leave out. */
  readonly hidden: readonly HiddenText[];
  readonly decoders: readonly Decoder[];
}

const TABLES = [
  'message',
  'chat',
  'handle',
  'attachment',
  'chat_message_join',
  'chat_handle_join',
  'message_attachment_join',
  'chat_recoverable_message_join',
  'chat_lookup',
  'sqlite_sequence',
] as const;

const REQUIRED: Readonly<Record<string, readonly string[]>> = lookupTable({
  message: ['guid', 'text', 'date', 'is_from_me', 'handle_id'],
  chat: ['guid'],
  handle: ['id'],
  chat_message_join: ['chat_id', 'message_id'],
});

/** The needed columns of each optional table. A table that lacks one of them is ignored. */
const NEEDED: Readonly<Record<string, readonly string[]>> = lookupTable({
  chat_handle_join: ['chat_id', 'handle_id'],
  message_attachment_join: ['message_id', 'attachment_id'],
  attachment: ['filename'],
  chat_recoverable_message_join: ['chat_id', 'message_id'],
  chat_lookup: ['identifier', 'chat'],
});

/** Reads which tables and columns exist. Throws `chat_db_unavailable` if a table or column of `REQUIRED` is missing. */
export function readSchemaInfo(
  sqlite: Sqlite,
  { associatedRows = 'reactions', hidden = [], decoders = [] }: Partial<ChatDatabaseParts> = {},
): SchemaInfo {
  const tables = new Map<string, ReadonlySet<string>>();
  const indexes: Index[] = [];
  for (const table of TABLES) {
    const columns = names(sqlite, `PRAGMA table_info(${table})`, 1);
    if (columns.length === 0) continue;
    tables.set(table, new Set(columns));
    for (const [, name, unique, , partial] of sqlite.prepare(`PRAGMA index_list(${table})`).all()) {
      const quoted = `"${String(name).replaceAll('"', '""')}"`;
      const isUnique = unique !== 0 && partial !== 1;
      indexes.push({ table, name: String(name), columns: names(sqlite, `PRAGMA index_info(${quoted})`, 2), isUnique });
    }
  }
  for (const [table, columns] of Object.entries(REQUIRED)) {
    if (!tables.has(table)) throw missing(`table ${table}`);
    for (const column of columns) if (!tables.get(table)?.has(column)) throw missing(`column ${table}.${column}`);
  }
  for (const [table, columns] of Object.entries(NEEDED)) {
    if (!columns.every((column) => tables.get(table)?.has(column))) tables.delete(table);
  }
  const hasOctetLength =
    sqlite.prepare("SELECT 1 FROM pragma_function_list WHERE name = 'octet_length'").get() !== undefined;
  const withColumns = (table: string, columns: readonly string[]): readonly Index[] =>
    indexes.filter((index) => index.table === table && columns.every((name, at) => index.columns[at] === name));
  return {
    associatedRows,
    hidden,
    decoders,
    messagesByIndex: 'message',
    hasTable: (table) => tables.has(table),
    hasColumn: (table, column) => tables.get(table)?.has(column) ?? false,
    hasIndex: (table, ...columns) => withColumns(table, columns).length > 0,
    indexes: (table, ...columns) => withColumns(table, columns).map(({ name }) => name),
    isUnique: (table, ...columns) =>
      indexes.some(
        (index) => index.table === table && index.isUnique && index.columns.every((name) => columns.includes(name)),
      ),
    byteLength: (value) => (hasOctetLength ? `octet_length(${value})` : `length(CAST(${value} AS BLOB))`),
  };
}

interface Index {
  readonly table: string;
  readonly name: string;
  readonly columns: readonly string[];
  readonly isUnique: boolean;
}

function names(sqlite: Sqlite, pragma: string, at: number): string[] {
  return sqlite
    .prepare(pragma)
    .all()
    .map((row) => String(row[at]).toLowerCase());
}

function missing(what: string): AppError {
  return problem('chat_db_incomplete', { what });
}

/** Returns a function that calls `build` once per schema, on first use, and then returns the same result. */
export function perSchema<Result>(build: (schema: SchemaInfo) => Result): (schema: SchemaInfo) => Result {
  const built = new WeakMap<SchemaInfo, Result>();
  return (schema) => {
    const known = built.get(schema);
    if (known !== undefined) return known;
    const result = build(schema);
    built.set(schema, result);
    return result;
  };
}
