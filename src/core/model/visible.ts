import { memoized } from './memoized.ts';

/**
 * Characters that are invisible or change the direction of the text around them, except line feeds and tabs. The
 * characters listed one by one look blank, although Unicode counts some as letters or symbols (U+2800, U+1D159).
 */
const INVISIBLE =
  /(?![\n\t ])(?:[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]|[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\ufffd\u{1d159}])/gu;
/**
 * Nine or more blanks can make a phone wrap the line, so that the text after them looks like a separate line. Without
 * `{9,}`, whose stack grows.
 */
const BLANKS = /[ \t]{9}[ \t]*/g;

/** Returns the text with every invisible character written out, such as ⟨U+202E⟩, and long gaps as ⟨40 blanks⟩. */
export function visible(text: string): string {
  return countedBlanks(text).replace(INVISIBLE, writtenOut);
}

/** Returns the code of a character, such as ⟨U+202E⟩. Cached, because hostile texts repeat the same few characters. */
export const writtenOut = memoized((character) => `⟨U+${hexOf(character.codePointAt(0) ?? 0)}⟩`);

/** Returns a code point as hexadecimal, at least four digits, in capitals. */
export function hexOf(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0');
}

/** Returns the text with each run of more than 8 spaces and tabs replaced by its length. */
export function countedBlanks(text: string): string {
  return text.replace(BLANKS, (run) => `⟨${run.length} blanks⟩`);
}

/** A piece of a text, or the mark that stands for invisible characters. */
export interface VisiblePart {
  readonly text: string;
  readonly isMark: boolean;
}

const HIDDEN = new RegExp(`${BLANKS.source}|${INVISIBLE.source}`, 'gu');

/** Like `visible`, but returns the marks apart, because a text may itself contain what looks like one. */
export function visibleParts(text: string): readonly VisiblePart[] {
  const parts: VisiblePart[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(HIDDEN)) {
    parts.push({ text: text.slice(end, index), isMark: false }, { text: visible(found), isMark: true });
    end = index + found.length;
  }
  return [...parts, { text: text.slice(end), isMark: false }].filter(({ text: part }) => part !== '');
}
