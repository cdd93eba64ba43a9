import TOML from '@ltd/j-toml';
import { lookupTable } from '../model/lookup-table.ts';

/** Parses integers as bigint, so that `3001` and `3001.0` differ and no integer is rounded. */
const OPTIONS = { joiner: '\n', bigint: true } as const;

/**
 * Maximum number of signs (dots, commas, equals signs and brackets) in config.toml: ten times as many as a long file
 * has. The parser takes up to 4 µs for each sign.
 */
const MAX_SIGNS = 2000;
const TOO_MANY = `the file has more than ${MAX_SIGNS} dots, commas, equals signs and brackets outside of strings`;

/** Explanations that replace the parser's messages, because a message can quote the line with `api_key`. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^Duplicate|can not be accessed/, 'this is defined twice'],
  [/not close/, 'this is never closed'],
  [/64 bit|as big as|as little as|lost its exact/, 'this number is out of range'],
  [/^Invalid Unicode/, 'this escape is not a character'],
  [/string/, 'this string is not closed, or has an unknown escape (write a backslash as two)'],
  [/^Invalid|^Bad atom/, 'this is not a value (strings need double quotes)'],
  [/missing|equal/, 'a setting has the form name = value'],
];

export type Parsed =
  | { readonly tables: Readonly<Record<string, unknown>> }
  /** A sentence that names line and column and quotes nothing from the file. */
  | { readonly syntaxError: string };

export function parseToml(text: string): Parsed {
  const excess = positionOfSign(text, MAX_SIGNS);
  if (excess !== undefined) {
    const lines = text.slice(0, excess).split('\n');
    const column = (lines.at(-1)?.length ?? 0) + 1;
    return { syntaxError: `Line ${lines.length}, column ${column}: ${TOO_MANY}.` };
  }
  try {
    return { tables: parse(text) };
  } catch (error) {
    const message = (error as Error).message;
    const [, line = '1', column = '0'] = /:(\d+):(\d+)\)$/.exec(message) ?? [];
    const lines = text.split(/\r?\n/).map((one) => one.trimEnd());
    const wrong = lines[Number(line) - 1] ?? '';
    const at = Number(column) || stumble(wrong);
    const reason = REASONS.find(([words]) => words.test(message))?.[1] ?? 'this is not TOML';
    const first = wrong.startsWith('[') ? lines.indexOf(wrong) + 1 : 0;
    const advice =
      first > 0 && first < Number(line) ? ` (the section begins in line ${first}: write its settings there)` : '';
    return { syntaxError: `Line ${line}, column ${at}: ${reason}${advice}.` };
  }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  return TOML.parse({ path: 'config.toml', data: text }, OPTIONS);
}

/**
 * Finds the column, counted from 1, at which a line stops being valid TOML. The parser itself mostly reports only the
 * line. Returns the column after the longest valid prefix, else the column of the value, else the column of the line's
 * first character that is not blank.
 */
function stumble(line: string): number {
  const start = line.length - line.trimStart().length;
  for (const end of possibleEnds(line.slice(0, 500)).toReversed()) {
    if (isToml(line.slice(0, end))) return end < line.length ? end + 1 : start + 1;
  }
  const beforeValue = /^[^=]*=[ \t]*/.exec(line)?.[0];
  return beforeValue !== undefined && isToml(`${beforeValue}0`) ? beforeValue.length + 1 : start + 1;
}

/**
 * Returns the lengths of the line's prefixes that could be valid TOML: each is a comment, a section or a setting, with
 * every bracket closed.
 */
function possibleEnds(line: string): readonly number[] {
  const ends: number[] = [];
  let isBegun = line.trimStart().startsWith('#');
  let open = 0;
  let from = 1;
  const addUpTo = (last: number): void => {
    if (isBegun && open === 0) for (let end = from; end <= last; end += 1) ends.push(end);
  };
  for (const { sign, at, depth } of signsOf(line)) {
    addUpTo(at);
    isBegun ||= sign === '=' || sign === ']';
    open = depth;
    from = at + 1;
  }
  addUpTo(line.length);
  return ends;
}

function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Matches strings, comments, and each sign outside them. An unclosed multi-line string extends to the end of the file,
 * any other unclosed string to the end of its line.
 */
const PARTS =
  /"""(?:[^\\]|\\[\s\S])*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|#[^\n]*|(?<sign>[.,=[\]{}])/g;
const DEPTHS: Readonly<Record<string, number>> = lookupTable({ '[': 1, '{': 1, ']': -1, '}': -1 });

/** A dot, a comma, an equals sign or a bracket, outside strings and comments. */
interface Sign {
  /** The number of brackets that are still open after this character. */
  readonly depth: number;
  readonly sign: string;
  /** The sign's offset in the text, in UTF-16 units. */
  readonly at: number;
}

/** Yields the signs of a TOML text outside strings and comments, even if the text is broken. */
function* signsOf(text: string): Generator<Sign> {
  let depth = 0;
  for (const { groups, index } of text.matchAll(PARTS)) {
    const sign = groups?.sign;
    if (sign === undefined) continue;
    depth += DEPTHS[sign] ?? 0;
    yield { depth, sign, at: index };
  }
}

/** Returns the offset of the sign that follows exactly `count` other signs; undefined if the text has too few signs. */
function positionOfSign(text: string, count: number): number | undefined {
  let before = 0;
  for (const { at } of signsOf(text)) {
    if (before === count) return at;
    before += 1;
  }
  return undefined;
}
