/** What an implementation takes and gives as the value of a column. */
export type NativeValue = string | number | bigint | null | Uint8Array;

export interface NativeStatement {
  all(...parameters: NativeValue[]): unknown[];
  /** The first row; undefined or null when there is none. */
  get(...parameters: NativeValue[]): unknown;
  run(...parameters: NativeValue[]): { changes: number | bigint };
}

/** One open database, as each of the three implementations offers it. Rows are arrays. */
export interface NativeDatabase {
  prepare(sql: string): NativeStatement;
  exec(sql: string): void;
  close(): void;
}

export type OpenNative = (
  path: string,
  options: { readonly readonly: boolean; readonly busyTimeoutMs: number },
) => NativeDatabase;
