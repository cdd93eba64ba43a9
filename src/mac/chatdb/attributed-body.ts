/**
 * The text of an `attributedBody` blob: a typedstream (NSArchiver's format, version 4), walked by its
 * structure to the string of the attributed string it holds. The runs behind the string are not read.
 * Bounded in size, depth and steps; what cannot be decoded is undefined, never an error (decision B2).
 */
export function decodeAttributedBody(blob: Uint8Array): string | undefined {
  if (blob.length < SIGNATURE.length || blob.length > MAX_BODY_BYTES) return undefined;
  const bytes = Buffer.isBuffer(blob) ? blob : Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  const at = usualStart(bytes);
  if (at > 0) {
    const text = shortString(bytes, at);
    if (text !== undefined) return text;
  }
  try {
    return new Archive(bytes).text();
  } catch (error) {
    if (error === BROKEN) return undefined;
    throw error;
  }
}

/** Ten times what Messages can send, attributes included. */
export const MAX_BODY_BYTES = 1_048_576;
const MAX_DEPTH = 64;
/** The string comes within the first dozen. */
const MAX_STEPS = 500;
const MAX_TYPE_LENGTH = 256;
const BROKEN = new Error('not a typedstream of this kind');
const SIGNATURE = Buffer.from('\x04\x0bstreamtyped\x81\xe8\x03', 'latin1');

// Heads of the format. Everything else up to 0x91 is reserved; the rest are literal numbers.
const TWO_BYTES = 0x81;
const FOUR_BYTES = 0x82;
const REAL = 0x83;
const NEW = 0x84;
const NIL = 0x85;
const END = 0x86;
const EIGHT_BYTES = 0x87;
const FIRST_REFERENCE = 0x92;

/** How practically every body begins, up to the length of its string. */
const USUAL = ['NSMutable', 'NS'].map((kind) =>
  Buffer.concat([
    SIGNATURE,
    Buffer.from([NEW, 1, 0x40, NEW, NEW, NEW]),
    ...(kind === 'NS' ? [] : [name(`${kind}AttributedString`), Buffer.from([0, NEW, NEW])]),
    name('NSAttributedString'),
    Buffer.from([0, NEW, NEW]),
    name('NSObject'),
    Buffer.from([0, NIL, 0x92, NEW, NEW, NEW]),
    ...(kind === 'NS' ? [] : [name(`${kind}String`), Buffer.from([1, NEW, NEW])]),
    name('NSString'),
    Buffer.from([1, kind === 'NS' ? 0x94 : 0x95, NEW, 1, 0x2b]),
  ]),
);

function name(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);
}

function usualStart(bytes: Buffer): number {
  for (const usual of USUAL) {
    let at = 0;
    while (at < usual.length && bytes[at] === usual[at]) at += 1;
    if (at === usual.length) return at;
  }
  return 0;
}

function shortString(bytes: Buffer, at: number): string | undefined {
  let length = bytes[at] ?? NIL;
  let start = at + 1;
  if (length === TWO_BYTES && start + 2 <= bytes.length) {
    length = bytes.readUInt16LE(start);
    start += 2;
  } else if (length >= 0x80) return undefined;
  return start + length <= bytes.length ? decodeText(bytes, start, start + length) : undefined;
}

function decodeText(bytes: Buffer, start: number, end: number): string {
  // Some writers put UTF-16 with its byte order mark here.
  if (end - start >= 2 && bytes[start] === 0xff && bytes[start + 1] === 0xfe) {
    return bytes.toString('utf16le', start + 2, end);
  }
  return bytes.toString('utf8', start, end);
}

/** One pass over one archive. Its two tables: shared strings (types, names) and objects (classes too). */
class Archive {
  readonly #bytes: Buffer;
  readonly #strings: string[] = [];
  /** A class is its chain of names, innermost first; any other object is undefined. */
  readonly #objects: (readonly string[] | undefined)[] = [];
  #at = SIGNATURE.length;
  #steps = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  text(): string | undefined {
    if (!this.#bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return undefined;
    return this.#group(true, 0);
  }

  /** A type encoding and its values. The text is found inside them, or undefined. */
  #group(wanted: boolean, depth: number): string | undefined {
    this.#step(depth);
    const types = this.#sharedString();
    if (types === undefined || types.length > MAX_TYPE_LENGTH) throw BROKEN;
    for (let at = 0; at < types.length; ) {
      const end = endOfType(types, at);
      const text = this.#value(types.slice(at, end), wanted, depth);
      if (text !== undefined) return text;
      at = end;
    }
    return undefined;
  }

  #value(type: string, wanted: boolean, depth: number): string | undefined {
    this.#step(depth);
    switch (type[0]) {
      case '@':
        return this.#object(wanted, depth + 1);
      case '+': {
        const length = this.#integer(true);
        const start = this.#at;
        this.#skip(length);
        return wanted ? decodeText(this.#bytes, start, this.#at) : undefined;
      }
      case '*':
        return this.#cString();
      case '#':
        this.#class(depth + 1);
        return undefined;
      case ':':
      case '%':
        this.#sharedString();
        return undefined;
      case 'c':
      case 'C':
      case 'B':
        this.#skip(1);
        return undefined;
      case 'f':
        return this.#real(4);
      case 'd':
        return this.#real(8);
      case '[':
        return this.#array(type, depth);
      case '{':
        return this.#structure(type, depth);
      default:
        if (!'sSiIlLqQ'.includes(type)) throw BROKEN;
        this.#integer(false);
        return undefined;
    }
  }

  #object(wanted: boolean, depth: number): string | undefined {
    const head = this.#byte();
    if (head === NIL) return undefined;
    if (head !== NEW) {
      this.#reference(head, this.#objects.length);
      return undefined;
    }
    this.#objects.push(undefined);
    const names = this.#class(depth + 1);
    const isString = names.includes('NSString');
    const isWanted = wanted && (isString || names.includes('NSAttributedString'));
    while (this.#peek() !== END) {
      const text = this.#group(isWanted, depth + 1);
      if (text !== undefined) return text;
    }
    this.#at += 1;
    return undefined;
  }

  #class(depth: number): readonly string[] {
    this.#step(depth);
    const head = this.#byte();
    if (head === NIL) return [];
    if (head !== NEW) return this.#objects[this.#reference(head, this.#objects.length)] ?? fail();
    const own = this.#sharedString() ?? fail();
    this.#integer(false);
    const index = this.#objects.push(undefined) - 1;
    const names = [own, ...this.#class(depth + 1)];
    this.#objects[index] = names;
    return names;
  }

  #cString(): undefined {
    const head = this.#byte();
    if (head === NIL) return;
    if (head !== NEW) {
      this.#reference(head, this.#objects.length);
      return;
    }
    this.#objects.push(undefined);
    this.#sharedString();
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

  #array(type: string, depth: number): undefined {
    const [, count = '', element = ''] = /^\[(\d{1,7})(.*)\]$/s.exec(type) ?? fail();
    if (element === 'c' || element === 'C') {
      this.#skip(Number(count));
      return;
    }
    for (let left = Number(count); left > 0; left -= 1) this.#value(element, false, depth + 1);
  }

  #structure(type: string, depth: number): undefined {
    const fields = type.slice(type.indexOf('=') + 1, -1);
    for (let at = 0; at < fields.length; ) {
      const end = endOfType(fields, at);
      this.#value(fields.slice(at, end), false, depth + 1);
      at = end;
    }
  }

  #real(bytes: number): undefined {
    if (this.#peek() === REAL) this.#skip(1 + bytes);
    else this.#integer(false);
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
    this.#steps += 1;
    if (depth > MAX_DEPTH || this.#steps > MAX_STEPS) throw BROKEN;
  }
}

/** Where the type that starts at `at` ends in a type encoding: brackets count as one type. */
function endOfType(types: string, at: number): number {
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
