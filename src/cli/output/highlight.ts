import type { Highlight } from '../../domain/search.ts';

/** Invisible characters without width, so that a table can be laid out with them. */
const BEGIN = '\u2061';
const END = '\u2062';
const MARKS = /[\u2061\u2062]/g;
/** Bold and underlined, which is readable on any background. */
const ON = '\x1b[1;4m';
const OFF = '\x1b[22;24m';
/** How much text is left before the first match if that is far from the beginning. */
const MAX_BEFORE = 20;
const KEPT_BEFORE = 12;

/** Marks the matches in a text, which starts shortly before the first one. */
export function marked(text: string, highlights: readonly Highlight[]): string {
  const first = highlights[0]?.[0] ?? 0;
  let end = first > MAX_BEFORE ? first - KEPT_BEFORE : 0;
  // Never splits a surrogate pair.
  if (/[\udc00-\udfff]/.test(text.charAt(end))) end -= 1;
  const parts = end === 0 ? [] : ['…'];
  for (const [start, stop] of highlights) {
    parts.push(plain(text.slice(end, start)), BEGIN, plain(text.slice(start, stop)), END);
    end = stop;
  }
  return parts.join('') + plain(text.slice(end));
}

/** Replaces marks by escape sequences. Closes a mark whose end was cut off. */
export function painted(line: string): string {
  const shown = line.replaceAll(BEGIN, ON).replaceAll(END, OFF);
  return shown.lastIndexOf(ON) > shown.lastIndexOf(OFF) ? shown + OFF : shown;
}

function plain(text: string): string {
  return text.replace(MARKS, '');
}
