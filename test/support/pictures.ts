/** Returns the beginning of a picture, 64 bytes. `sized` writes the size that it claims. */
export function picture(start: string, sized: (head: Buffer) => unknown): Buffer {
  const head = Buffer.alloc(64);
  head.write(start, 'latin1');
  sized(head);
  return head;
}

export function png(width: number, height: number): Buffer {
  return picture('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', (head) => head.writeUInt32BE(height, head.writeUInt32BE(width, 16)));
}

/** Returns a box as HEIF has them. */
export function box(kind: string, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length);
  head.write(kind, 4, 'latin1');
  return Buffer.concat([head, body]);
}

export function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}

export function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, 2 * index);
  return bytes;
}

/** Returns the outside of a HEIC with these sizes of its parts, after 70,000 bytes of data. */
export function heic(...sizes: readonly number[]): Buffer {
  const properties: Buffer[] = [];
  for (let at = 0; at < sizes.length; at += 2) {
    properties.push(box('hvcC', Buffer.alloc(40)), box('ispe', u32(0, sizes[at] ?? 0, sizes[at + 1] ?? 0)));
  }
  return Buffer.concat([
    box('ftyp', Buffer.from('heic\0\0\0\0mif1heic', 'latin1')),
    box('mdat', Buffer.alloc(70_000, 'x')),
    box('meta', u32(0), box('hdlr', Buffer.alloc(25)), box('iprp', box('ipco', ...properties), box('ipma', u32(0, 1)))),
  ]);
}

/** Returns a JPEG up to its first scan: a thumbnail of 100 kB in its segments, then a frame of this size. */
export function jpeg(width: number, height: number, frame = 0xc2): Buffer {
  const segment = (marker: number, body: Buffer): Buffer =>
    Buffer.concat([Buffer.of(0xff, marker), u16(2 + body.length), body]);
  return Buffer.concat([
    Buffer.of(0xff, 0xd8),
    segment(0xe1, Buffer.alloc(50_000, 0xc0)),
    segment(0xe2, Buffer.alloc(50_000, 0xff)),
    Buffer.of(0xff, 0xff, 0xff),
    segment(0xc4, Buffer.alloc(29)),
    Buffer.of(0xff),
    segment(frame, Buffer.concat([Buffer.of(8), u16(height, width), Buffer.of(3)])),
    segment(0xda, Buffer.alloc(10)),
  ]);
}

/** Returns a TIFF with one directory for each pair of tags and values. */
export function tiff(isLittle: boolean, ...directories: readonly (readonly (readonly [number, number])[])[]): Buffer {
  const bytes = Buffer.alloc(8 + directories.reduce((sum, entries) => sum + 6 + 12 * entries.length, 0));
  const put16 = (value: number, at: number): number =>
    isLittle ? bytes.writeUInt16LE(value, at) : bytes.writeUInt16BE(value, at);
  const put32 = (value: number, at: number): number =>
    isLittle ? bytes.writeUInt32LE(value, at) : bytes.writeUInt32BE(value, at);
  bytes.write(isLittle ? 'II*\0' : 'MM\0*', 'latin1');
  put32(8, 4);
  let at = 8;
  for (const [index, entries] of directories.entries()) {
    at = put16(entries.length, at);
    for (const [tag, value] of entries) {
      put16(tag, at);
      // A width that fits into two bytes is written as a short.
      put16(value < 65_536 ? 3 : 4, at + 2);
      put32(1, at + 4);
      if (value < 65_536) put16(value, at + 8);
      else put32(value, at + 8);
      at += 12;
    }
    at = put32(index === directories.length - 1 ? 0 : at + 4, at);
  }
  return bytes;
}
