import { CONTENT_COLUMNS } from '../model/content.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';
import type { StoredBlob } from './content/row-budget.ts';
import { MAX_BLOB_BYTES } from './content/typedstream.ts';
import type { Columns, SchemaInfo } from './schema-info.ts';

/** SQL for a blob, or for its length if it is too large to decode. SQLite knows the length without reading the blob. */
export function decodable(blob: string): string {
  return blob === 'NULL'
    ? blob
    : `CASE WHEN length(${blob}) <= ${MAX_BLOB_BYTES} THEN ${blob} ELSE length(${blob}) END`;
}

const ENCODED: ReadonlySet<string> = new Set(CONTENT_COLUMNS);
const isEncoded = (name: string): boolean => ENCODED.has(name);

/** SQL for the columns that decoders read of a row or an attachment, each after a comma. */
export function addedColumns(schema: SchemaInfo, of: 'row' | 'file'): string {
  const table = of === 'row' ? 'message' : 'attachment';
  return schema.decodedColumns[of]
    .map((name) => {
      const sql = schema.hasColumn(table, name.toLowerCase()) ? `${table[0]}.${name}` : 'NULL';
      return `, ${isEncoded(name) ? decodable(sql) : sql}`;
    })
    .join('');
}

/** SQL that is true if the row `m` has a value in a column that decoders read. */
export function addedCases(schema: SchemaInfo): readonly string[] {
  return schema.decodedColumns.row
    .filter((name) => schema.hasColumn('message', name.toLowerCase()))
    .map((name) => (isEncoded(name) ? `length(m.${name}) > 0` : `m.${name} NOT IN (0, '')`));
}

/** Returns a function for the values of a decoder's columns in a row that ends with the columns of these `names`. */
export function addedValues(
  names: readonly string[],
  row: Row,
  storedBlob: (value: SqlValue) => StoredBlob,
): (columns: Columns) => never {
  const first = row.length - names.length;
  // Several decoders may read one blob.
  const blobs = new Map<string, StoredBlob>();
  const blob = (name: string, value: SqlValue): StoredBlob => {
    if (!blobs.has(name)) blobs.set(name, storedBlob(value));
    return blobs.get(name);
  };
  return (columns) => {
    const values: Record<string, SqlValue | (() => StoredBlob)> = {};
    for (const as of Object.keys(columns)) {
      const name = columns[as] ?? '';
      const value = row[first + names.indexOf(name)] ?? null;
      values[as] = isEncoded(name) ? () => blob(name, value) : value;
    }
    return values as never;
  };
}
