import { trimmedEnd } from './text.ts';

const MAX_NAME_BYTES = 200;
/** The longest name of a file that macOS and Linux allow. */
const MAX_FILE_BYTES = 255;
const MAX_EXTENSION_BYTES = 20;
/** Length of the longest name that is examined, in UTF-16 units. A longer name is cut first. */
const MAX_UNITS = 1000;
/** Characters to remove: control characters, line separators, and those that change the direction of text. */
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
  return plain === '' ? 'file' : shortened(plain, MAX_NAME_BYTES);
}

/** Returns a name that a sender chose, as it is unless it is longer than the name of a file can be. */
export function nameWithinLimit(name: string): string {
  return shortened(shortEnough(name).replaceAll(/\p{Surrogate}/gu, '\uFFFD'), MAX_FILE_BYTES);
}

/** Cuts the middle out of a name that is longer than `MAX_UNITS`. Keeps the end, which contains the extension. */
function shortEnough(name: string): string {
  return name.length > MAX_UNITS ? name.slice(0, MAX_UNITS / 2) + name.slice(-MAX_UNITS / 2) : name;
}

/** Shortens a name to `max` bytes. Keeps the extension, from which programs recognise the file's type. */
function shortened(name: string, max: number): string {
  if (Buffer.byteLength(name) <= max) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= MAX_EXTENSION_BYTES ? name.slice(dot) : '';
  const room = max - Buffer.byteLength(extension);
  let stem = '';
  let bytes = 0;
  for (const character of name.slice(0, name.length - extension.length)) {
    bytes += Buffer.byteLength(character);
    if (bytes > room) break;
    stem += character;
  }
  return stem + extension;
}
