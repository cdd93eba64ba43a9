import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Content } from '../domain/ports/sending.ts';

const PLACEHOLDER = /[\uFFFC\uFFFD]/;

/** What a sent part and its row have in common (decision D5), without keeping the text. */
export function contentHash(content: Content): string {
  return 'body' in content ? hashed('body', comparable(content.body)) : fileHash(basename(content.attachment));
}

/** The contents that a row may be the row of. */
export function contentHashes(body: string, fileNames: readonly string[]): readonly string[] {
  return [hashed('body', comparable(body)), ...fileNames.map(fileHash)];
}

/** macOS keeps file names composed or decomposed, as it likes. */
function fileHash(name: string): string {
  return hashed('file', name.normalize('NFC'));
}

function hashed(kind: 'body' | 'file', text: string): string {
  return createHash('sha256').update(`${kind} `).update(text).digest('hex');
}

/** Line ends made equal, and without the placeholders that reading takes out of a body (decision B2). */
function comparable(text: string): string {
  const begun = text.replace(/\r\n?/g, '\n').replace(/^(?:[\uFFFC\uFFFD]\n?)+/, '');
  let end = begun.length;
  while (PLACEHOLDER.test(begun.charAt(end - 1))) end -= begun.charAt(end - 2) === '\n' ? 2 : 1;
  return begun.slice(0, end).replace(/[\uFFFC\uFFFD]/g, '');
}
