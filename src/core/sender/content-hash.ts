import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Content } from '../model/ports/sending-ports.ts';

const PLACEHOLDER = /[\uFFFC\uFFFD]/;

/**
 * Returns the hash that a sent part and its row share, so that the text need not be kept. For a text that begins or
 * ends with a link, returns two hashes separated by a space: of the whole text, and of the text without the link.
 * Messages may write the two as separate rows (decision U6).
 */
export function contentHash(content: Content): string {
  if ('attachment' in content) return fileHash(basename(content.attachment));
  const text = textBesideLink(comparable(content.body));
  const whole = hashed('body', comparable(content.body));
  return text === undefined ? whole : `${whole} ${hashed('text', text)}`;
}

/**
 * Reports whether a row with these contents may belong to a sent part: as the whole part, or as its text without the
 * link.
 */
export function fits(content: string, contents: readonly string[]): boolean {
  return content.split(' ').some((hash) => contents.includes(hash));
}

/**
 * Returns the hashes of a row's contents, to compare with the hash of a sent part. The row's text has two hashes: one
 * as a whole part, and one as the rest of a part without its link. Each file name has one hash.
 */
export function contentHashes(body: string, fileNames: readonly string[]): readonly string[] {
  const text = comparable(body);
  return [hashed('body', text), hashed('text', text.trim()), ...fileNames.map(fileHash)];
}

/**
 * Hashes the composed form (NFC) of a file name, because macOS may store letters with accents composed or decomposed.
 */
function fileHash(name: string): string {
  return hashed('file', name.normalize('NFC'));
}

function hashed(kind: 'body' | 'text' | 'file', text: string): string {
  return createHash('sha256').update(`${kind} `).update(text).digest('hex');
}

const LINK = /^https?:\/\/\S+$/i;

/** Returns the text without the link at its start or end; undefined if there is no such link, or no other text. */
function textBesideLink(body: string): string | undefined {
  const text = body.trim();
  const first = /\s/.exec(text)?.index;
  if (first === undefined) return undefined;
  if (LINK.test(text.slice(0, first))) return text.slice(first).trim();
  const last = text.search(/\s\S*$/);
  return LINK.test(text.slice(last + 1)) ? text.slice(0, last).trim() : undefined;
}

/**
 * Reports whether a text is nothing but placeholders. It would have the hash of every row without text, so another row
 * would confirm its send.
 */
export function isOnlyPlaceholders(body: string): boolean {
  return body !== '' && comparable(body) === '';
}

/** Normalizes line endings, and removes placeholders as `cleanBody` does when it reads a message (decision B2). */
function comparable(text: string): string {
  const begun = text.replace(/\r\n?/g, '\n').replace(/^(?:[\uFFFC\uFFFD]\n?)+/, '');
  let end = begun.length;
  while (PLACEHOLDER.test(begun.charAt(end - 1))) end -= begun.charAt(end - 2) === '\n' ? 2 : 1;
  return begun.slice(0, end).replace(/[\uFFFC\uFFFD]/g, '');
}
