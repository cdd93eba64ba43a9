import { trimmedEnd } from './trimmed-end.ts';

const MAX_NAME_BYTES = 200;
const MAX_EXTENSION_BYTES = 20;
/** Maximum length of a name that is examined, in UTF-16 units. A longer name is cut first. */
const MAX_UNITS = 1000;
/** Control characters, line separators, and characters that change the direction of the text around them. */
const NEVER = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Returns the name under which an upload is kept and sent: a single path segment, whatever the client wrote. */
export function safeFileName(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? '';
  const visible = shortEnough(last)
    .replaceAll(/\p{Surrogate}/gu, '\uFFFD')
    .replaceAll(NEVER, '')
    .replaceAll(':', '_')
    .replace(/^[\s.]+/u, '');
  const plain = trimmedEnd(visible, /[\s.]/).normalize('NFC');
  return plain === '' ? 'file' : shortened(plain);
}

/** Shortens a name that is far too long to its beginning and its extension. */
function shortEnough(name: string): string {
  return name.length > MAX_UNITS ? name.slice(0, MAX_UNITS / 2) + name.slice(-MAX_UNITS / 2) : name;
}

/** Shortens a name but keeps the extension, from which programs recognise the type. */
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
