import { remembering } from './remembering.ts';

/**
 * Characters that are invisible or change the direction of visible ones, except line feeds and tabs. The listed ones
 * look like a blank or like nothing, although Unicode counts some of them as letters or symbols (U+2800, U+1D159).
 */
const INVISIBLE =
  /(?![\n\t ])(?:[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]|[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\ufffd\u{1d159}])/gu;
/** This many may make a phone wrap the line, so that the text after them looks like a separate line. */
const BLANKS = /[ \t]{9,}/g;

/** The text with every invisible character written out, such as ⟨U+202E⟩, and long gaps as ⟨40 blanks⟩. */
export function visible(text: string): string {
  return countedBlanks(text).replace(INVISIBLE, writtenOut);
}

/** The code of a character, such as ⟨U+202E⟩. Cached, because hostile texts are full of the same ones. */
export const writtenOut = remembering((character) => `⟨U+${hexOf(character.codePointAt(0) ?? 0)}⟩`);

/** At least four digits, in capitals. */
export function hexOf(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0');
}

/** The text with runs of more than 8 spaces and tabs replaced by their number. */
export function countedBlanks(text: string): string {
  return text.replace(BLANKS, (run) => `⟨${run.length} blanks⟩`);
}
