import type { StoredBytes } from '../model/upload.ts';
import type { Row, Sqlite, SqlValue } from '../runtime/sqlite.ts';

/** Converts a member of a record to the value of its column, and back. */
export interface ColumnType<Value> {
  /** Name of the column. Default: the member's name in snake case. */
  readonly column?: string;
  write(value: Value): SqlValue;
  read(stored: SqlValue): Value;
}

/** The usual ways to store a member. */
export const columnTypes = {
  text: <Value extends string>(): ColumnType<Value> => ({ write: String, read: (stored) => String(stored) as Value }),
  number: (): ColumnType<number> => ({ write: (value) => value, read: Number }),
  flag: (): ColumnType<boolean> => ({ write: Number, read: (stored) => Number(stored) !== 0 }),
  json: <Value>(): ColumnType<Value> => ({
    write: (value) => JSON.stringify(value),
    read: (stored) => JSON.parse(String(stored)) as Value,
  }),
  orNull: <Value>(of: ColumnType<Value>): ColumnType<Value | null> => ({
    write: (value) => (value === null ? null : of.write(value)),
    read: (stored) => (stored === null ? null : of.read(stored)),
  }),
} as const;

/** Builds the SQL and the conversions of a record from its members, so that no column must be named twice. */
export function recordOf<Value extends object>(members: { readonly [Name in keyof Value]: ColumnType<Value[Name]> }) {
  const all = Object.entries<ColumnType<unknown>>(members);
  const names = all.map(
    ([name, { column }]) => column ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  const columns = names.join(', ');
  const marks = names.map(() => '?').join(', ');
  return {
    columns,
    insert: (table: string): string => `INTO ${table} (${columns}) VALUES (${marks})`,
    update: (table: string): string => `UPDATE ${table} SET (${columns}) = (${marks})`,
    /** Returns the record's values in the order of `columns`. */
    values: (value: Value): SqlValue[] => all.map(([name, member]) => member.write(value[name as keyof Value])),
    /** Converts a row to its record. The row must begin with `columns`. */
    read: (row: Row): Value =>
      Object.fromEntries(all.map(([name, member], index) => [name, member.read(row[index] ?? null)])) as Value,
  };
}

/** Returns the number in the row's first column; undefined without a row, or if the column is no number. */
export function firstNumber(row: Row | undefined): number | undefined {
  return typeof row?.[0] === 'number' ? row[0] : undefined;
}

/** Returns a function that reads the sizes of the `attachments` of those rows of a table, as one sum per key. */
export function storedBytesOf(database: Sqlite, table: string, where: string): () => readonly StoredBytes[] {
  const sums = database.prepare(
    `SELECT key_id, sum(json_extract(value, '$.bytes')) FROM ${table}, json_each(attachments)
     WHERE ${where} GROUP BY key_id`,
  );
  return () => sums.all().map(([keyId, bytes]) => ({ keyId: String(keyId), bytes: Number(bytes) }));
}
