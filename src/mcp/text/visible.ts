import { countedBlanks } from '../../domain/visible.ts';

/** Line ends of every kind, and whatever nobody sees; the symbols of which nothing is drawn are listed. */
const SPECIAL =
  /\r\n|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800\u{1d159}]/gu;
const LINE_END = /^[\n\r\v\f\u0085\u2028\u2029]/;
/** What nearly every text is made of, so that it needs no closer look. */
const PLAIN = /^[\t\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u05ff\u3000-\u312f\u4e00-\u9fff]*$/;

const JOINERS = '\u200C\u200D';
/** Choose how the character before them is drawn. */
const PRESENTATION = '\uFE0E\uFE0F';
const DRAWN_TWO_WAYS = /[\p{Extended_Pictographic}\p{Emoji}]$/u;
const BEFORE_EMOJI = /(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\uFE0F)$/u;
const EMOJI = /^\p{Extended_Pictographic}/u;
/** The scripts that are written with joiners. */
const JOINED = new RegExp(
  `^[${'Arab Beng Deva Gujr Guru Khmr Knda Mlym Mymr Orya Sinh Taml Telu'.replaceAll(/(\w+) ?/g, '\\p{scx=$1}')}]$`,
  'u',
);

/** Text of other people with nothing hidden in it: line ends become `lineEnd`, invisible characters `⟨U+202E⟩`. */
function visible(text: string, lineEnd: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(SPECIAL, (found: string, at: number) => {
    if (LINE_END.test(found)) return lineEnd;
    return isHarmless(found, text.slice(Math.max(0, at - 2), at), text.slice(at + 1, at + 3)) ? found : named(found);
  });
}

/** A tab, or a character that belongs to the emoji or the word around it. */
function isHarmless(found: string, before: string, after: string): boolean {
  if (found === '\t') return true;
  if (PRESENTATION.includes(found)) return DRAWN_TWO_WAYS.test(before);
  if (!JOINERS.includes(found)) return false;
  if (found === '\u200D' && BEFORE_EMOJI.test(before) && EMOJI.test(after)) return true;
  return JOINED.test(before.slice(-1)) && JOINED.test(after.slice(0, 1));
}

function named(character: string): string {
  return `⟨U+${hex(character.codePointAt(0) ?? 0)}⟩`;
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0');
}

/** For a body: its further lines are indented, so that none of them looks like a line of ours. */
export function indented(body: string): string {
  return visible(body, '\n    ');
}

/** For a name, an address or a file's name: at most `max` characters on one line. */
export function oneLine(text: string, max = 80): string {
  const line = countedBlanks(visible(text.slice(0, max + 1), ' ').trim());
  return line.length <= max ? line : `${beginning(line, max - 1)}…`;
}

/** JSON that reads the same, with nothing hidden in its text. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(SPECIAL, (found: string) =>
    [...Array(found.length).keys()].map((at) => `\\u${hex(found.charCodeAt(at)).toLowerCase()}`).join(''),
  );
}

/** The first `length` UTF-16 units, or one less where that would split a character. */
export function beginning(text: string, length: number): string {
  const isSplit = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(length));
  return text.slice(0, isSplit ? length - 1 : length);
}
