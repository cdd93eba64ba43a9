/**
 * Matches escape sequences, other control characters, and marks that change the direction of the text after them. A
 * message could contain all of them.
 */
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffc]/gu;
/** Matches what JSON on a terminal contains only escaped: everything in `UNPRINTABLE`, and separators of lines. */
const ESCAPED = new RegExp(`${UNPRINTABLE.source}|[\\u2028\\u2029]`, 'gu');
const WIDE =
  /^(?![\uff61-\uffdc])(?:\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]|.*\ufe0f)/su;
const EMPTY = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Matches a text whose characters all take one column. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Created on first use, because creating it takes longer than many whole commands. */
let segmenter: Intl.Segmenter | undefined;

/** Number of UTF-16 units segmented at once. V8 takes quadratic time in this number (100,000 took 5 s). */
const WINDOW = 256;

/** Yields user-perceived characters. A character longer than `WINDOW` units is split. */
function* graphemesOf(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  for (let at = 0; at < text.length; ) {
    const found = Array.from(segmenter.segment(text.slice(at, at + WINDOW)), ({ segment }) => segment);
    // The last character may continue beyond the window, so the next window begins with it.
    if (at + WINDOW < text.length && found.length > 1) found.pop();
    for (const segment of found) at += segment.length;
    yield* found;
  }
}

/** Removes everything that could control a terminal; keeps line breaks. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => (character === '\n' ? '\n' : ''));
}

/** Removes everything that could control a terminal, and joins the lines. */
export function oneLine(text: string): string {
  return text
    .trim()
    .replace(/\s+/g, (blanks) => (/[\n\r\u2028\u2029]/.test(blanks) ? ' ⏎ ' : blanks))
    .replace(/\t/g, ' ')
    .replace(UNPRINTABLE, '');
}

/** Returns JSON that cannot control a terminal. JSON itself allows some control characters without an escape. */
export function json(value: unknown, indent?: number): string {
  // The line breaks are those of the indentation: inside of texts, JSON escapes them.
  return JSON.stringify(value, null, indent).replace(ESCAPED, (found) => (found === '\n' ? '\n' : escaped(found)));
}

/**
 * Escapes the control characters in a line, so that the line cannot control a terminal. A line of JSON keeps its
 * meaning.
 */
export function jsonLine(line: string): string {
  return line.replace(ESCAPED, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Returns the number of terminal columns that the text takes. */
export function columnsOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let columns = 0;
  for (const segment of graphemesOf(text)) columns += segmentColumns(segment);
  return columns;
}

/** Returns the beginning of the text that fits, followed by `…` if something is missing. */
export function fitted(text: string, columns: number): string {
  if (PLAIN.test(text)) {
    if (text.length <= columns) return text;
    return columns < 1 ? '' : `${text.slice(0, columns - 1)}…`;
  }
  let taken = 0;
  let beginning = '';
  for (const segment of graphemesOf(text)) {
    taken += segmentColumns(segment);
    if (taken < columns) beginning += segment;
    // Stops here, because the rest of a long text need not be measured.
    else if (taken > columns) return columns < 1 ? '' : `${beginning}…`;
  }
  return text;
}

/** The width of the label before each line of `postern status`. */
export const LABEL_COLUMNS = 12;

/** A space at which lines are not broken; `wrapped` prints it as an ordinary space. */
export const UNBROKEN = '\u00a0';

/**
 * Wraps the text to this many columns and indents each line; without `columns`, does not wrap. A word that is longer
 * than a line, such as a path, stays whole on a separate line.
 */
export function wrapped(text: string, columns: number | undefined, indent: number): readonly string[] {
  const margin = ' '.repeat(indent);
  return text.split('\n').flatMap((line) => {
    const lines: string[] = [];
    for (const word of line.split(' ')) {
      const last = lines.at(-1);
      if (last === undefined) lines.push(margin + word);
      else if (columns === undefined || columnsOf(last) + 1 + columnsOf(word) <= columns) {
        lines[lines.length - 1] = `${last} ${word}`;
      } else lines.push(margin + word);
    }
    return lines.map((one) => one.replaceAll(UNBROKEN, ' '));
  });
}

function segmentColumns(segment: string): number {
  if (EMPTY.test(segment)) return 0;
  return WIDE.test(segment) ? 2 : 1;
}
