/** A range of text with the same attributes. `length` counts UTF-16 units. */
export interface Run {
  readonly length: number;
  readonly attributes: Readonly<Record<string, string | number | Uint8Array>>;
}

const NEW = 0x84;
const NIL = 0x85;
const END = 0x86;
/** The byte that refers to entry 0 of a table. Entry n is 0x92 + n. */
const FIRST_REFERENCE = 0x92;

/**
 * Encodes an attributed string as in attributedBody: NeXT's typedstream, version 4. Without `runs` the whole text is
 * one message part.
 */
export function encodeAttributedBody(text: string, runs: readonly Run[] = plainRuns(text)): Uint8Array {
  return new Writer().attributedString(text, runs);
}

function plainRuns(text: string): readonly Run[] {
  return text === '' ? [] : [{ length: text.length, attributes: { __kIMMessagePartAttributeName: 0 } }];
}

/**
 * Writes a typedstream. References are indexes into two tables, which grow as the stream is written: shared strings
 * (types and class names) and objects (objects, classes, C strings).
 */
class Writer {
  readonly #bytes: number[] = [4, 11, ...Buffer.from('streamtyped'), 0x81, 0xe8, 0x03];
  readonly #strings = new Map<string, number>();
  readonly #objects = new Map<string, number>();
  #objectCount = 0;

  attributedString(text: string, runs: readonly Run[]): Uint8Array {
    this.#type('@');
    this.#begin(['NSMutableAttributedString', 0], ['NSAttributedString', 0], ['NSObject', 0]);
    this.#type('@');
    this.#begin(['NSMutableString', 1], ['NSString', 1], ['NSObject', 0]);
    this.#type('+');
    this.#text(text);
    this.#bytes.push(END);
    const known = new Map<string, number>();
    for (const { length, attributes } of runs) {
      const key = JSON.stringify(attributes);
      const number = known.get(key);
      this.#type('iI');
      this.#integer(number ?? known.size + 1);
      this.#integer(length);
      if (number !== undefined) continue;
      known.set(key, known.size + 1);
      this.#type('@');
      this.#dictionary(attributes);
    }
    this.#bytes.push(END);
    return new Uint8Array(this.#bytes);
  }

  #dictionary(attributes: Run['attributes']): void {
    this.#begin(['NSDictionary', 0], ['NSObject', 0]);
    this.#type('i');
    this.#integer(Object.keys(attributes).length);
    for (const [name, value] of Object.entries(attributes)) {
      this.#type('@');
      this.#once(`key ${name}`, () => this.#string(name));
      this.#type('@');
      if (typeof value === 'string') this.#string(value);
      else if (typeof value === 'object') this.#data(value);
      else this.#once(`number ${value}`, () => this.#number(value));
    }
    this.#bytes.push(END);
  }

  #string(text: string): void {
    this.#begin(['NSString', 1], ['NSObject', 0]);
    this.#type('+');
    this.#text(text);
    this.#bytes.push(END);
  }

  #data(bytes: Uint8Array): void {
    this.#begin(['NSData', 0], ['NSObject', 0]);
    this.#type('i');
    this.#integer(bytes.length);
    this.#type(`[${bytes.length}c]`);
    for (const byte of bytes) this.#bytes.push(byte);
    this.#bytes.push(END);
  }

  #number(value: number): void {
    this.#begin(['NSNumber', 0], ['NSValue', 0], ['NSObject', 0]);
    this.#type('*');
    this.#bytes.push(NEW);
    this.#objectCount += 1;
    this.#type('i');
    this.#type('i');
    this.#integer(value);
    this.#bytes.push(END);
  }

  /** Begins an object. The object takes its index in the table before its classes take theirs. */
  #begin(...classes: readonly (readonly [name: string, version: number])[]): void {
    this.#bytes.push(NEW);
    this.#objectCount += 1;
    for (const [name, version] of classes) {
      const known = this.#objects.get(`class ${name}`);
      if (known !== undefined) {
        this.#bytes.push(FIRST_REFERENCE + known);
        return;
      }
      this.#bytes.push(NEW);
      this.#objects.set(`class ${name}`, this.#objectCount);
      this.#objectCount += 1;
      this.#type(name);
      this.#integer(version);
    }
    this.#bytes.push(NIL);
  }

  /** Writes an object, or a reference to it if an object with this key was written before. */
  #once(key: string, write: () => void): void {
    const known = this.#objects.get(key);
    if (known !== undefined) {
      this.#bytes.push(FIRST_REFERENCE + known);
      return;
    }
    this.#objects.set(key, this.#objectCount);
    write();
  }

  #type(text: string): void {
    const known = this.#strings.get(text);
    if (known !== undefined) {
      this.#bytes.push(FIRST_REFERENCE + known);
      return;
    }
    this.#strings.set(text, this.#strings.size);
    this.#bytes.push(NEW, text.length);
    for (let at = 0; at < text.length; at += 1) this.#bytes.push(text.charCodeAt(at));
  }

  #text(text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    this.#length(bytes.length);
    for (const byte of bytes) this.#bytes.push(byte);
  }

  #integer(value: number): void {
    if (value >= -110 && value <= 127) this.#bytes.push(value & 0xff);
    else if (value >= -0x8000 && value <= 0x7fff) this.#wide(0x81, value, 2);
    else this.#wide(0x82, value, 4);
  }

  /** Writes a length, which is an unsigned integer. */
  #length(value: number): void {
    if (value < 128) this.#bytes.push(value);
    else if (value <= 0xffff) this.#wide(0x81, value, 2);
    else this.#wide(0x82, value, 4);
  }

  #wide(head: number, value: number, size: number): void {
    this.#bytes.push(head);
    for (let byte = 0; byte < size; byte += 1) this.#bytes.push((value >> (8 * byte)) & 0xff);
  }
}
