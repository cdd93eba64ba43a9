/** Returns the FNV-1a hash of a text, 32 bits. Different texts can have the same hash. */
export function shortHash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
