import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** An invented row of chat.db as Messages would write it, and what it must decode to. */
export interface ContentVector {
  readonly name: string;
  readonly kind: string;
  readonly columns: Readonly<Record<string, ContentValue>>;
  /** Members of `details` that the row adds, and its kind. */
  readonly expect: Readonly<Record<string, unknown>>;
  /** The decoded body; of a long one only the length. */
  readonly text?: string | { readonly length: number } | null;
  readonly sentence?: string;
  /** Addresses by the row id of their handle. */
  readonly handles?: Readonly<Record<string, string>>;
  /** Rows that refer to this one, in order. */
  readonly related?: readonly { readonly sender: string; readonly columns: ContentVector['columns'] }[];
}

type ContentValue = string | number | null | { readonly hex: string } | { readonly gzip_base64: string };

export const contentVectors = JSON.parse(
  readFileSync(new URL('content-vectors.json', import.meta.url), 'utf8'),
) as readonly ContentVector[];

/** Converts a value into the form that SQLite stores. */
export function storedValue(value: ContentValue | undefined): string | number | null | Buffer {
  if (typeof value !== 'object' || value === null) return value ?? null;
  return 'hex' in value ? Buffer.from(value.hex, 'hex') : gunzipSync(Buffer.from(value.gzip_base64, 'base64'));
}
