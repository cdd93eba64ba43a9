import { asciiDigits } from '../../../core/model/text.ts';
import { isAscii, MAX_TOKEN, type Token } from './tokens.ts';

/**
 * Minimum number of digits of a number in groups, such as 123-456. Shorter ones count only if they are grouped by
 * thousands, so that `10 20` is not 1020.
 */
const MIN_DIGITS = 6;
/** Maximum number of digits in all groups. A card has 19. */
const MAX_DIGITS = 20;
/** Maximum number of tokens that the numbers of one text become. */
const MAX_NUMBERS = 1000;
/** Minimum number of digits of a phone number with its country code, or with the zero that replaces it. */
const MIN_DIALLED = 8;

/** Stands for the point or comma of a decimal number in a token. No word of a text contains it. */
const POINT = '\u066B';
/** Maximum number of groups of a number. A French phone number with its country code has six. */
const MAX_GROUPS = 7;
/** Between groups: one point, comma, apostrophe or slash, or up to three spaces, hyphens and parentheses. */
const BETWEEN = /^(?:[.,'/\u066B\u066C\u2019]|[ ()\-\u00A0\u2009\u202F\u2010-\u2015\u2212]{1,3})$/;
const MAX_BETWEEN = 3;
/** Matches an ASCII text that may have such a number. Most texts have none, and need not be taken apart. */
const ASCII_NUMBER = /\d[.,'/ ()-]{1,3}\d|\+[ (]?\d|(?<!\d)00\d/;
const ASCII_GROUP = /\d+/g;
const ANY_GROUP = /\p{Nd}+/gu;
const DECIMAL_MARK = /^[.,\u066B]$/;
const LETTER_BEFORE = /[\p{L}\p{N}\p{M}]$/u;
const LETTER_AFTER = /^[\p{L}\p{N}\p{M}]/u;
const WORD = /[\p{L}\p{N}]/u;

/** A country code of ITU-T E.164. */
const COUNTRY = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/;

/** Consecutive digits of a number, with the characters between them and the previous group. */
interface Group {
  readonly digits: string;
  readonly before: string;
  readonly start: number;
  readonly end: number;
}

/** Groups of digits that may form one number. */
interface Run {
  /** Start of the first digit, even if that is not part of a group. */
  readonly start: number;
  readonly groups: readonly Group[];
  /** True if the first group is a country code, split off from what follows. */
  readonly hasCountry: boolean;
}

/**
 * Returns the numbers of a text that are not words by themselves, as tokens: digits in groups joined, international
 * numbers also without the country code, and decimal numbers. Returns every possibility if it is unclear which groups
 * belong together.
 */
export function numbersIn(text: string): readonly Token[] {
  const isPlain = isAscii(text);
  if (isPlain && !ASCII_NUMBER.test(text)) return [];
  const numbers: Token[] = [];
  for (const groups of groupsOf(text, isPlain)) {
    if (groups.length > 1 || isInternational(text, groups[0])) numbers.push(...joined(runOf(text, groups)));
    if (numbers.length >= MAX_NUMBERS) break;
  }
  return numbers.slice(0, MAX_NUMBERS);
}

/** How a number that somebody searches for may be written in an index. */
export interface SoughtNumber {
  /** The digits without groups; several if the country code or a leading zero can be left out. */
  readonly whole: readonly string[];
  /** The beginning of a decimal number. */
  readonly begun?: string | undefined;
}

/** Returns what to look for if the text is one number and nothing else; otherwise undefined. */
export function soughtNumber(text: string): SoughtNumber | undefined {
  const [found = [], another] = [...groupsOf(text, isAscii(text))];
  const run = runOf(text, found);
  const [first, ...others] = run.groups;
  if (first === undefined || another !== undefined) return undefined;
  const end = others.at(-1)?.end ?? first.end;
  if (WORD.test(text.slice(0, run.start)) || WORD.test(text.slice(end))) return undefined;
  const rest = others.map(({ digits }) => digits).join('');
  const all = first.digits + rest;
  const decimal = joined(run).find(
    (token) => token.text.includes(POINT) && token.start === first.start && token.end === end,
  );
  const begun = decimal === undefined ? {} : { begun: decimal.text };
  if (all.length > MAX_DIGITS) return { whole: [], ...begun };
  if (run.hasCountry) return { whole: [all, rest, `0${rest}`], ...begun };
  if (/^0[1-9]/.test(all) && all.length >= MIN_DIALLED) return { whole: [all, all.slice(1)], ...begun };
  return { whole: [all], ...begun };
}

function joined({ groups, hasCountry }: Run): readonly Token[] {
  const tokens: Token[] = [];
  for (const [at, { start, end: firstEnd, digits: first }] of groups.entries()) {
    let digits = first;
    let isByThousands = first.length <= 3 && !first.startsWith('0');
    // The digits after a country code are not a word by themselves in +15550100.
    if (hasCountry && at === 1 && first.length >= MIN_DIGITS) tokens.push({ text: first, start, end: firstEnd });
    for (const { digits: next, before, end } of groups.slice(at + 1, at + MAX_GROUPS)) {
      if (DECIMAL_MARK.test(before) && (digits === first || isByThousands)) {
        tokens.push({ text: `${digits}${POINT}${next}`.slice(0, MAX_TOKEN), start, end });
      }
      digits += next;
      if (digits.length > MAX_DIGITS) break;
      isByThousands &&= next.length === 3 && before.length === 1;
      if (digits.length >= MIN_DIGITS || isByThousands) tokens.push({ text: digits, start, end });
    }
  }
  return tokens;
}

/**
 * Returns the groups of digits of a text, each list of them with nothing in between that would end a number. No list is
 * longer than `MAX_NUMBERS`.
 */
function* groupsOf(text: string, isPlain: boolean): Iterable<readonly Group[]> {
  let run: Group[] = [];
  let ended = 0;
  for (const { 0: found, index: start } of text.matchAll(isPlain ? ASCII_GROUP : ANY_GROUP)) {
    const before = text.slice(Math.max(ended, start - MAX_BETWEEN - 1), start);
    ended = start + found.length;
    if (run.length > 0 && (run.length === MAX_NUMBERS || !BETWEEN.test(before))) {
      yield run;
      run = [];
    }
    run.push({ digits: isPlain ? found : asciiDigits(found), before, start, end: ended });
  }
  if (run.length > 0) yield run;
}

function runOf(text: string, found: readonly Group[]): Run {
  const groups = [...found];
  // A group that continues a word, as in M25 or 5pm, is part of that word.
  const [begin = { start: 0 }] = groups;
  const { end } = groups.at(-1) ?? { end: 0 };
  if (LETTER_BEFORE.test(text.slice(Math.max(0, begin.start - 2), begin.start))) groups.shift();
  if (LETTER_AFTER.test(text.slice(end, end + 2))) groups.pop();
  const [first] = groups;
  const digits = groups.reduce((sum, group) => sum + group.digits.length, 0);
  const isPhone = digits >= MIN_DIALLED && isInternational(text, first);
  const parts = isPhone && first !== undefined ? split(first, groups.slice(1)) : undefined;
  return { start: first?.start ?? 0, groups: parts ?? groups, hasCountry: parts !== undefined };
}

/** Reports whether a number begins with 00, or with a plus, after which a space or a parenthesis may stand. */
function isInternational(text: string, first: Group | undefined): boolean {
  if (first === undefined) return false;
  const before = text.charAt(first.start - 1);
  const sign = before === ' ' || before === '(' ? text.charAt(first.start - 2) : before;
  return sign === '+' || first.digits.startsWith('00');
}

/** Returns the groups with the country code split off, and without the zero in `+44 (0) 20`. */
function split(dialled: Group, others: readonly Group[]): readonly Group[] | undefined {
  const first = dialled.digits.startsWith('00') ? beyond(dialled, 2) : dialled;
  const [code] = COUNTRY.exec(first.digits) ?? [];
  if (code === undefined) return undefined;
  const country = { ...first, digits: code };
  const [zero, ...rest] = others;
  if (code !== first.digits) return [country, beyond(first, code.length), ...others];
  if (zero === undefined) return undefined;
  const isOmitted = zero.digits === '0' && zero.before.includes('(');
  return [country, ...(isOmitted ? rest : others)];
}

/** Returns the group without its first digits. */
function beyond(group: Group, count: number): Group {
  const units = (group.end - group.start) / group.digits.length;
  return { ...group, digits: group.digits.slice(count), before: '', start: group.start + count * units };
}
