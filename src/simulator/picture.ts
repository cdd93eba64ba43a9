import { deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const WIDTH = 240;
const HEIGHT = 160;

/** A small PNG of hills under an evening sky: something to look at where a photo would be. */
export function hillsPicture(): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(WIDTH, 0);
  header.writeUInt32BE(HEIGHT, 4);
  header.set([8, 2], 8); // eight bits each of red, green and blue
  const rows = Array.from({ length: HEIGHT }, (_, y) => [0, ...Array.from({ length: WIDTH }, (_, x) => colour(x, y)).flat()]);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function colour(x: number, y: number): [number, number, number] {
  const far = 95 + 14 * Math.sin(x / 31) + 5 * Math.sin(x / 11);
  const near = 122 + 12 * Math.sin(x / 43 + 2) + 4 * Math.sin(x / 17);
  if (y > near) return [38, 70, 60];
  if (y > far) return [72, 110, 92];
  const isSun = (x - 172) ** 2 + (y - 66) ** 2 < 20 ** 2;
  return isSun ? [255, 236, 179] : [250 - y, 150 + Math.floor(y / 2), 120 + y];
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(data.length, 0);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc32(body), body.length + 4);
  return frame;
}

/** PNG's checksum; Node has it from 22 on only. */
function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
