import { trimmedEnd } from './text.ts';

/**
 * A position in the event log: everything up to this row and this change has been seen (decision I1). Treat it as
 * opaque; only `log/` and the stores look inside.
 */
export interface Offset {
  /** Row id in chat.db; 0 before the first row. */
  readonly rowId: number;
  /** Number of a change to an existing row; 0 while no changes are logged. */
  readonly change: number;
}

/** Returns the position up to and including a row, and before every change to an existing row. */
export function rowOffset(rowId: number): Offset {
  return { rowId, change: 0 };
}

/** Reports whether `offset` includes anything that `other` does not. */
export function isAfter(offset: Offset, other: Offset): boolean {
  return offset.rowId > other.rowId || offset.change > other.change;
}

/** Returns the smallest position that includes everything that either position includes. */
export function latest(one: Offset, other: Offset): Offset {
  if (!isAfter(other, one)) return one;
  if (!isAfter(one, other)) return other;
  return { rowId: Math.max(one.rowId, other.rowId), change: Math.max(one.change, other.change) };
}

/**
 * An offset from a client (decision I1): a row id, the decoded text of `encodeOffset`, or the text of `encodeOpaque`.
 * Only `EventFeed.resolve` turns a client's offset into an `Offset`.
 */
export type ClientOffset = { readonly rowId: number } | (Offset & { readonly generation: number }) | OpaqueOffset;

/** An offset in a log that does not consist of one Mac's rows. Only the feed that wrote the text can read it. */
export interface OpaqueOffset {
  readonly opaque: string;
}

/** Maximum length of an offset's text. */
const MAX_LENGTH = 200;
const OPAQUE = '2.';
const FORMAT = /^1\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})$/;

/** Encodes an offset for a client that reads changes: generation of the change log, row id and change number. */
export function encodeOffset({ rowId, change }: Offset, generation: number): string {
  // The base64 of digits and dots never contains + or /, so it needs no conversion for URLs.
  return trimmedEnd(btoa(`1.${generation}.${rowId}.${change}`), /=/);
}

/** Encodes what another kind of log needs to find a position again. */
export function encodeOpaque(text: string): string {
  return urlSafe(btoa(OPAQUE + text));
}

/**
 * Parses an offset from a client. Returns undefined unless the text is a row id, or was written by `encodeOffset` or
 * `encodeOpaque`.
 */
export function decodeOffset(text: string): ClientOffset | undefined {
  // A row id above 2^53 - 1 becomes 2^53 - 1. No real row id is that high, so the offset still lies after every row.
  if (/^\d+$/.test(text)) return { rowId: Math.min(Number(text), Number.MAX_SAFE_INTEGER) };
  if (text.length > MAX_LENGTH || !/^[\w-]{8,}$/.test(text)) return undefined;
  let plain: string;
  try {
    plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return undefined;
  }
  if (plain.startsWith(OPAQUE)) {
    return urlSafe(btoa(plain)) === text ? { opaque: plain.slice(OPAQUE.length) } : undefined;
  }
  const [, generation, rowId, change] = FORMAT.exec(plain) ?? [];
  const offset = { generation: Number(generation), rowId: Number(rowId), change: Number(change) };
  // `encodeOffset` writes exactly one text for each offset. Any other text that decodes to it did not come from
  // Postern.
  return Object.values(offset).every(Number.isSafeInteger) && encodeOffset(offset, offset.generation) === text
    ? offset
    : undefined;
}

function urlSafe(base64: string): string {
  return trimmedEnd(base64.replaceAll('+', '-').replaceAll('/', '_'), /=/);
}
