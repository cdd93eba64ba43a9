import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Content } from '../../domain/ports/sending.ts';

const PLACEHOLDER = /[\uFFFC\uFFFD]/;

/**
 * What a sent part and its row have in common (decision D5), without keeping the text. A text with a link at one of its
 * ends has a second hash behind a space: Messages may write the rest of the text and the link as two rows (U6).
 */
export function contentHash(content: Content): string {
  if ('attachment' in content) return fileHash(basename(content.attachment));
  const text = textBesideLink(comparable(content.body));
  const whole = hashed('body', comparable(content.body));
  return text === undefined ? whole : `${whole} ${hashed('text', text)}`;
}

/** Reports whether a row with these contents may be that of a sent part: as a whole, or as its text without the link. */
export function fits(content: string, contents: readonly string[]): boolean {
  return content.split(' ').some((hash) => contents.includes(hash));
}

/** Reports whether the row has all of the sent part. */
export function fitsWhole(content: string, contents: readonly string[]): boolean {
  return contents.includes(content.split(' ', 1)[0] ?? '');
}

/** The contents that a row may be the row of. */
export function contentHashes(body: string, fileNames: readonly string[]): readonly string[] {
  const text = comparable(body);
  return [hashed('body', text), hashed('text', text.trim()), ...fileNames.map(fileHash)];
}

/** macOS keeps file names composed or decomposed, as it likes. */
function fileHash(name: string): string {
  return hashed('file', name.normalize('NFC'));
}

function hashed(kind: 'body' | 'text' | 'file', text: string): string {
  return createHash('sha256').update(`${kind} `).update(text).digest('hex');
}

const LINK = /^https?:\/\/\S+$/i;

/** The text without the link that it begins or ends with; undefined where there is none, or nothing else. */
function textBesideLink(body: string): string | undefined {
  const text = body.trim();
  const first = /\s/.exec(text)?.index;
  if (first === undefined) return undefined;
  if (LINK.test(text.slice(0, first))) return text.slice(first).trim();
  const last = Math.max(...[' ', '\n', '\t'].map((space) => text.lastIndexOf(space)));
  return LINK.test(text.slice(last + 1)) ? text.slice(0, last).trim() : undefined;
}

/** Line ends made equal, and without the placeholders that reading takes out of a body (decision B2). */
function comparable(text: string): string {
  const begun = text.replace(/\r\n?/g, '\n').replace(/^(?:[\uFFFC\uFFFD]\n?)+/, '');
  let end = begun.length;
  while (PLACEHOLDER.test(begun.charAt(end - 1))) end -= begun.charAt(end - 2) === '\n' ? 2 : 1;
  return begun.slice(0, end).replace(/[\uFFFC\uFFFD]/g, '');
}
