/** A reference of a keyed archive to one of its objects. */
export class Uid {
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

/** A value of a property list. A list, a map or a buffer that occurs twice is stored once and referred to twice. */
export type Crafted = string | number | boolean | Buffer | Uid | readonly Crafted[] | ReadonlyMap<string, Crafted>;

/** Encodes a binary property list as another program could write it: with shared objects, and of any size. */
export function craftedPlist(top: Crafted): Buffer {
  const objects: Buffer[] = [];
  const known = new Map<unknown, number>();
  const add = (value: Crafted): number => {
    const found = known.get(value);
    if (found !== undefined) return found;
    const number = objects.push(Buffer.alloc(0)) - 1;
    known.set(value, number);
    objects[number] = encoded(value, add);
    return number;
  };
  add(top);
  const offsets = Buffer.alloc(4 * objects.length);
  let at = 8;
  for (const [number, object] of objects.entries()) {
    offsets.writeUInt32BE(at, 4 * number);
    at += object.length;
  }
  const trailer = Buffer.alloc(32);
  trailer.set([4, 4], 6);
  trailer.writeBigUInt64BE(BigInt(objects.length), 8);
  trailer.writeBigUInt64BE(BigInt(at), 24);
  return Buffer.concat([Buffer.from('bplist00'), ...objects, offsets, trailer]);
}

/** Encodes a keyed archive of these objects. The first one is the root, number 1. */
export function craftedArchive(objects: readonly Crafted[]): Buffer {
  return craftedPlist(
    new Map<string, Crafted>([
      ['$objects', ['$null', ...objects]],
      ['$top', new Map([['root', new Uid(1)]])],
    ]),
  );
}

export function members(of: Readonly<Record<string, Crafted>>): ReadonlyMap<string, Crafted> {
  return new Map(Object.entries(of));
}

function encoded(value: Crafted, add: (value: Crafted) => number): Buffer {
  if (typeof value === 'boolean') return Buffer.from([value ? 9 : 8]);
  if (typeof value === 'number') return Buffer.concat([Buffer.from([0x12]), four(value)]);
  if (typeof value === 'string') {
    const isAscii = /^[\0-\x7f]*$/.test(value);
    const bytes = isAscii ? Buffer.from(value, 'latin1') : Buffer.from(value, 'utf16le').swap16();
    return Buffer.concat([head(isAscii ? 0x50 : 0x60, value.length), bytes]);
  }
  if (Buffer.isBuffer(value)) return Buffer.concat([head(0x40, value.length), value]);
  if (value instanceof Uid) return Buffer.concat([Buffer.from([0x83]), four(value.number)]);
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<string, Crafted>)];
    const numbers = [...entries.map(([key]) => add(key)), ...entries.map(([, member]) => add(member))];
    return Buffer.concat([head(0xd0, entries.length), ...numbers.map(four)]);
  }
  const items = value as readonly Crafted[];
  return Buffer.concat([head(0xa0, items.length), ...items.map((item) => four(add(item)))]);
}

function head(type: number, length: number): Buffer {
  return length < 15 ? Buffer.from([type | length]) : Buffer.concat([Buffer.from([type | 15, 0x12]), four(length)]);
}

function four(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
}

/** Number of classes in one group of a typedstream. */
const GROUP = 256;

/**
 * Encodes an attributed string of this text with `count` further classes, each of which names the one before as its
 * superclass by a reference, so that the chain grows and nothing is nested.
 */
export function classChain(text: string, count: number): Buffer {
  const named = (name: string): number[] => [0x84, name.length, ...Buffer.from(name)];
  const classes = Array.from({ length: count }, (_, at) => [
    ...(at % GROUP > 0 ? [] : at === 0 ? [0x84, 0x81, 0, 1, ...Buffer.alloc(GROUP, '#')] : [0x92 + 5]),
    ...[0x84, 0x92 + 2, 0, ...reference(at === 0 ? 2 : 4 + at)],
  ]);
  return Buffer.from([
    ...[4, 11, ...Buffer.from('streamtyped'), 0x81, 0xe8, 0x03, ...named('@'), 0x84, 0x84],
    ...[...named('NSAttributedString'), 0, 0x84, ...named('NSObject'), 0, 0x85],
    ...[0x92, 0x84, 0x84, ...named('NSString'), 1, 0x92 + 2, ...named('+'), text.length, ...Buffer.from(text), 0x86],
    ...classes.flat(),
    0x86,
  ]);
}

/** Encodes a reference to an object of a typedstream. */
function reference(index: number): number[] {
  const number = index + 0x92;
  const rest = number - 256;
  return number < 0x100 ? [number] : [0x81, rest & 0xff, rest >> 8];
}
