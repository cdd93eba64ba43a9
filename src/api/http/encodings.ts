import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip' | 'identity';

/** A smaller body is not worth a header. */
const MIN_BYTES = 1024;
/** Nearly as small as the best, in a twentieth of its time. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** The best encoding that an `Accept-Encoding` header allows (RFC 9110, 12.5.3). */
export function encodingFor(header: string | undefined): Encoding {
  const allowed = (header ?? '')
    .split(',')
    .filter((part) => !/;\s*q\s*=\s*0(?:\.0*)?\s*$/i.test(part))
    .map((part) => part.split(';', 1)[0]?.trim().toLowerCase());
  return (['br', 'gzip'] as const).find((name) => allowed.includes(name)) ?? 'identity';
}

/** The bytes in this encoding; compressed on another thread. */
export function encoded(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'br') return promisify(brotliCompress)(bytes, QUALITY);
  return encoding === 'gzip' ? promisify(gzip)(bytes, { level: 9 }) : Promise.resolve(bytes);
}

export function isWorthEncoding(bytes: Buffer): boolean {
  return bytes.length >= MIN_BYTES;
}
