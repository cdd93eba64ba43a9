import { trimmedEnd } from './trimmed-end.ts';

/**
 * A position in the event log: everything up to this row and this change has been seen (decision I1). Treat it as
 * opaque; only `events/` and the stores look inside.
 */
export interface Offset {
  /** Row id in chat.db; 0 before the first row. */
  readonly rowId: number;
  /** Number of a change to an existing row; 0 while no changes are logged. */
  readonly change: number;
  /** Only at a hub: the newest offsets that the client received from other hubs, as in `StreamOffset`. */
  readonly others?: readonly StreamOffset[] | undefined;
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
 * An offset from a client (decision I1): a row id, or the decoded text of `encodeOffset` or `encodeStreamOffset`. Only
 * `EventFeed.resolve` turns a client's offset into an `Offset`.
 */
export type ClientOffset = { readonly rowId: number } | (Offset & { readonly generation: number }) | StreamOffset;

/**
 * An offset of a hub: an event's sequence in the broker's stream (decision N1). A deleted and recreated stream begins
 * at sequence 1 again, so the offset also identifies the stream and the message.
 */
export interface StreamOffset {
  /** The time when the stream was created, which identifies the stream. */
  readonly stream: string;
  readonly sequence: number;
  readonly messageId: string;
  /** When the broker stored the message, Unix milliseconds. */
  readonly atMs: number;
  /**
   * The id of the hub's copy of the stream, which identifies the hub that issued the offset. Absent in offsets from
   * earlier versions of Postern.
   */
  readonly copy?: string | undefined;
  /**
   * Sequence up to which no row was missing at the hub that issued the offset. Absent if no row was missing up to
   * `sequence`.
   */
  readonly floor?: number | undefined;
  /**
   * Sequence up to which neither a row nor a change was missing at the hub that issued the offset. Replaces `floor` for
   * readers with changes. Present only if it is lower than `floor`, or than `sequence` if there is no `floor`.
   */
  readonly changeFloor?: number | undefined;
  /**
   * The newest offset that the client received from each other hub. Present after the client has switched to a hub that
   * may repeat events, as long as the other hubs may keep the events at those offsets. Without `others`, a client that
   * switches between hubs could get the same events from each of them forever.
   */
  readonly others?: readonly StreamOffset[] | undefined;
}

/** Maximum number of `others` in an offset. */
const MAX_OTHERS = 3;
/** Maximum length of an offset's text. An offset with three `others` has some 600 characters. */
const MAX_LENGTH = 1000;

const STREAM_FORMAT =
  /^[23]\|([\w.:+-]{1,40})\|(\d{1,16})\|([\w-]{1,64})\|(\d{1,16})(?:\|([\da-f]{8})\|(\d{0,16})(?:\|(\d{1,16}))?)?$/;
const FORMAT = /^1\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})$/;

/** Encodes an offset for a client that reads changes: generation of the change log, row id and change number. */
export function encodeOffset({ rowId, change }: Offset, generation: number): string {
  // The base64 of digits and dots never contains + or /, so it needs no conversion for URLs.
  return trimmedEnd(btoa(`1.${generation}.${rowId}.${change}`), /=/);
}

/** Encodes an offset for a client of a hub, with the first `MAX_OTHERS` of its `others`. */
export function encodeStreamOffset(offset: StreamOffset): string {
  const all = [offset, ...(offset.others ?? []).slice(0, MAX_OTHERS)];
  return urlSafe(btoa(all.map(plainTextOf).join(';')));
}

function plainTextOf(offset: StreamOffset): string {
  const { stream, sequence, messageId, atMs, copy, floor = '', changeFloor } = offset;
  const place = `${stream}|${sequence}|${messageId}|${atMs}`;
  const floors = changeFloor === undefined ? floor : `${floor}|${changeFloor}`;
  return copy === undefined ? `2|${place}` : `3|${place}|${copy}|${floors}`;
}

/**
 * Parses an offset from a client. Returns undefined unless the text is a row id, or was written by `encodeOffset` or
 * `encodeStreamOffset`.
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
  if (/^[23]\|/.test(plain)) return decodeStreamOffset(plain, text);
  const [, generation, rowId, change] = FORMAT.exec(plain) ?? [];
  const offset = { generation: Number(generation), rowId: Number(rowId), change: Number(change) };
  // `encodeOffset` writes exactly one text for each offset. Any other text that decodes to it did not come from
  // Postern.
  return Object.values(offset).every(Number.isSafeInteger) && encodeOffset(offset, offset.generation) === text
    ? offset
    : undefined;
}

function decodeStreamOffset(plain: string, text: string): StreamOffset | undefined {
  const [offset, ...others] = plain.split(';', MAX_OTHERS + 1).map(readPlainText);
  if (offset === undefined) return undefined;
  const read = others.length === 0 ? offset : { ...offset, others: others.filter((other) => other !== undefined) };
  return encodeStreamOffset(read) === text ? read : undefined;
}

function readPlainText(plain: string): StreamOffset | undefined {
  const [, stream = '', sequence, messageId = '', atMs, copy, floor, changeFloor] = STREAM_FORMAT.exec(plain) ?? [];
  const offset = {
    stream,
    sequence: Number(sequence),
    messageId,
    atMs: Number(atMs),
    copy,
    floor: floor === undefined || floor === '' ? undefined : Number(floor),
    changeFloor: changeFloor === undefined ? undefined : Number(changeFloor),
  };
  const numbers = [offset.sequence, offset.atMs, offset.floor ?? 0, offset.changeFloor ?? 0];
  return numbers.every(Number.isSafeInteger) ? offset : undefined;
}

function urlSafe(base64: string): string {
  return trimmedEnd(base64.replaceAll('+', '-').replaceAll('/', '_'), /=/);
}
