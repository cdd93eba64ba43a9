import type { RowBudget } from './row-budget.ts';
import { decodeText } from './stored-text.ts';
import { isKnownClass, objectOf, type TypedValue } from './typed-value.ts';

/** Maximum size of a blob to decode, in bytes: ten times what Messages can send, including attributes. */
export const MAX_BLOB_BYTES = 1_048_576;
const MAX_DEPTH = 64;
const MAX_TYPE_LENGTH = 256;
/** Thrown inside this file for a blob in another format. */
const BROKEN = new Error('not a typedstream of this kind');
/** Thrown to stop reading after the text, if the runs are not needed. */
const FOUND = new Error('the text is found');
export const SIGNATURE = Buffer.from('\x04\x0bstreamtyped\x81\xe8\x03', 'latin1');

// Values of an item's first byte. Bytes from 0x80 to 0x91 are tags; tags that are not named here are reserved. Any
// other byte is the value of the item, a number.
export const TWO_BYTES = 0x81;
const FOUR_BYTES = 0x82;
const REAL = 0x83;
export const NEW = 0x84;
export const NIL = 0x85;
const END = 0x86;
const EIGHT_BYTES = 0x87;
const FIRST_REFERENCE = 0x92;

/**
 * Reads a typedstream (NSArchiver's format, version 4) in one pass. An item may refer to an earlier item by its number
 * in one of two tables. One table holds the strings (types and names), the other the objects (including classes). Depth
 * is bounded, and steps and classes are spent from the row's budget; each byte is read once.
 */
export class Typedstream {
  readonly #bytes: Buffer;
  readonly #budget: RowBudget;
  readonly #strings: string[] = [];
  readonly #objects: TypedValue[] = [];
  /** Key: the index of a class object. Value: the first known name of the class and its superclasses; "" for none. */
  readonly #classes = new Map<number, string>();
  #at = SIGNATURE.length;
  #text: string | undefined;
  #isTextEnough = false;

  constructor(bytes: Buffer, budget: RowBudget) {
    this.#bytes = bytes;
    this.#budget = budget;
  }

  /** Returns the text of the attributed string, without reading further. */
  text(): string | undefined {
    this.#isTextEnough = true;
    this.values();
    return this.#text;
  }

  /**
   * Returns the text, and the contents of the top object in order. If the stream is broken after the text, returns only
   * the text.
   */
  values(): { readonly text: string | undefined; readonly values: readonly TypedValue[] | undefined } {
    try {
      if (!this.#bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) throw BROKEN;
      const values: TypedValue[] = [];
      this.#group(values, true, 0);
      const [top] = values;
      return { text: this.#text, values: Array.isArray(top) ? top : undefined };
    } catch (error) {
      if (error !== BROKEN && error !== FOUND) throw error;
      return { text: this.#text, values: undefined };
    }
  }

  /** Reads a type encoding and its values. `isText` marks the group whose first string is the text. */
  #group(values: TypedValue[], isText: boolean, depth: number): void {
    this.#step(depth);
    const types = this.#sharedString();
    if (types === undefined || types.length > MAX_TYPE_LENGTH) throw BROKEN;
    for (let at = 0; at < types.length; ) {
      const end = endOfType(types, at);
      values.push(this.#value(types.slice(at, end), isText, depth));
      at = end;
    }
  }

  #value(type: string, isText: boolean, depth: number): TypedValue {
    this.#step(depth);
    switch (type[0]) {
      case '@':
        return this.#object(isText, depth + 1);
      case '+':
        return this.#string(isText);
      case '*':
        return this.#cString();
      case '#':
        this.#class(depth + 1);
        return null;
      case ':':
      case '%':
        this.#sharedString();
        return null;
      case 'c':
      case 'C':
      case 'B':
        this.#skip(1);
        return type === 'c' ? this.#bytes.readInt8(this.#at - 1) : this.#bytes.readUInt8(this.#at - 1);
      case 's':
      case 'S':
      case 'i':
      case 'I':
      case 'l':
      case 'L':
      case 'q':
      case 'Q':
        return this.#integer(false);
      case 'f':
        return this.#real(4);
      case 'd':
        return this.#real(8);
      case '[':
        return this.#array(type, depth);
      case '{':
        return this.#structure(type, depth);
      default:
        throw BROKEN;
    }
  }

  #string(isText: boolean): string {
    const length = this.#integer(true);
    const start = this.#at;
    this.#skip(length);
    const text = decodeText(this.#bytes, start, this.#at);
    if (isText && this.#text === undefined) {
      this.#text = text;
      if (this.#isTextEnough) throw FOUND;
    }
    return text;
  }

  #object(isText: boolean, depth: number): TypedValue {
    const head = this.#byte();
    if (head === NIL) return null;
    // A reference to an object that is still being read is null.
    if (head !== NEW) return this.#objects[this.#reference(head, this.#objects.length)] ?? null;
    const number = this.#objects.push(null) - 1;
    const className = this.#class(depth + 1);
    const isWanted = isText && (className === 'NSString' || className === 'NSAttributedString');
    const values: TypedValue[] = [];
    while (this.#peek() !== END) this.#group(values, isWanted, depth + 1);
    this.#at += 1;
    const value = objectOf(className, values);
    this.#objects[number] = value;
    return value;
  }

  /** Reads a class. Returns the first known name of the class and its superclasses; "" for none. */
  #class(depth: number): string {
    this.#step(depth);
    const head = this.#byte();
    if (head === NIL) return '';
    if (head !== NEW) return this.#classes.get(this.#reference(head, this.#objects.length)) ?? fail();
    if (!this.#budget.spend('classes')) throw BROKEN;
    const own = this.#sharedString() ?? fail();
    this.#integer(false);
    const number = this.#objects.push(null) - 1;
    const inherited = this.#class(depth + 1);
    const className = isKnownClass(own) ? own : inherited;
    this.#classes.set(number, className);
    return className;
  }

  #cString(): TypedValue {
    const head = this.#byte();
    if (head === NIL) return null;
    if (head !== NEW) return this.#objects[this.#reference(head, this.#objects.length)] ?? null;
    const number = this.#objects.push(null) - 1;
    const text = this.#sharedString() ?? null;
    this.#objects[number] = text;
    return text;
  }

  #sharedString(): string | undefined {
    const head = this.#byte();
    if (head === NIL) return undefined;
    if (head !== NEW) return this.#strings[this.#reference(head, this.#strings.length)];
    const length = this.#integer(true);
    const start = this.#at;
    this.#skip(length);
    const text = this.#bytes.toString('latin1', start, this.#at);
    this.#strings.push(text);
    return text;
  }

  #array(type: string, depth: number): TypedValue {
    const [, count = '', element = ''] = /^\[(\d{1,7})(.*)\]$/s.exec(type) ?? fail();
    if (element === 'c' || element === 'C') {
      const start = this.#at;
      this.#skip(Number(count));
      return this.#bytes.subarray(start, this.#at);
    }
    for (let left = Number(count); left > 0; left -= 1) this.#value(element, false, depth + 1);
    return null;
  }

  #structure(type: string, depth: number): null {
    const fields = type.slice(type.indexOf('=') + 1, -1);
    for (let at = 0; at < fields.length; ) {
      const end = endOfType(fields, at);
      this.#value(fields.slice(at, end), false, depth + 1);
      at = end;
    }
    return null;
  }

  #real(bytes: 4 | 8): number {
    if (this.#peek() !== REAL) return this.#integer(false);
    this.#skip(1 + bytes);
    const start = this.#at - bytes;
    return bytes === 4 ? this.#bytes.readFloatLE(start) : this.#bytes.readDoubleLE(start);
  }

  #reference(head: number, size: number): number {
    this.#at -= 1;
    const index = (head >= FIRST_REFERENCE ? this.#byte() : this.#integer(false) + 256) - FIRST_REFERENCE;
    if (index < 0 || index >= size) throw BROKEN;
    return index;
  }

  #integer(isLength: boolean): number {
    const head = this.#byte();
    const start = this.#at;
    switch (head) {
      case TWO_BYTES:
        this.#skip(2);
        return isLength ? this.#bytes.readUInt16LE(start) : this.#bytes.readInt16LE(start);
      case FOUR_BYTES:
        this.#skip(4);
        return isLength ? this.#bytes.readUInt32LE(start) : this.#bytes.readInt32LE(start);
      case EIGHT_BYTES:
        this.#skip(8);
        return Number(this.#bytes.readBigInt64LE(start));
      default:
        if (head >= 0x80 && head < FIRST_REFERENCE) throw BROKEN;
        return head < 0x80 || isLength ? head : head - 256;
    }
  }

  #byte(): number {
    const byte = this.#bytes[this.#at] ?? fail();
    this.#at += 1;
    return byte;
  }

  #peek(): number {
    return this.#bytes[this.#at] ?? fail();
  }

  #skip(bytes: number): void {
    if (bytes < 0 || this.#at + bytes > this.#bytes.length) throw BROKEN;
    this.#at += bytes;
  }

  #step(depth: number): void {
    if (depth > MAX_DEPTH || !this.#budget.step()) throw BROKEN;
  }
}

/** Returns the end of the type that starts at `at` in a type encoding. A bracketed group is one type. */
function endOfType(types: string, at: number): number {
  const first = types[at];
  if (first !== '[' && first !== '{' && first !== '(') return at + 1;
  let open = 0;
  for (let end = at; end < types.length; end += 1) {
    const letter = types[end] ?? '';
    if ('[{('.includes(letter)) open += 1;
    if (']})'.includes(letter)) open -= 1;
    if (open === 0) return end + 1;
  }
  throw BROKEN;
}

function fail(): never {
  throw BROKEN;
}
