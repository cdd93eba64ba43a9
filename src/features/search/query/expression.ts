import { conversationTag, HAS_ATTACHMENT, NO_TAG, senderTags } from '../index/document.ts';
import { soughtNumber } from '../index/numbers.ts';
import { isUnspaced, tokensOf } from '../index/tokens.ts';
import type { SearchQuery, SearchTerm } from '../types.ts';

/**
 * Maximum number of conversations that the FTS5 query lists as alternatives. FTS5 reads a list of documents for each
 * conversation: 3,000 took 0.2 s. For more conversations, the finder filters the hits instead.
 */
const MAX_ALTERNATIVES = 300;

/** Reports whether the index limits the hits to these conversations. For a longer list, the finder filters the hits. */
export function isAsked(conversations: readonly string[]): boolean {
  return conversations.length <= MAX_ALTERNATIVES;
}

/**
 * The alternatives that a term stands for: consecutive tokens, or one of several numbers. If `isBegun`, the last token
 * is the beginning of a word.
 */
export interface Sequence {
  readonly tokens: readonly string[];
  readonly isBegun: boolean;
  /** Tokens that `numbersIn` makes of numbers that are written differently. */
  readonly numbers: readonly string[];
  /** The beginning of such a token. */
  readonly begun?: string | undefined;
}

/**
 * Splits a term into tokens. Returns undefined for a term of punctuation only, which has no tokens. A number is found
 * in other groups of digits too, a decimal number in a word by its beginning.
 */
export function sequenceOf({ kind, text, number }: SearchTerm): Sequence | undefined {
  const tokens = tokensOf(text).map((token) => token.text);
  const last = tokens.at(-1);
  if (last === undefined) return undefined;
  if (kind === 'prefix') {
    const begun = tokens.length === 1 && /^\d+$/.test(last) ? last : undefined;
    return { tokens, isBegun: !isUnspaced(last), numbers: [], begun };
  }
  const { whole = [], begun } = soughtNumber(text) ?? {};
  const numbers = number === undefined ? whole : [...whole, ...(soughtNumber(number)?.whole ?? [])];
  return { tokens, isBegun: false, numbers, begun: kind === 'word' ? begun : undefined };
}

export function sequencesOf(terms: readonly SearchTerm[]): readonly Sequence[] {
  return terms.map(sequenceOf).filter((sequence) => sequence !== undefined);
}

export function excludedOf({ excluded }: SearchQuery): readonly Sequence[] {
  // Not as words, because a decimal number must not exclude those that begin with it.
  return sequencesOf(excluded.map((text) => ({ kind: 'phrase', text })));
}

/**
 * Returns the query in FTS5's language; undefined if the query limits nothing that the index knows. Every token becomes
 * a quoted string, so that nothing the user typed can be an operator. `wordsWith` returns the indexed words that start
 * with a prefix. The FTS5 query lists these words, because FTS5's own prefix search would read the hits of every such
 * word before returning its first hit.
 */
export function expressionOf(
  query: SearchQuery,
  wordsWith: (prefix: string) => readonly string[] | undefined = () => undefined,
): string | undefined {
  const begunWith = (prefix: string): string => {
    const words = wordsWith(prefix);
    return words === undefined ? quoted([prefix], true) : anyOf(words);
  };
  const sequence = ({ tokens, isBegun, numbers, begun }: Sequence): string => {
    const [only = '', ...others] = tokens;
    const alternatives = new Set([
      isBegun && others.length === 0 ? begunWith(only) : quoted(tokens, isBegun),
      ...numbers.map((number) => quoted([number])),
      ...(begun === undefined || begun === only ? [] : [begunWith(begun)]),
    ]);
    return alternatives.size === 1 ? [...alternatives].join('') : `(${[...alternatives].join(' OR ')})`;
  };
  const wanted = [
    ...sequencesOf(query.terms).map(sequence),
    ...query.conversations.filter(isAsked).map((ids) => anyOf(ids.map(conversationTag))),
    ...(query.senders.length > 0 ? [anyOf(query.senders.flatMap(senderTags))] : []),
    ...(query.hasAttachment ? [anyOf([HAS_ATTACHMENT])] : []),
  ];
  if (wanted.length === 0) return undefined;
  const excluded = excludedOf(query).map(sequence);
  const all = wanted.join(' AND ');
  return excluded.length === 0 ? all : `(${all}) NOT (${excluded.join(' OR ')})`;
}

function quoted(tokens: readonly string[], isBegun = false): string {
  return `"${tokens.join(' ')}"${isBegun ? ' *' : ''}`;
}

function anyOf(tags: readonly string[]): string {
  const alternatives = tags.length === 0 ? [NO_TAG] : new Set(tags);
  return `(${[...alternatives].map((tag) => `"${tag}"`).join(' OR ')})`;
}
