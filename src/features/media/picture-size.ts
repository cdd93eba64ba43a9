import { errorCode } from '../../core/model/errors.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';

/** Reads at most `length` bytes at an offset in a file. */
export type ReadAt = (offset: number, length: number) => Promise<Buffer>;

/** Limits for files that claim endless lists. */
const MAX_PARTS = 2000;
const MAX_DEPTH = 6;

/** The size cannot be determined, because the file is damaged or exceeds the limits. */
class NoSize extends Error {}

/** Codes of the errors that Buffer throws for a number after the end of the file. */
const TOO_SHORT: ReadonlySet<string | undefined> = new Set(['ERR_OUT_OF_RANGE', 'ERR_BUFFER_OUT_OF_BOUNDS']);

/**
 * Returns the number of pixels that a picture claims in its headers, the largest claim if there are several. Returns 0
 * if its size cannot be determined.
 */
export async function pixelsOf(format: string, read: ReadAt): Promise<number> {
  const sizeOf = SIZES[format];
  try {
    return (await sizeOf?.(read)) ?? 0;
  } catch (error) {
    if (error instanceof NoSize || TOO_SHORT.has(errorCode(error))) return 0;
    throw error;
  }
}

const SIZES: Readonly<Record<string, (read: ReadAt) => Promise<number>>> = lookupTable({
  async png(read) {
    const head = await read(0, 24);
    return head.toString('latin1', 12, 16) === 'IHDR' ? head.readUInt32BE(16) * head.readUInt32BE(20) : 0;
  },

  async bmp(read) {
    const head = await read(0, 26);
    // The header of OS/2 has numbers of two bytes.
    if (head.readUInt32LE(14) === 12) return head.readUInt16LE(18) * head.readUInt16LE(20);
    return Math.abs(head.readInt32LE(18) * head.readInt32LE(22));
  },

  async webp(read) {
    const head = await read(0, 30);
    const kind = head.toString('latin1', 12, 16);
    if (kind === 'VP8X') return (head.readUIntLE(24, 3) + 1) * (head.readUIntLE(27, 3) + 1);
    if (kind === 'VP8 ') return (head.readUInt16LE(26) & 0x3fff) * (head.readUInt16LE(28) & 0x3fff);
    if (kind !== 'VP8L') return 0;
    const bits = head.readUInt32LE(21);
    return ((bits & 0x3fff) + 1) * (((bits >>> 14) & 0x3fff) + 1);
  },

  gif: gifPixels,
  jpg: jpegPixels,
  tiff: tiffPixels,
  heic: (read) => boxPixels(read, 0, Number.POSITIVE_INFINITY, 0),
});

/** The larger of the canvas and the first frame, which need not fit into it. */
async function gifPixels(read: ReadAt): Promise<number> {
  const screen = await read(0, 13);
  const flags = screen.readUInt8(10);
  let at = 13 + ((flags & 0x80) === 0 ? 0 : 3 << ((flags & 7) + 1));
  for (let part = 0; part < MAX_PARTS; part += 1) {
    const block = await read(at, 9);
    if (block.readUInt8(0) === 0x2c) {
      const frame = block.readUInt16LE(5) * block.readUInt16LE(7);
      return Math.max(frame, screen.readUInt16LE(6) * screen.readUInt16LE(8));
    }
    if (block.readUInt8(0) !== 0x21) break;
    at += 2;
    for (let length = -1; length !== 0 && part < MAX_PARTS; part += 1) {
      length = (await read(at, 1)).readUInt8(0);
      at += 1 + length;
    }
  }
  throw new NoSize();
}

/** Reads the segments up to the first scan. Every frame segment (SOF) before it has a size. */
async function jpegPixels(read: ReadAt): Promise<number> {
  let pixels = 0;
  let at = 2;
  for (let part = 0; part < MAX_PARTS; part += 1) {
    const segment = await read(at, 9);
    const marker = segment.readUInt16BE(0);
    if (marker === 0xffff) {
      at += 1; // A segment may begin with any number of these.
      continue;
    }
    if (marker < 0xff01 || marker === 0xffd9) break;
    if (marker === 0xffda) return pixels;
    const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
    if (isFrame) pixels = Math.max(pixels, segment.readUInt16BE(5) * segment.readUInt16BE(7));
    const hasNoLength = marker === 0xff01 || (marker >= 0xffd0 && marker <= 0xffd8);
    at += hasNoLength ? 2 : 2 + Math.max(segment.readUInt16BE(2), 2);
  }
  throw new NoSize();
}

const WIDTH_TAGS: ReadonlyMap<number, number> = new Map([
  [256, 257],
  // The size of a tile.
  [322, 323],
]);

/** Reads all directories, each of which is a picture. */
async function tiffPixels(read: ReadAt): Promise<number> {
  const isLittle = (await read(0, 2)).toString('latin1') === 'II';
  const u16 = (bytes: Buffer, at: number): number => (isLittle ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const u32 = (bytes: Buffer, at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  let pixels = 0;
  let at = u32(await read(4, 4), 0);
  for (let part = 0; at !== 0; part += 1) {
    if (part === 100) throw new NoSize();
    const count = u16(await read(at, 2), 0);
    const entries = await read(at + 2, count * 12 + 4);
    const values = new Map<number, number>();
    for (let entry = 0; entry < count * 12; entry += 12) {
      const isShort = u16(entries, entry + 2) === 3;
      values.set(u16(entries, entry), isShort ? u16(entries, entry + 8) : u32(entries, entry + 8));
    }
    for (const [width, height] of WIDTH_TAGS) {
      pixels = Math.max(pixels, (values.get(width) ?? 0) * (values.get(height) ?? 0));
    }
    at = u32(entries, count * 12);
  }
  return pixels;
}

/** Boxes of HEIF that contain others, and the bytes before those. */
const CONTAINERS: ReadonlyMap<string, number> = new Map([
  ['meta', 4],
  ['iprp', 0],
  ['ipco', 0],
  ['moov', 0],
  ['trak', 0],
]);

/** The largest size in the boxes between two offsets: of a picture (`ispe`) or of a track of moving ones (`tkhd`). */
async function boxPixels(read: ReadAt, start: number, end: number, depth: number): Promise<number> {
  let pixels = 0;
  let at = start;
  for (let part = 0; at + 8 <= end; part += 1) {
    const head = await read(at, 24);
    if (head.length < 8 && depth === 0) break;
    if (part === MAX_PARTS || depth === MAX_DEPTH) throw new NoSize();
    const stated = head.readUInt32BE(0);
    const [bytes, skipped] = stated === 1 ? [Number(head.readBigUInt64BE(8)), 16] : [stated || end - at, 8];
    if (bytes < skipped) throw new NoSize();
    const kind = head.toString('latin1', 4, 8);
    const inner = CONTAINERS.get(kind);
    let found = 0;
    if (inner !== undefined) found = await boxPixels(read, at + skipped + inner, Math.min(at + bytes, end), depth + 1);
    else if (kind === 'ispe') found = head.readUInt32BE(12) * head.readUInt32BE(16);
    else if (kind === 'tkhd') found = await trackPixels(read, at + bytes);
    pixels = Math.max(pixels, found);
    at += bytes;
  }
  return pixels;
}

/** The last eight bytes of the box are width and height, with 16 bits after the point. */
async function trackPixels(read: ReadAt, end: number): Promise<number> {
  const size = await read(end - 8, 8);
  return Math.ceil(size.readUInt32BE(0) / 65_536) * Math.ceil(size.readUInt32BE(4) / 65_536);
}
