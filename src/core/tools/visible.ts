import { memoized } from '../model/memoized.ts';
import { countedBlanks, hexOf, writtenOut } from '../model/visible.ts';

/**
 * Line breaks of every kind, and every invisible character. The last two, U+2800 and U+1D159, are symbols that are
 * drawn as nothing.
 */
const INVISIBLE =
  '\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\u2800\\u{1d159}';
const SPECIAL = new RegExp(`\\r\\n|[${INVISIBLE}]`, 'gu');
const LINE_END = /^[\n\r\v\f\u0085\u2028\u2029]/;
/**
 * Matches a text that contains only common visible characters and so needs no further examination. Nearly every text
 * does.
 */
const PLAIN = /^[\t\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u05ff\u3000-\u312f\u4e00-\u9fff]*$/;

const JOINERS = '[\\u200C\\u200D]';
/** Characters that select how the previous one is drawn. */
const PRESENTATION = '[\\uFE0E\\uFE0F]';
const DRAWN_TWO_WAYS = '[\\p{Extended_Pictographic}\\p{Emoji}]';
const BEFORE_EMOJI = '[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\uFE0F]';
const EMOJI = '\\p{Extended_Pictographic}';
/** The scripts that are written with joiners. */
const SCRIPTS = 'Arab Beng Deva Gujr Guru Khmr Knda Mlym Mymr Orya Sinh Taml Telu'.replaceAll(
  /(\w+) ?/g,
  '\\p{scx=$1}',
);
const JOINED = `[[${SCRIPTS}]&&[\\0-\\uFFFF]]`;
/** Matches all invisible characters, except tabs and those that belong to the emoji or word around them. */
const HIDDEN = new RegExp(
  [
    '\\r\\n',
    `[[${INVISIBLE}]--\\t--${JOINERS}--${PRESENTATION}]`,
    `(?<!${DRAWN_TWO_WAYS})${PRESENTATION}`,
    `(?!(?<=${BEFORE_EMOJI})\\u200D(?=${EMOJI})|(?<=${JOINED})${JOINERS}(?=${JOINED}))${JOINERS}`,
  ].join('|'),
  'gv',
);

/** Returns other people's text without hidden parts: line breaks become `lineEnd`, invisible characters `⟨U+202E⟩`. */
function visible(text: string, lineEnd: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(HIDDEN, (found) => (LINE_END.test(found) ? lineEnd : writtenOut(found)));
}

/** Returns a body with all lines but the first indented, so that none of them looks like a line by Postern. */
export function indented(body: string): string {
  return visible(body, '\n    ');
}

/** Returns a name, an address or a file name as at most `max` characters on one line. */
export function shortLine(text: string, max = 80): string {
  const line = countedBlanks(visible(text.slice(0, max + 1), ' ').trim());
  return line.length <= max ? line : `${beginning(line, max - 1)}…`;
}

/** Returns the value as JSON in which invisible characters are escaped as `\uXXXX`. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(SPECIAL, escaped);
}

const escaped = memoized((found) =>
  found
    .split('')
    .map((unit) => `\\u${hexOf(unit.charCodeAt(0)).toLowerCase()}`)
    .join(''),
);

/** Returns the first `length` UTF-16 units, or one less if that would split a character. */
export function beginning(text: string, length: number): string {
  const isSplit = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(length));
  return text.slice(0, isSplit ? length - 1 : length);
}
