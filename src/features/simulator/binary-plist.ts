/** A value in a property list of Messages. A bigint is encoded as an integer, a number as a real. */
export type PlistValue = string | number | bigint | boolean | Uint8Array | readonly PlistValue[] | PlistDictionary;

export interface PlistDictionary {
  readonly [key: string]: PlistValue;
}

/**
 * First byte of an object, by its type (CFBinaryPList.c). The upper four bits are the type. The lower four are the
 * length, or the value of a boolean.
 */
const TYPE = {
  boolean: 0x08,
  integer: 0x10,
  real: 0x23,
  data: 0x40,
  ascii: 0x50,
  utf16: 0x60,
  array: 0xa0,
  dictionary: 0xd0,
};

/** Number of bytes of an offset. Enough for any property list of the simulated Mac. */
const OFFSET_BYTES = 4;
/** Number of bytes of a reference to another object. */
const REFERENCE_BYTES = 2;

/** Encodes a binary property list, the format of message_summary_info. */
export function encodeBinaryPlist(top: PlistValue): Buffer {
  const objects: Buffer[] = [];
  add(top, objects);
  const header = Buffer.from('bplist00', 'latin1');
  const offsets = Buffer.alloc(objects.length * OFFSET_BYTES);
  let at = header.length;
  for (const [number, object] of objects.entries()) {
    offsets.writeUInt32BE(at, number * OFFSET_BYTES);
    at += object.length;
  }
  const trailer = Buffer.alloc(32);
  trailer[6] = OFFSET_BYTES;
  trailer[7] = REFERENCE_BYTES;
  trailer.writeBigUInt64BE(BigInt(objects.length), 8);
  trailer.writeBigUInt64BE(0n, 16);
  trailer.writeBigUInt64BE(BigInt(at), 24);
  return Buffer.concat([header, ...objects, offsets, trailer]);
}

/** Appends a value to `objects`, followed by the values inside it. Returns the value's index in `objects`. */
function add(value: PlistValue, objects: Buffer[]): number {
  const number = objects.length;
  objects.push(Buffer.alloc(0)); // reserves the index: a value precedes its contents
  objects[number] = encode(value, objects);
  return number;
}

function encode(value: PlistValue, objects: Buffer[]): Buffer {
  if (typeof value === 'boolean') return Buffer.from([TYPE.boolean + (value ? 1 : 0)]);
  if (typeof value === 'bigint') return integer(value);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(9, TYPE.real);
    bytes.writeDoubleBE(value, 1);
    return bytes;
  }
  if (typeof value === 'string') return text(value);
  if (value instanceof Uint8Array) return Buffer.concat([head(TYPE.data, value.length), value]);
  if (isList(value)) {
    const items = value.map((item) => add(item, objects));
    return Buffer.concat([head(TYPE.array, items.length), references(items)]);
  }
  const keys = Object.keys(value).map((key) => add(key, objects));
  const values = Object.values(value).map((item) => add(item, objects));
  return Buffer.concat([head(TYPE.dictionary, keys.length), references([...keys, ...values])]);
}

function isList(value: readonly PlistValue[] | PlistDictionary): value is readonly PlistValue[] {
  return Array.isArray(value);
}

function text(value: string): Buffer {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is stored as one byte per character
  if (/^[\x00-\x7f]*$/.test(value)) {
    return Buffer.concat([head(TYPE.ascii, value.length), Buffer.from(value, 'latin1')]);
  }
  return Buffer.concat([head(TYPE.utf16, value.length), Buffer.from(value, 'utf16le').swap16()]);
}

function integer(value: bigint): Buffer {
  const bytes = Buffer.alloc(9, TYPE.integer + 3);
  bytes.writeBigInt64BE(value, 1);
  return bytes;
}

/** Encodes an object's type and length. A length of 15 or more follows as a separate integer. */
function head(type: number, length: number): Buffer {
  if (length < 15) return Buffer.from([type + length]);
  return Buffer.concat([Buffer.from([type + 15]), integer(BigInt(length))]);
}

function references(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * REFERENCE_BYTES);
  for (const [at, number] of numbers.entries()) bytes.writeUInt16BE(number, at * REFERENCE_BYTES);
  return bytes;
}
