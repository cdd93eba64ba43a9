/** A white picture (BMP) of 8 x 8 pixels. */
export const SAMPLE_PICTURE = samplePicture(8);
/** A tenth of a second of silence (WAV), with 16 bits for each of 8000 values in a second. */
export const SAMPLE_SOUND = sampleSound(800, 8000);

function samplePicture(side: number): Buffer {
  const head = Buffer.alloc(54);
  head.write('BM', 'latin1');
  head.writeUInt32LE(54 + side * side * 3, 2);
  head.writeUInt32LE(54, 10);
  head.writeUInt32LE(40, 14);
  head.writeInt32LE(side, 18);
  head.writeInt32LE(side, 22);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(24, 28);
  return Buffer.concat([head, Buffer.alloc(side * side * 3, 0xff)]);
}

function sampleSound(values: number, valuesPerSecond: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + values * 2, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(valuesPerSecond, 24);
  head.writeUInt32LE(valuesPerSecond * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(values * 2, 40);
  return Buffer.concat([head, Buffer.alloc(values * 2)]);
}
