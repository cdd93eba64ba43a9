type ByteOrder = 'utf-16le' | 'utf-16be';

/**
 * Decodes the bytes of a string: UTF-8, or UTF-16 in either byte order, which some writers store. UTF-16 begins with
 * its byte order mark, or is recognised by what UTF-8 never has: control characters in most of the places where UTF-16
 * stores the upper half of a letter.
 */
export function decodeText(bytes: Buffer, start: number, end: number): string {
  const marked = end - start < 2 ? undefined : markOf(bytes[start], bytes[start + 1]);
  if (marked !== undefined) return utf16(bytes.subarray(start + 2, end), marked);
  const text = bytes.toString('utf8', start, end);
  if ((end - start) % 2 === 1 || !CONTROL.test(text)) return text;
  const order = likelyOrder(bytes.subarray(start, end));
  return order === undefined ? text : utf16(bytes.subarray(start, end), order);
}

/** A control character before the tab, which no text contains. As upper halves, they begin the letters up to U+08FF. */
const CONTROL = /[^\t-\uFFFF]/;
const LAST_CONTROL = 0x08;

function markOf(first: number | undefined, second: number | undefined): ByteOrder | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

/** Returns the byte order in which more than half of the upper halves are control characters; undefined for neither. */
function likelyOrder(bytes: Buffer): ByteOrder | undefined {
  const counts = [0, 0];
  for (const [at, byte] of bytes.entries()) {
    if (byte <= LAST_CONTROL) counts[at % 2] = (counts[at % 2] ?? 0) + 1;
  }
  const [first = 0, second = 0] = counts;
  if (Math.max(first, second) * 4 <= bytes.length || first === second) return undefined;
  return first > second ? 'utf-16be' : 'utf-16le';
}

function utf16(bytes: Buffer, order: ByteOrder): string {
  if (order === 'utf-16le') return bytes.toString('utf16le');
  // Swaps a copy, because the blob is read again, and without the half of a letter at its end.
  return Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)))
    .swap16()
    .toString('utf16le');
}
