import type { RowBudget } from './row-budget.ts';
import { MAX_BLOB_BYTES } from './typedstream.ts';

/** A reference to an object, by its index in the `$objects` of a keyed archive. */
export class PlistUid {
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

/** A moment, in seconds since 2001-01-01. */
export class PlistDate {
  readonly seconds: number;

  constructor(seconds: number) {
    this.seconds = seconds;
  }
}

export type PlistDictionary = ReadonlyMap<string, PlistValue>;
export type PlistValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | PlistUid
  | PlistDate
  | readonly PlistValue[]
  | PlistDictionary;

const MAX_OBJECTS = 100_000;
const MAX_DEPTH = 64;
/** Number of items of a list or dictionary that take one step: each is a reference to an object that takes its own. */
const ITEMS_A_STEP = 4;
const TRAILER_BYTES = 32;
const HEADER = 'bplist00';
const BROKEN = new Error('not a binary property list');

/**
 * Reads a binary property list; returns undefined if it is broken, too large, nested too deeply or exceeds the budget.
 * Never throws. Reads each object once, however often it is referenced. Decodes in total at most as many bytes of text
 * as the file has.
 */
export function readBinaryPlist(blob: Uint8Array, budget: RowBudget): PlistValue | undefined {
  if (blob.length < HEADER.length + TRAILER_BYTES || blob.length > MAX_BLOB_BYTES) return undefined;
  if (!budget.open(blob)) return undefined;
  const bytes = Buffer.isBuffer(blob) ? blob : Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  try {
    return new PlistFile(bytes, budget).top();
  } catch (error) {
    if (error === BROKEN) return undefined;
    throw error;
  }
}

class PlistFile {
  readonly #bytes: Buffer;
  readonly #budget: RowBudget;
  readonly #offsetBytes: number;
  readonly #referenceBytes: number;
  readonly #count: number;
  readonly #top: number;
  readonly #offsetsAt: number;
  readonly #objects = new Map<number, PlistValue>();
  /**
   * Numbers of the arrays and dictionaries that are being read. An object that contains itself makes the property list
   * invalid.
   */
  readonly #open = new Set<number>();
  #textBytesLeft: number;

  constructor(bytes: Buffer, budget: RowBudget) {
    const trailer = bytes.length - TRAILER_BYTES;
    this.#bytes = bytes;
    this.#budget = budget;
    this.#textBytesLeft = bytes.length;
    this.#offsetBytes = bytes.readUInt8(trailer + 6);
    this.#referenceBytes = bytes.readUInt8(trailer + 7);
    this.#count = Number(bytes.readBigUInt64BE(trailer + 8));
    this.#top = Number(bytes.readBigUInt64BE(trailer + 16));
    this.#offsetsAt = Number(bytes.readBigUInt64BE(trailer + 24));
    const isSized = (size: number): boolean => size >= 1 && size <= 8;
    if (
      bytes.toString('latin1', 0, HEADER.length) !== HEADER ||
      !isSized(this.#offsetBytes) ||
      !isSized(this.#referenceBytes) ||
      this.#count > MAX_OBJECTS ||
      this.#offsetsAt + this.#count * this.#offsetBytes > trailer
    ) {
      throw BROKEN;
    }
  }

  top(): PlistValue {
    return this.#object(this.#top, 0);
  }

  #object(number: number, depth: number): PlistValue {
    const known = this.#objects.get(number);
    if (known !== undefined) return known;
    if (depth > MAX_DEPTH || number >= this.#count || this.#open.has(number)) throw BROKEN;
    this.#spend(1);
    this.#open.add(number);
    const value = this.#read(this.#number(this.#offsetsAt + number * this.#offsetBytes, this.#offsetBytes), depth);
    this.#open.delete(number);
    this.#objects.set(number, value);
    return value;
  }

  #read(at: number, depth: number): PlistValue {
    const head = this.#number(at, 1);
    const low = head & 0x0f;
    const body = at + 1;
    switch (head >> 4) {
      case 0x0:
        if (low === 8) return false;
        return low === 9 ? true : null;
      case 0x1:
        return this.#integer(body, 2 ** low);
      case 0x2:
        return this.#real(body, 2 ** low);
      case 0x3:
        return new PlistDate(this.#real(body, 8));
      case 0x8:
        return new PlistUid(this.#number(body, low + 1));
      default:
        return this.#sized(head >> 4, ...this.#length(low, body), depth);
    }
  }

  /** Reads an object of known length whose content begins at `at`. */
  #sized(type: number, length: number, at: number, depth: number): PlistValue {
    switch (type) {
      case 0x4:
        return this.#slice(at, length);
      case 0x5:
        return this.#text(at, length).toString('latin1');
      case 0x6:
        return Buffer.from(this.#text(at, 2 * length))
          .swap16()
          .toString('utf16le');
      case 0xa:
        return this.#items(at, length, depth);
      case 0xd:
        return this.#dictionary(at, length, depth);
      default:
        throw BROKEN;
    }
  }

  #items(at: number, count: number, depth: number): readonly PlistValue[] {
    this.#check(at, count * this.#referenceBytes);
    this.#spend(Math.ceil(count / ITEMS_A_STEP));
    const items: PlistValue[] = [];
    for (let item = 0; item < count; item += 1) {
      items.push(this.#object(this.#number(at + item * this.#referenceBytes, this.#referenceBytes), depth + 1));
    }
    return items;
  }

  #dictionary(at: number, count: number, depth: number): PlistDictionary {
    const keys = this.#items(at, count, depth);
    const values = this.#items(at + count * this.#referenceBytes, count, depth);
    const dictionary = new Map<string, PlistValue>();
    for (const [index, key] of keys.entries()) {
      if (typeof key !== 'string') throw BROKEN;
      dictionary.set(key, values[index] ?? null);
    }
    return dictionary;
  }

  /**
   * Returns the length of an object and the offset of its content. The length is `low`, or a separate integer if `low`
   * is 15.
   */
  #length(low: number, at: number): readonly [length: number, at: number] {
    if (low !== 15) return [low, at];
    const head = this.#number(at, 1);
    if (head >> 4 !== 1) throw BROKEN;
    const bytes = 2 ** (head & 0x0f);
    return [this.#integer(at + 1, bytes), at + 1 + bytes];
  }

  /**
   * Reads an integer. Integers of 8 or 16 bytes are signed, and shorter ones unsigned. Only the last 8 of 16 bytes are
   * read, because real values fit into them.
   */
  #integer(at: number, bytes: number): number {
    if (bytes < 8) return this.#number(at, bytes);
    if (bytes > 16) throw BROKEN;
    const start = at + bytes - 8;
    this.#check(at, bytes);
    return Number(this.#bytes.readBigInt64BE(start));
  }

  #real(at: number, bytes: number): number {
    this.#check(at, bytes);
    if (bytes === 4) return this.#bytes.readFloatBE(at);
    if (bytes !== 8) throw BROKEN;
    return this.#bytes.readDoubleBE(at);
  }

  #number(at: number, bytes: number): number {
    this.#check(at, bytes);
    let value = 0;
    for (let byte = at; byte < at + bytes; byte += 1) value = value * 256 + (this.#bytes[byte] ?? 0);
    return value;
  }

  #text(at: number, bytes: number): Buffer {
    this.#textBytesLeft -= bytes;
    if (this.#textBytesLeft < 0) throw BROKEN;
    return this.#slice(at, bytes);
  }

  #spend(steps: number): void {
    if (!this.#budget.step(steps)) throw BROKEN;
  }

  #check(at: number, bytes: number): void {
    if (!(bytes >= 0 && at >= 0 && at + bytes <= this.#bytes.length)) throw BROKEN;
  }

  #slice(at: number, bytes: number): Buffer {
    this.#check(at, bytes);
    return this.#bytes.subarray(at, at + bytes);
  }
}
