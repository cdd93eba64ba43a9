import type { Framing } from '../batch.ts';

/** First byte of an unfragmented text frame (RFC 6455, 5.2). */
const TEXT_FRAME = 0x81;

/** One unmasked text frame per event. */
export const TEXT_FRAMES: Framing = {
  headerSize(length) {
    if (length < 126) return 2;
    return length < 65536 ? 4 : 10;
  },

  writeHeader(bytes, at, length) {
    bytes[at] = TEXT_FRAME;
    if (length < 126) {
      bytes[at + 1] = length;
      return at + 2;
    }
    if (length < 65536) {
      bytes[at + 1] = 126;
      return bytes.writeUInt16BE(length, at + 2);
    }
    bytes[at + 1] = 127;
    bytes.writeUInt32BE(Math.floor(length / 2 ** 32), at + 2);
    return bytes.writeUInt32BE(length % 2 ** 32, at + 6);
  },
};
