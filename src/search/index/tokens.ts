import { memoized } from '../../domain/memoized.ts';
import type { Highlight } from '../../domain/search.ts';

/** Maximum number of units in a token. Longer words are cut, because each costs space in the index. */
export const MAX_TOKEN = 64;
/** Marks examined after one letter, as in Stream-Safe Text (Unicode UAX #15, section 13). */
const MAX_MARKS = 30;

/** A word, a character of a script without spaces, or an emoji, in indexed form. */
export interface Token {
  /** Folded: without case and accents. Never empty, at most `MAX_TOKEN` units, without blanks and quotes. */
  readonly text: string;
  /** Offset in the original text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

/**
 * Scripts that do not separate words by spaces. Each character is a token, and a word is the sequence of its
 * characters.
 */
const UNSPACED =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\u30FC\\uFF70\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
/** Characters inside a word. U+200C, U+200D and U+00AD may stand there, but are not part of the word. */
const INSIDE = '\\p{L}\\p{N}\\p{M}\\u200C\\u200D\\u00AD';
const MODIFIERS = '\\u{1F3FB}-\\u{1F3FF}\\uFE0E\\uFE0F';

/** Characters of scripts without spaces, with no mark after them. Folding does not change them. */
const PLAIN = '[\\u3041-\\u3096\\u30A1-\\u30FA\\u4E00-\\u9FFF]+(?![\\p{M}\\uFF9E\\uFF9F])';
const PIECES = new RegExp(
  [
    `(${PLAIN})`,
    `([a-zA-Z\\d]+)(?![${INSIDE}])`,
    // A character with its marks. The marks of halfwidth kana are letters (U+FF9E, U+FF9F).
    `(?:(?=[\\p{L}\\p{N}])[${UNSPACED}][\\uFF9E\\uFF9F]?\\p{M}*)`,
    `(?:[\\p{L}\\p{N}](?:(?![${UNSPACED}])[${INSIDE}])*)`,
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

/** Returns a text as its tokens, separated by blanks. */
export function segment(text: string): string {
  return tokensOf(text)
    .map((token) => token.text)
    .join(' ');
}

/** Halfwidth and fullwidth forms, and ligatures of letters. */
const COMPATIBLE = /[\uFB00-\uFB4F\uFE70-\uFEFC\uFF00-\uFFEF]/;
const MARKS = /\p{M}/u;
/** Accented letters without a decomposition. */
const SPECIAL = /[ßæœøđłıӕё]/g;
const SPECIALS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ł: 'l',
  ı: 'i',
  ё: 'е',
};
/**
 * Matches a letter with marks that folding removes: accents of Latin and Greek, vowel signs and hamza of Arabic, points
 * of Hebrew. In other scripts, marks make another letter: ガ is not カ, and й is not и.
 */
const ACCENTED = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Arabic}\p{sc=Hebrew}])\p{M}+/gu;
/** Marks beyond the first 30 on a letter. They are removed, because normalizing sorts marks in quadratic time. */
const PILED = new RegExp(`(\\p{M}{${MAX_MARKS}})\\p{M}+`, 'gu');
/**
 * Joiners, soft hyphens, variation selectors, keycap frames, the Arabic elongation mark, and signs from compatibility
 * forms.
 */
const INVISIBLE = /[^\p{L}\p{N}\p{M}]|\p{Variation_Selector}|\u20E3|\u0640/gu;
/** A compatibility form that consists of a mark only. */
const WITHOUT_BASE = /^\p{M}+/u;

const ASCII = /^[\0-\x7f]*$/;

export function isAscii(text: string): boolean {
  return ASCII.test(text);
}

/** Kana, Chinese characters, Hangul syllables and Thai, which folding does not change. */
const CASELESS = /^[\u0E01-\u0E4E\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FFF\uAC00-\uD7A3]+$/;

function fold(piece: string): string {
  if (CASELESS.test(piece)) return piece;
  const lower = (piece.length > MAX_MARKS ? piece.replace(PILED, '$1') : piece).toLowerCase();
  if (isAscii(lower)) return lower;
  let folded = COMPATIBLE.test(lower) ? lower.normalize('NFKD').toLowerCase() : lower.normalize('NFD');
  folded = folded.replace(INVISIBLE, '');
  if (MARKS.test(folded)) folded = folded.replace(WITHOUT_BASE, '').replace(ACCENTED, '$1');
  return folded.normalize('NFC').replace(SPECIAL, (letter) => SPECIALS[letter] ?? letter);
}

/** Cached because normalizing dominates the cost, and the same words recur constantly. */
const memoizedFold = memoized(fold);

/** Returns the first units of a token, without half a character at the end. */
function cut(token: string): string {
  if (token.length <= MAX_TOKEN) return token;
  const end = /[\uD800-\uDBFF]/.test(token.charAt(MAX_TOKEN - 1)) ? MAX_TOKEN - 1 : MAX_TOKEN;
  return token.slice(0, end);
}

/** Returns ranges in order, with touching and overlapping ones merged. */
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
