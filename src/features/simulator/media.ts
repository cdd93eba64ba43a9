import { crc32, deflateSync } from 'node:zlib';

/** Returns a small photograph as PNG: sky, a sun, and hills. */
export function landscape(): Buffer {
  const [width, height] = [480, 320];
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = y * (1 + 3 * width) + 1 + 3 * x;
      rows.set(pixel(x / width, y / height), at);
    }
  }
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size.set([8, 2], 8); // eight bits each of red, green and blue
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([
    signature,
    chunk('IHDR', size),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Returns the colour at a point of the picture; both coordinates are from 0 to 1. */
function pixel(x: number, y: number): readonly [number, number, number] {
  const near = 0.74 + 0.05 * Math.sin(5 * x + 1);
  const far = 0.6 + 0.07 * Math.sin(3 * x + 4);
  if (y > near) return [70 + 40 * (y - near), 120 + 60 * (y - near), 62];
  if (y > far) return [112, 152, 128];
  if ((x - 0.72) ** 2 + ((y - 0.3) / 1.5) ** 2 < 0.0055) return [255, 240, 205];
  return [150 + 105 * y, 190 + 40 * y, 235 - 30 * y];
}

/** Returns a chunk of PNG: length, name, data, checksum (W3C PNG, 5.3). */
function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

const SAMPLE_RATE = 8000;
const VOICE_S = 2;

/** Returns two seconds of a rising hum as a Core Audio file, the format of voice messages (Apple, CAF 1.0). */
export function hum(): Buffer {
  const header = Buffer.alloc(8 + 12 + 32 + 12 + 4);
  header.write('caff', 0, 'latin1');
  header.writeUInt16BE(1, 4);
  header.write('desc', 8, 'latin1');
  header.writeBigInt64BE(32n, 12);
  header.writeDoubleBE(SAMPLE_RATE, 20);
  header.write('lpcm', 28, 'latin1');
  for (const [index, value] of [2, 2, 1, 1, 16].entries()) header.writeUInt32BE(value, 32 + 4 * index);
  const samples = Buffer.alloc(2 * SAMPLE_RATE * VOICE_S);
  for (let at = 0; at < SAMPLE_RATE * VOICE_S; at += 1) {
    const second = at / SAMPLE_RATE;
    samples.writeInt16LE(Math.round(3000 * Math.sin(2 * Math.PI * (180 + 20 * second) * second)), 2 * at);
  }
  header.write('data', 52, 'latin1');
  header.writeBigInt64BE(BigInt(4 + samples.length), 56);
  return Buffer.concat([header, samples]);
}
