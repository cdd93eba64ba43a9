import type { RowBudget } from '../../core/chatdb/public.ts';

/** A field of a protobuf message. The value is a number for a varint, and bytes for any other field. */
export interface ProtobufField {
  readonly number: number;
  readonly value: number | Uint8Array;
}

const MAX_VARINT_BYTES = 10;
const VARINT = 0;
const EIGHT_BYTES = 1;
const SIZED = 2;
const FOUR_BYTES = 5;

/**
 * Returns the fields of a protobuf message in order; undefined if the bytes are invalid or have more fields than the
 * budget has steps. Never throws.
 */
export function readProtobuf(bytes: Uint8Array, budget: RowBudget): readonly ProtobufField[] | undefined {
  const fields: ProtobufField[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = readVarint(bytes, at);
    if (tag === undefined || !budget.step()) return undefined;
    const number = Math.floor(tag.value / 8);
    const read = number === 0 ? undefined : readValue(bytes, tag.end, tag.value % 8);
    if (read === undefined) return undefined;
    fields.push({ number, value: read.value });
    at = read.end;
  }
  return fields;
}

interface Read<Value> {
  readonly value: Value;
  readonly end: number;
}

function readValue(bytes: Uint8Array, at: number, type: number): Read<number | Uint8Array> | undefined {
  if (type === VARINT) return readVarint(bytes, at);
  if (type === EIGHT_BYTES) return slice(bytes, at, 8);
  if (type === FOUR_BYTES) return slice(bytes, at, 4);
  const length = type === SIZED ? readVarint(bytes, at) : undefined;
  return length && slice(bytes, length.end, length.value);
}

function slice(bytes: Uint8Array, at: number, length: number): Read<Uint8Array> | undefined {
  const end = at + length;
  return end <= bytes.length ? { value: bytes.subarray(at, end), end } : undefined;
}

function readVarint(bytes: Uint8Array, at: number): Read<number> | undefined {
  let value = 0;
  for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return undefined;
}
