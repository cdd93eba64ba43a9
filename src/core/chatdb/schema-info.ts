import type { AssociatedRows } from '../model/associated-rows.ts';
import type { AppError } from '../model/errors.ts';
import type { HiddenText } from '../model/hidden-text.ts';
import { lookupTable } from '../model/lookup-table.ts';
import { problem } from '../model/problems.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { CONTENT_TABLES } from './read-around.ts';
import { isCorrupt } from './temporary-tables.ts';

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
  /** The columns that decoders read of a row and of an attachment, each once. */
  readonly decodedColumns: Readonly<Record<'row' | 'file', readonly string[]>>;
}

/** Names of columns in chat.db. Key: how a decoder calls the column. */
export type Columns = Readonly<Record<string, string>>;

export interface SchemaOptions {
  /** Default: `reactions`. */
  readonly associatedRows?: AssociatedRows;
  /** The messages that lists leave out. Default: none. */
  readonly hidden?: readonly HiddenText[];
  /** The columns that features decode. Default: none. */
  readonly decoders?: readonly { readonly [Of in 'row' | 'file']?: { readonly columns: Columns } }[];
}

const TABLES = [...CONTENT_TABLES, 'sqlite_sequence'];

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
  { associatedRows = 'reactions', hidden = [], decoders = [] }: SchemaOptions = {},
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
  if (!isReadable(sqlite, 'sqlite_sequence')) tables.delete('sqlite_sequence');
  const hasOctetLength =
    sqlite.prepare("SELECT 1 FROM pragma_function_list WHERE name = 'octet_length'").get() !== undefined;
  const withColumns = (table: string, columns: readonly string[]): readonly Index[] =>
    indexes.filter((index) => index.table === table && columns.every((name, at) => index.columns[at] === name));
  const columnsOf = (what: 'row' | 'file'): readonly string[] => [
    ...new Set(decoders.flatMap((one) => Object.values(one[what]?.columns ?? {}))),
  ];
  return {
    associatedRows,
    hidden,
    decodedColumns: { row: columnsOf('row'), file: columnsOf('file') },
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

/** Returns false if the page of a small table is damaged. `ReadAround` cannot hide this table by a TEMP table. */
function isReadable(sqlite: Sqlite, table: 'sqlite_sequence'): boolean {
  try {
    sqlite.prepare(`SELECT count(*) FROM ${table}`).get();
    return true;
  } catch (error) {
    return !isCorrupt(error);
  }
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
