import type { Highlight } from '../../domain/search.ts';

/** Invisible characters that take no column, so that a table can be laid out with them. */
const BEGIN = '\u2061';
const END = '\u2062';
const MARKS = /[\u2061\u2062]/g;
/** Bold and underlined, as can be read on any background. */
const ON = '\x1b[1;4m';
const OFF = '\x1b[22;24m';
/** How much of a text is left before what was found, when it is far from the beginning. */
const MAX_BEFORE = 20;
const KEPT_BEFORE = 12;

/** The text with marks around what was found, from shortly before the first of them on. */
export function marked(text: string, highlights: readonly Highlight[]): string {
  const first = highlights[0]?.[0] ?? 0;
  let end = first > MAX_BEFORE ? first - KEPT_BEFORE : 0;
  // Not in the middle of a pair.
  if (/[\udc00-\udfff]/.test(text.charAt(end))) end -= 1;
  const parts = end === 0 ? [] : ['…'];
  for (const [start, stop] of highlights) {
    parts.push(plain(text.slice(end, start)), BEGIN, plain(text.slice(start, stop)), END);
    end = stop;
  }
  return parts.join('') + plain(text.slice(end));
}

/** A line with marks as a terminal shows it. What was cut off in the middle is closed. */
export function painted(line: string): string {
  const shown = line.replaceAll(BEGIN, ON).replaceAll(END, OFF);
  return shown.lastIndexOf(ON) > shown.lastIndexOf(OFF) ? shown + OFF : shown;
}

function plain(text: string): string {
  return text.replace(MARKS, '');
}
