import type { Highlight } from '../../../client/search-types.ts';
import { memoized } from '../../../core/model/memoized.ts';
import { plainLetters } from '../../../core/model/plain-letters.ts';
import { asciiDigits } from '../../../core/model/text.ts';

/** Maximum length of a token in UTF-16 units. Longer words are cut to save space in the index. */
export const MAX_TOKEN = 64;
/** Maximum number of marks kept on one letter, as in Stream-Safe Text (Unicode UAX #15, section 13). */
const MAX_MARKS = 30;

/** A word, a character of a script without spaces, or an emoji, in indexed form. */
export interface Token {
  /** The folded text: lower case, without accents. Contains 1 to `MAX_TOKEN` UTF-16 units, and no blanks or quotes. */
  readonly text: string;
  /** Start (inclusive) and end (exclusive) in the original text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

/**
 * Scripts that do not separate words by spaces. Each character except digits is a token, and a word is the sequence of
 * its characters.
 */
const UNSPACED =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\u30FC\\uFF70\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
/**
 * Characters that do not end a word. U+200C, U+200D (joiners) and U+00AD (soft hyphen) may occur inside a word, but
 * folding removes them.
 */
const INSIDE = '\\p{L}\\p{N}\\p{M}\\u200C\\u200D\\u00AD';
const MODIFIERS = '\\u{1F3FB}-\\u{1F3FF}\\uFE0E\\uFE0F';

/** Kana and Chinese characters without marks. Each is a token, and needs no folding. */
const PLAIN = '[\\u3041-\\u3096\\u30A1-\\u30FA\\u4E00-\\u9FFF]+(?![\\p{M}\\uFF9E\\uFF9F])';
const PIECES = new RegExp(
  [
    `(${PLAIN})`,
    `([a-zA-Z\\d]+)(?![${INSIDE}])`,
    // A character of a script without spaces, with its marks. Unicode counts the marks of halfwidth kana, U+FF9E and
    // U+FF9F, as letters.
    `(?:(?=[\\p{L}\\p{N}])(?!\\p{Nd})[${UNSPACED}][\\uFF9E\\uFF9F]?\\p{M}*)`,
    `(?:[\\p{L}\\p{N}](?:(?!(?!\\p{Nd})[${UNSPACED}])[${INSIDE}])*)`,
    `((?![${MODIFIERS}])[\\p{So}\\p{Extended_Pictographic}])[${MODIFIERS}]*`,
  ].join('|'),
  'gu',
);

/** Returns the tokens of a text, in order. Used for indexing and for searching. */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  PIECES.lastIndex = 0;
  for (let found = PIECES.exec(text); found !== null; found = PIECES.exec(text)) {
    const [piece, plain, ascii, symbol] = found;
    const start = found.index;
    if (plain !== undefined) {
      for (let at = 0; at < plain.length; at += 1) {
        tokens.push({ text: plain.charAt(at), start: start + at, end: start + at + 1 });
      }
    } else {
      const token = symbol ?? ascii?.slice(0, MAX_TOKEN).toLowerCase() ?? cut(memoizedFold(piece));
      if (token !== '') tokens.push({ text: token, start, end: start + piece.length });
    }
  }
  return tokens;
}

/** Reports whether a token is a character of a script without spaces, where a word may end after any character. */
export function isUnspaced(token: string): boolean {
  return UNSPACED_FIRST.test(token);
}
const UNSPACED_FIRST = new RegExp(`^[${UNSPACED}]`, 'u');

/** Returns the tokens of a text, joined by spaces. */
export function segment(text: string): string {
  return tokensOf(text)
    .map((token) => token.text)
    .join(' ');
}

/** Matches compatibility forms: ligatures, Hebrew and Arabic presentation forms, halfwidth and fullwidth characters. */
const COMPATIBLE = /[\uFB00-\uFB4F\uFE70-\uFEFC\uFF00-\uFFEF]/;
const MARKS = /\p{M}/u;
const DIGITS = /\p{Nd}/u;
/**
 * Matches a letter with marks that folding removes: accents of Latin and Greek, vowel signs and hamza of Arabic, points
 * of Hebrew. In other scripts, marks make another letter: ガ is not カ, and й is not и.
 */
const ACCENTED = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Arabic}\p{sc=Hebrew}])\p{M}+/gu;
/**
 * Matches more than 30 marks on a letter. Those beyond the first 30 are removed, because normalizing sorts marks in
 * quadratic time.
 */
const PILED = new RegExp(`(\\p{M}{${MAX_MARKS}})\\p{M}+`, 'gu');
/**
 * Characters that folding removes: joiners, soft hyphens, variation selectors, keycap frames, the Arabic elongation
 * mark, and signs that remain of a decomposed compatibility form.
 */
const INVISIBLE = /[^\p{L}\p{N}\p{M}]|\p{Variation_Selector}|\u20E3|\u0640/gu;
/** Matches marks at the beginning, with no letter before them. Some compatibility forms decompose into a mark only. */
const WITHOUT_BASE = /^\p{M}+/u;

const ASCII = /^[\0-\x7f]*$/;

export function isAscii(text: string): boolean {
  return ASCII.test(text);
}

/** Matches a word of kana, Chinese characters, Hangul syllables or Thai only, which folding does not change. */
const CASELESS = /^[\u0E01-\u0E4E\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FFF\uAC00-\uD7A3]+$/;

function fold(piece: string): string {
  if (CASELESS.test(piece)) return piece;
  const lower = (piece.length > MAX_MARKS ? piece.replace(PILED, '$1') : piece).toLowerCase();
  if (isAscii(lower)) return lower;
  let folded = COMPATIBLE.test(lower) ? lower.normalize('NFKD').toLowerCase() : lower.normalize('NFD');
  folded = folded.replace(INVISIBLE, '');
  if (MARKS.test(folded)) folded = folded.replace(WITHOUT_BASE, '').replace(ACCENTED, '$1');
  folded = plainLetters(folded.normalize('NFC'));
  return DIGITS.test(folded) ? asciiDigits(folded) : folded;
}

/** Cached because normalizing takes most of the time of indexing a text, and the same words recur constantly. */
const memoizedFold = memoized(fold);

/** Cuts a token to `MAX_TOKEN` UTF-16 units, or to one less if the cut would split a surrogate pair. */
function cut(token: string): string {
  if (token.length <= MAX_TOKEN) return token;
  const end = /[\uD800-\uDBFF]/.test(token.charAt(MAX_TOKEN - 1)) ? MAX_TOKEN - 1 : MAX_TOKEN;
  return token.slice(0, end);
}

/** Returns the ranges, ordered by start. Merges ranges that touch or overlap. */
export function mergedHighlights(ranges: readonly Highlight[]): readonly Highlight[] {
  const ordered = ranges.toSorted(([a], [b]) => a - b);
  const result: [number, number][] = [];
  for (const [start, end] of ordered) {
    const last = result.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else result.push([start, end]);
  }
  return result;
}
