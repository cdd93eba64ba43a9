import type { AppError } from '../domain/errors.ts';
import { problem } from '../domain/problems.ts';
import type { Sqlite } from '../runtime/sqlite.ts';

/** What this database has. Found by looking, never by the version of macOS (decision B1). */
export interface SchemaInfo {
  hasTable(table: string): boolean;
  hasColumn(table: string, column: string): boolean;
  /** True when an index begins with these columns, so that a search by them is fast. */
  hasIndex(table: string, ...columns: readonly string[]): boolean;
  /** Names of the indexes that begin with these columns, partial ones too. */
  indexes(table: string, ...columns: readonly string[]): readonly string[];
  /** True when no two rows can have the same in all of these columns together. */
  isUnique(table: string, ...columns: readonly string[]): boolean;
  /** SQL for the bytes of a value, which SQLite 3.43 and newer know without reading the text. */
  byteLength(value: string): string;
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
  'sqlite_sequence',
] as const;

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  message: ['guid', 'text', 'date', 'is_from_me', 'handle_id'],
  chat: ['guid'],
  handle: ['id'],
  chat_message_join: ['chat_id', 'message_id'],
};
/** Tables that are of no use without these columns. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  chat_handle_join: ['chat_id', 'handle_id'],
  message_attachment_join: ['message_id', 'attachment_id'],
  attachment: ['filename'],
  chat_recoverable_message_join: ['chat_id', 'message_id'],
};

/** Throws AppError `unavailable` when something is missing that nothing works without. */
export function readSchemaInfo(sqlite: Sqlite): SchemaInfo {
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

/** Builds something once for each schema, at its first use. */
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
