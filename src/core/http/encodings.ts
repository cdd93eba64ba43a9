import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip' | 'identity';

const MIN_BYTES = 512;
/** Brotli quality for large files: nearly as small as the best quality, in a twentieth of the time. */
const FAST = 9;
/**
 * Files up to this size are compressed with Brotli's best quality, on another thread. A file takes at most 80 ms, and
 * is compressed only once.
 */
const MAX_FOR_BEST = 96 * 1024;

/**
 * Returns the encoding with the smallest result that an `Accept-Encoding` header allows; its other weights do not count
 * (RFC 9110, 12.5.3).
 */
export function encodingFor(header: string | undefined): Encoding {
  const allowed = (header ?? '')
    .split(',')
    .filter((part) => !/;\s*q\s*=\s*0(?:\.0*)?\s*$/i.test(part))
    .map((part) => part.split(';', 1)[0]?.trim().toLowerCase());
  return (['br', 'gzip'] as const).find((name) => allowed.includes(name)) ?? 'identity';
}

/** Returns the bytes in this encoding. Compresses them on another thread. */
export function encoded(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'br') {
    const quality = bytes.length <= MAX_FOR_BEST ? constants.BROTLI_MAX_QUALITY : FAST;
    return promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
  }
  return encoding === 'gzip' ? promisify(gzip)(bytes, { level: 9 }) : Promise.resolve(bytes);
}

/** Reports whether a body is large enough for compression to save more than its additional header costs. */
export function isWorthEncoding(bytes: Buffer): boolean {
  return bytes.length >= MIN_BYTES;
}
