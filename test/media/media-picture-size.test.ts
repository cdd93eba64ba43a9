import { describe, expect, test } from '@jest/globals';
import { pixelsOf } from '../../src/features/media/picture-size.ts';
import { box, heic, jpeg, picture, png, tiff, u32 } from '../support/pictures.ts';

const sizeOf = (format: string, bytes: Buffer): Promise<number> =>
  pixelsOf(format, (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)));

const gif = (frame: readonly [number, number], colours = 0): Buffer => {
  const head = picture('GIF89a', (bytes) => {
    bytes.writeUInt16LE(200, bytes.writeUInt16LE(300, 6));
    bytes.writeUInt8(colours === 0 ? 0 : 0x80 | colours, 10);
  }).subarray(0, 13);
  const palette = Buffer.alloc(colours === 0 ? 0 : 3 << (colours + 1));
  const comment = Buffer.concat([Buffer.of(0x21, 0xfe, 255), Buffer.alloc(255, ','), Buffer.of(2, 44, 44, 0)]);
  const image = Buffer.alloc(10);
  image.writeUInt8(0x2c);
  image.writeUInt16LE(frame[1], image.writeUInt16LE(frame[0], 5));
  return Buffer.concat([head, palette, comment, image]);
};
const track = box('tkhd', Buffer.alloc(76), u32(60_000 * 65_536, 50_000 * 65_536));
const still = heic(32, 16);

describe('the pixels that a picture claims', () => {
  test.each([
    ['a PNG', 'png', png(60_000, 50_000)],
    ['a GIF', 'gif', gif([60_000, 50_000])],
    ['a GIF with a palette and a large canvas', 'gif', gif([60_000, 50_000], 7)],
    ['a BMP from the top', 'bmp', picture('BM', (head) => head.writeInt32LE(-50_000, head.writeInt32LE(60_000, 18)))],
    [
      'a BMP of OS/2',
      'bmp',
      picture('BM', (head) => {
        head.writeUInt32LE(12, 14);
        head.writeUInt16LE(50_000, head.writeUInt16LE(60_000, 18));
      }),
    ],
    [
      'an extended WebP',
      'webp',
      picture('RIFF\0\0\0\0WEBPVP8X', (head) => head.writeUIntLE(49_999, head.writeUIntLE(59_999, 24, 3), 3)),
    ],
    ['a progressive JPEG', 'jpg', jpeg(60_000, 50_000)],
    ['a baseline JPEG', 'jpg', jpeg(60_000, 50_000, 0xc0)],
    ['an arithmetic JPEG', 'jpg', jpeg(60_000, 50_000, 0xc9)],
    ['a HEIC', 'heic', heic(60_000, 50_000)],
    ['a HEIC of tiles', 'heic', heic(512, 512, 60_000, 50_000, 320, 240)],
    ['a moving HEIC', 'heic', Buffer.concat([still, box('moov', box('trak', track))])],
    [
      'a TIFF of Intel',
      'tiff',
      tiff(true, [
        [256, 60_000],
        [257, 50_000],
      ]),
    ],
    [
      'a TIFF of Motorola',
      'tiff',
      tiff(false, [
        [256, 60_000],
        [257, 50_000],
      ]),
    ],
    [
      'the second page of a TIFF',
      'tiff',
      tiff(
        true,
        [
          [256, 20],
          [257, 20],
        ],
        [
          [256, 60_000],
          [257, 50_000],
        ],
      ),
    ],
    [
      'a tile of a TIFF',
      'tiff',
      tiff(false, [
        [256, 20],
        [257, 20],
        [322, 60_000],
        [323, 50_000],
      ]),
    ],
  ])('are known of %s, and unknown when its headers are cut off', async (_name, format, bytes) => {
    expect(await sizeOf(format, bytes)).toBe(3_000_000_000);
    expect(await sizeOf(format, bytes.subarray(0, 16))).toBe(0);
  });

  test.each([
    [
      'a simple WebP',
      picture('RIFF\0\0\0\0WEBPVP8 ', (head) => head.writeUInt16LE(0x3fff, head.writeUInt16LE(0x7fff, 26))),
      16_383 * 16_383,
    ],
    [
      'a lossless WebP',
      picture('RIFF\0\0\0\0WEBPVP8L', (head) => head.writeUInt32LE(0x0fff_ffff, 21)),
      16_384 * 16_384,
    ],
  ])('are known of %s', async (_name, bytes, pixels) => {
    expect(await sizeOf('webp', bytes)).toBe(pixels);
  });

  test.each([
    [
      'a TIFF whose directories never end',
      'tiff',
      (() => {
        const bytes = tiff(true, [
          [256, 20],
          [257, 20],
        ]);
        bytes.writeUInt32LE(8, bytes.length - 4);
        return bytes;
      })(),
    ],
    [
      'a HEIC with more boxes than anybody reads',
      'heic',
      Buffer.concat([still, ...Array.from({ length: 3000 }, () => box('free'))]),
    ],
    [
      'a HEIC whose boxes are in themselves',
      'heic',
      Buffer.concat([
        still,
        ...[1, 2, 3].map(() =>
          box('moov', box('moov', box('moov', box('moov', box('moov', box('moov', box('moov'))))))),
        ),
      ]),
    ],
    ['a JPEG that is filled up for ever', 'jpg', Buffer.concat([Buffer.of(0xff, 0xd8), Buffer.alloc(9000, 0xff)])],
    ['a JPEG that says its height later', 'jpg', jpeg(60_000, 0)],
    [
      'a GIF whose comment never ends',
      'gif',
      Buffer.concat([gif([1, 1]).subarray(0, 13), Buffer.of(0x21, 0xfe), Buffer.alloc(9000, 1)]),
    ],
    ['a PNG whose first part is another', 'png', picture('\x89PNG\r\n\x1a\n\0\0\0\x04CgBI', () => undefined)],
    ['something else', 'svg', Buffer.from('<svg')],
  ])('are unknown of %s', async (_name, format, bytes) => {
    expect(await sizeOf(format, bytes)).toBe(0);
  });
});
