const MAX_NAME_BYTES = 200;
const MAX_EXTENSION_BYTES = 20;
/** What other systems take for a separator, and what changes the direction of the text around it. */
const NEVER = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** The name under which an upload is kept and sent: one segment of a path, whatever the client wrote. */
export function safeFileName(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? '';
  const plain = last
    .replaceAll(/\p{Surrogate}/gu, '\uFFFD')
    .replaceAll(NEVER, '')
    .replaceAll(':', '_')
    .replace(/^[\s.]+/u, '')
    .replace(/[\s.]+$/u, '')
    .normalize('NFC');
  return plain === '' ? 'file' : shortened(plain);
}

/** Keeps the extension, which tells programs what the file is. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= MAX_EXTENSION_BYTES ? name.slice(dot) : '';
  const room = MAX_NAME_BYTES - Buffer.byteLength(extension);
  let stem = '';
  let bytes = 0;
  for (const character of name.slice(0, name.length - extension.length)) {
    bytes += Buffer.byteLength(character);
    if (bytes > room) break;
    stem += character;
  }
  return stem + extension;
}
