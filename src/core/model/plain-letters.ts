import { lookupTable } from './lookup-table.ts';

/**
 * Letters that are replaced one by one. Unicode does not decompose them into plain letters; it does decompose `ё`, but
 * the index of search keeps the marks of Cyrillic letters.
 */
const SPECIAL = /[ßæœøđłıӕёςםןךףץىیکةٱ]/g;
const SPECIALS: Readonly<Record<string, string>> = lookupTable({
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ł: 'l',
  ı: 'i',
  ё: 'е',
  // Final forms of a letter, which disappear when another letter follows.
  ς: 'σ',
  ך: 'כ',
  ם: 'מ',
  ן: 'נ',
  ף: 'פ',
  ץ: 'צ',
  // Letters that Arabic and Persian keyboards write differently, or that people use for each other.
  ى: 'ي',
  ی: 'ي',
  ک: 'ك',
  ة: 'ه',
  ٱ: 'ا',
});

/** Replaces the letters of a text in lower case that have no plain letter in Unicode, such as `ł` and `ß`. */
export function plainLetters(text: string): string {
  return text.replace(SPECIAL, (letter) => SPECIALS[letter] ?? letter);
}
