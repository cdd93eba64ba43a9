/** A column value. */
export type SqlValue = string | number | bigint | null | Uint8Array;

export interface NativeStatement {
  all(...parameters: SqlValue[]): unknown[];
  /** The first row; undefined or null if there is none. */
  get(...parameters: SqlValue[]): unknown;
  run(...parameters: SqlValue[]): { changes: number | bigint };
}

/**
 * An open database of one of the three SQLite libraries, reduced to the methods that all of them offer. Rows are
 * arrays.
 */
export interface NativeDatabase {
  prepare(sql: string): NativeStatement;
  exec(sql: string): void;
  close(): void;
}

/** `path` is a path, or a `file:` URI. */
export type OpenNative = (
  path: string,
  options: { readonly readonly: boolean; readonly busyTimeoutMs: number },
) => NativeDatabase;
