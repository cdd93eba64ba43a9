import { dayStartMs } from '../../../core/model/day-start.ts';
import { NS_PER_MS } from '../../../core/model/durations.ts';
import type { Mistake } from '../../../core/model/errors.ts';
import { lookupTable } from '../../../core/model/lookup-table.ts';
import { trimmedEnd } from '../../../core/model/text.ts';
import { parseInstant } from '../../../core/schema/instant.ts';
import { MAX_SEARCH_CHARACTERS, type SearchTerm } from '../types.ts';
import { meantFilter } from './meant-filter.ts';

/** A typed value of `from:` or `in:`, not looked up yet. */
export interface TypedName {
  readonly text: string;
  /** Position of the filter in the query, in characters. The first character is 1. */
  readonly at: number;
}

/** A parsed search. Names in it are still as typed, and are looked up later (decision J2). */
export interface TypedSearch {
  readonly terms: readonly SearchTerm[];
  readonly excluded: readonly string[];
  readonly from: readonly TypedName[];
  readonly in: readonly TypedName[];
  readonly hasAttachment: boolean;
  /** The time range from `after:` (inclusive) to `before:` (exclusive), in nanoseconds since the Unix epoch. */
  readonly afterNs: bigint | undefined;
  readonly beforeNs: bigint | undefined;
  /** Every mistake, in the order of the text. */
  readonly mistakes: readonly Mistake[];
}

const MAX_PARTS = 16;
const MIN_PREFIX_LETTERS = 3;
/** Quotation marks: the straight one, and the curly ones that a phone types instead. */
const QUOTE = '"\u201c\u201d\u201e';
const PART = new RegExp(
  `(?<minus>-?)(?:(?<key>from|in|has|before|after):)?(?:[${QUOTE}](?<quoted>[^${QUOTE}]*)(?<end>[${QUOTE}]?)|(?<bare>\\S*))`,
  'iuy',
);
/** Matches a character that the index has: a letter, a digit, or a symbol such as an emoji. */
const SEARCHABLE = /[\p{L}\p{N}\p{So}\p{Extended_Pictographic}]/u;
/**
 * Matches a text that ends in a script without spaces. A word may end after any character there, so searching for the
 * text as a prefix is the same as searching for it as a word.
 */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]\p{M}*$/u;
const LETTERS = /[\p{L}\p{N}]/gu;
/** Control characters and lone surrogates, which a query may contain but the index does not. They count as spaces. */
const UNSEARCHABLE = /[\p{Cc}\p{Surrogate}]/gu;

/** Matches a word that may be one group of digits of a number, such as `(555)`. */
const DIGIT_GROUP = /^[+(]{0,2}\p{Nd}[\p{Nd}().,'/\-\u2010-\u2015\u2212]*$/u;

export interface SearchScope {
  /** True if the search already concerns one conversation, so that it may consist of exclusions only. */
  readonly isScoped?: boolean;
  /** The time zone in which the days of `after:` and `before:` begin. */
  readonly timeZone?: string | undefined;
}

/** Parses a search. Never throws: mistakes are in `mistakes`. */
export function parseSearch(text: string, { isScoped = false, timeZone = 'UTC' }: SearchScope = {}): TypedSearch {
  const parser = new SearchParser(text.replace(UNSEARCHABLE, ' '), timeZone);
  const length = [...text].length;
  if (length > MAX_SEARCH_CHARACTERS) {
    parser.refuse(`The query has ${length} characters; at most ${MAX_SEARCH_CHARACTERS} are allowed.`);
  } else {
    parser.parse(isScoped);
  }
  return parser;
}

class SearchParser implements TypedSearch {
  readonly terms: SearchTerm[] = [];
  readonly excluded: string[] = [];
  readonly from: TypedName[] = [];
  readonly in: TypedName[] = [];
  readonly mistakes: Mistake[] = [];
  hasAttachment = false;
  afterNs: bigint | undefined;
  beforeNs: bigint | undefined;
  readonly #text: string;
  readonly #timeZone: string;
  #parts = 0;
  /** Positions in `terms` of the groups of digits that were just read one after the other. */
  #groups: number[] = [];
  /** Key: `after` or `before`. Value: the filter's position in the query. Each filter may occur only once. */
  readonly #filters = new Map<string, number>();

  constructor(text: string, timeZone: string) {
    this.#text = text;
    this.#timeZone = timeZone;
  }

  refuse(message: string, at?: number): void {
    this.mistakes.push({ pointer: '?q', message: at === undefined ? message : `At character ${at}: ${message}` });
  }

  parse(isScoped: boolean): void {
    const text = this.#text;
    for (let index = skipSpace(text, 0); index < text.length; index = skipSpace(text, PART.lastIndex)) {
      PART.lastIndex = index;
      const { minus = '', key, quoted, end, bare = '' } = PART.exec(text)?.groups ?? {};
      const at = [...text.slice(0, index)].length + 1;
      const given = text.slice(index, PART.lastIndex);
      const isGroup = key === undefined && quoted === undefined && minus === '' && DIGIT_GROUP.test(bare);
      if (!isGroup) this.#endNumber();
      if (quoted !== undefined && end === '') this.refuse('the quotation mark is not closed.', at);
      else if (minus !== '' && (key !== undefined || quoted !== undefined)) {
        this.refuse(`only single words can be excluded, not ${shown(given)}.`, at);
      } else if (key !== undefined) this.#filter(key.toLowerCase(), (quoted ?? bare).trim(), at, given);
      else if (quoted !== undefined) this.#phrase(quoted);
      else if (this.#isMisspelled(bare, at, given)) continue;
      else if (minus !== '') this.#exclude(bare, at, given);
      else if (isGroup) this.#groups.push(this.terms.push({ kind: 'word', text: bare }) - 1);
      else this.#word(bare, at);
    }
    this.#endNumber();
    if (this.#parts > MAX_PARTS) {
      this.refuse(`The query has ${this.#parts} words and filters; at most ${MAX_PARTS} are allowed.`);
    }
    if (this.mistakes.length === 0) this.#checkThatSomethingIsWanted(isScoped);
  }

  /** Notes in consecutive groups of digits that they may be one number. */
  #endNumber(): void {
    const groups = this.#groups;
    this.#groups = [];
    this.#parts += groups.length;
    if (groups.length < 2) return;
    const number = groups.map((at) => this.terms[at]?.text).join(' ');
    for (const at of groups) this.terms[at] = { kind: 'word', text: '', ...this.terms[at], number };
  }

  #isMisspelled(word: string, at: number, given: string): boolean {
    const meant = meantFilter(word);
    if (meant === undefined) return false;
    this.refuse(
      `${shown(given)} has no known filter. Did you mean ${meant}:? To search for the text, put it in quotation marks.`,
      at,
    );
    return true;
  }

  #word(text: string, at: number): void {
    const word = trimmedEnd(text, /\*/);
    if (word === text || UNSPACED.test(word)) {
      if (SEARCHABLE.test(word)) this.#add({ kind: 'word', text: word });
    } else if ((word.match(LETTERS)?.length ?? 0) < MIN_PREFIX_LETTERS) {
      this.refuse(`${shown(text)} is too short: at least ${MIN_PREFIX_LETTERS} letters must precede the *.`, at);
    } else {
      this.#add({ kind: 'prefix', text: word });
    }
  }

  #phrase(quoted: string): void {
    const words = quoted.split(/\s+/u).filter((word) => SEARCHABLE.test(word));
    if (words.length > 0) this.#add({ kind: 'phrase', text: words.join(' ') }, words.length);
  }

  #add(term: SearchTerm, parts = 1): void {
    this.#parts += parts;
    this.terms.push(term);
  }

  #exclude(word: string, at: number, given: string): void {
    if (!SEARCHABLE.test(word)) return;
    if (word.endsWith('*')) this.refuse(`only whole words can be excluded, not ${shown(given)}.`, at);
    this.#parts += 1;
    this.excluded.push(word);
  }

  #filter(key: string, value: string, at: number, given: string): void {
    this.#parts += 1;
    if (value === '') {
      this.refuse(`${key}: has no value. Write it without a space, as in ${EXAMPLES[key]}.`, at);
    } else if (key === 'from' || key === 'in') {
      this[key].push({ text: value, at });
    } else if (key === 'has') {
      if (value.toLowerCase() === 'attachment') this.hasAttachment = true;
      else this.refuse(`${shown(given)} is not a known filter. The only one with has: is has:attachment.`, at);
    } else {
      this.#date(key as 'after' | 'before', value, at, given);
    }
  }

  #date(key: 'after' | 'before', value: string, at: number, given: string): void {
    const isDay = /^\d{4}-\d{2}-\d{2}$/u.test(value) && parseInstant(value) !== undefined;
    const isSecond = this.#filters.has(key);
    this.#filters.set(key, at);
    if (!isDay) this.refuse(`${shown(given)} has no valid date; write it as in ${EXAMPLES[key]}.`, at);
    else if (isSecond) this.refuse(`${key}: is given twice.`, at);
    else {
      this[`${key}Ns`] = BigInt(dayStartMs(value, this.#timeZone)) * NS_PER_MS;
      const { afterNs, beforeNs } = this;
      if (afterNs !== undefined && beforeNs !== undefined && beforeNs <= afterNs) {
        this.refuse('the date in before: must be later than the date in after:.', at);
      }
    }
  }

  #checkThatSomethingIsWanted(isScoped: boolean): void {
    const hasDates = this.afterNs !== undefined || this.beforeNs !== undefined;
    if (this.terms.length + this.from.length + this.in.length > 0 || this.hasAttachment) return;
    if (this.excluded.length > 0) {
      if (!isScoped) this.refuse('The query contains only exclusions. Add a word, from:, in: or has:attachment.');
    } else if (!hasDates) {
      this.refuse('The query is empty: there is no word, number or symbol in it to search for.');
    }
  }
}

const EXAMPLES: Readonly<Record<string, string>> = lookupTable({
  from: 'from:me',
  in: 'in:"Book club"',
  has: 'has:attachment',
  after: 'after:2026-01-31',
  before: 'before:2026-01-31',
});

function skipSpace(text: string, from: number): number {
  let index = from;
  while (/\s/u.test(text.charAt(index))) index += 1;
  return index;
}

/** Returns the typed text for use in a sentence, cut to 40 characters. */
function shown(text: string): string {
  const characters = [...text];
  return characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : text;
}
