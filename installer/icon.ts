import { crc32, deflateSync } from 'node:zlib';

/** Sizes that Finder and System Settings ask for, by their names in an .icns file. */
const SIZES: readonly (readonly [name: string, pixels: number])[] = [
  ['ic11', 32],
  ['ic12', 64],
  ['ic07', 128],
  ['ic08', 256],
];
type Colour = readonly [red: number, green: number, blue: number];
type Rgba = readonly [red: number, green: number, blue: number, alpha: number];
const SKY: Colour = [38, 84, 124];
const DOOR: Colour = [239, 201, 135];
const KNOB: Colour = [38, 84, 124];
const SAMPLES_PER_SIDE = 3;

/** The icon, a small gate in a blue wall, as an .icns file. */
export function icns(): Buffer {
  const images = SIZES.map(([name, pixels]) => block(name, png(pixels)));
  return block('icns', Buffer.concat(images));
}

function block(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32BE(content.length + 8, 4);
  return Buffer.concat([head, content]);
}

/** What stands at a point of the unit square, or nothing. */
function colourAt(x: number, y: number): Colour | undefined {
  if (!isWithin(Math.max(0.28 - x, x - 0.72, 0), Math.max(0.28 - y, y - 0.72, 0), 0.2)) return undefined;
  if (isWithin(x - 0.58, y - 0.6, 0.028)) return KNOB;
  const isInArch = y < 0.48 ? isWithin(x - 0.5, y - 0.48, 0.17) : Math.abs(x - 0.5) < 0.17 && y < 0.8;
  return isInArch ? DOOR : SKY;
}

function isWithin(x: number, y: number, radius: number): boolean {
  return x * x + y * y < radius * radius;
}

/** Red, green, blue and coverage of one pixel, averaged over points in it so that edges are smooth. */
function pixel(column: number, row: number, pixels: number): Rgba {
  let [red, green, blue, covered] = [0, 0, 0, 0];
  for (let sample = 0; sample < SAMPLES_PER_SIDE ** 2; sample += 1) {
    const x = (column + ((sample % SAMPLES_PER_SIDE) + 0.5) / SAMPLES_PER_SIDE) / pixels;
    const y = (row + (Math.floor(sample / SAMPLES_PER_SIDE) + 0.5) / SAMPLES_PER_SIDE) / pixels;
    const colour = colourAt(x, y);
    if (colour === undefined) continue;
    covered += 1;
    red += colour[0];
    green += colour[1];
    blue += colour[2];
  }
  const share = Math.max(covered, 1);
  return [red / share, green / share, blue / share, (covered / SAMPLES_PER_SIDE ** 2) * 255];
}

function png(pixels: number): Buffer {
  // Each row begins with a zero: no filter.
  const rowBytes = 1 + pixels * 4;
  const rows = Buffer.alloc(rowBytes * pixels);
  for (let row = 0; row < pixels; row += 1) {
    for (let column = 0; column < pixels; column += 1) {
      rows.set(pixel(column, row, pixels), row * rowBytes + 1 + column * 4);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(pixels, 0);
  header.writeUInt32BE(pixels, 4);
  header.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const frame = Buffer.alloc(8 + body.length);
  frame.writeUInt32BE(content.length, 0);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc32(body), 4 + body.length);
  return frame;
}
