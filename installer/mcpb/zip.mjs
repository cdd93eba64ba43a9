import { crc32, deflateRawSync } from 'node:zlib';

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
/** Declares that names are UTF-8. */
const FLAGS = 0x0800;
const DEFLATE = 8;
/** 1 January 1980 for every entry, so that the same content always gives the same file. */
const DATE = 0x0021;

/** Returns a ZIP file of these entries, each a name and its content. */
export function zip(entries) {
  const files = [];
  const directory = [];
  let offset = 0;
  for (const [name, content] of entries) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes, { level: 9 });
    const about = numbers([2, VERSION], [2, FLAGS], [2, DEFLATE], [2, 0], [2, DATE], [4, crc32(bytes)]);
    const sizes = numbers([4, packed.length], [4, bytes.length], [2, Buffer.byteLength(name)], [2, 0]);
    const file = Buffer.concat([numbers([4, LOCAL]), about, sizes, Buffer.from(name), packed]);
    files.push(file);
    const place = numbers([2, 0], [2, 0], [2, 0], [4, 0o644 << 16], [4, offset]);
    directory.push(numbers([4, CENTRAL], [2, VERSION]), about, sizes, place, Buffer.from(name));
    offset += file.length;
  }
  const central = Buffer.concat(directory);
  const count = [2, entries.length];
  const end = numbers([4, END], [2, 0], [2, 0], count, count, [4, central.length], [4, offset], [2, 0]);
  return Buffer.concat([...files, central, end]);
}

/** Returns little-endian numbers, each given as its length in bytes and its value. */
function numbers(...given) {
  return Buffer.concat(
    given.map(([length, value]) => {
      const bytes = Buffer.alloc(length);
      bytes.writeUIntLE(value >>> 0, 0, length);
      return bytes;
    }),
  );
}
