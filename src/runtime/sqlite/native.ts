/** A column value as the implementations take and return it. */
export type NativeValue = string | number | bigint | null | Uint8Array;

export interface NativeStatement {
  all(...parameters: NativeValue[]): unknown[];
  /** The first row; undefined or null if there is none. */
  get(...parameters: NativeValue[]): unknown;
  run(...parameters: NativeValue[]): { changes: number | bigint };
}

/** An open database with the interface that all three implementations share. Rows are arrays. */
export interface NativeDatabase {
  prepare(sql: string): NativeStatement;
  exec(sql: string): void;
  close(): void;
}

export type OpenNative = (
  path: string,
  options: { readonly readonly: boolean; readonly busyTimeoutMs: number },
) => NativeDatabase;
