import type { Highlight } from '../../../core/model/search.ts';
import type { Sequence } from '../query/expression.ts';
import { isAscii, MAX_TOKEN, type Token, tokensOf } from './tokens.ts';

/** A sequence of tokens to look for. */
export interface Pattern extends Sequence {
  /** Finds the sequence in an ASCII text. Undefined if a token is not ASCII, because no ASCII text contains it. */
  readonly ascii: RegExp | undefined;
}

export function toPattern(sequence: Sequence): Pattern {
  const { tokens, isBegun } = sequence;
  if (!tokens.every(isAscii)) return { ...sequence, ascii: undefined };
  // A token of full length may have been cut, so the rest of a longer word may follow it.
  const words = tokens.map((token) => (token.length < MAX_TOKEN ? token : `${token}[a-z\\d]*`)).join('[^a-z\\d]+');
  return { ...sequence, ascii: new RegExp(`(?<![a-z\\d])${words}${isBegun ? '[a-z\\d]*' : '(?![a-z\\d])'}`, 'gi') };
}

/**
 * Finds several patterns in one text. Most texts are ASCII. In those, a regular expression finds the same matches in a
 * fraction of the time.
 */
export class SearchedText {
  readonly #text: string;
  readonly #isAscii: boolean;
  #tokens: readonly Token[] | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#isAscii = isAscii(text);
  }

  highlights(pattern: Pattern): readonly Highlight[] {
    if (this.#isAscii) return pattern.ascii === undefined ? [] : matchesOf(this.#text, pattern.ascii);
    this.#tokens ??= tokensOf(this.#text);
    return sequencesIn(this.#tokens, pattern);
  }
}

/** Returns all matches, including overlapping ones. */
function matchesOf(text: string, pattern: RegExp): readonly Highlight[] {
  const highlights: Highlight[] = [];
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    highlights.push([found.index, pattern.lastIndex]);
    pattern.lastIndex = found.index + 1;
  }
  return highlights;
}

function sequencesIn(text: readonly Token[], { tokens, isBegun }: Sequence): readonly Highlight[] {
  const found: Highlight[] = [];
  const [first = ''] = tokens;
  const lastAt = tokens.length - 1;
  for (let at = 0; at + lastAt < text.length; at += 1) {
    const start = text[at];
    const end = text[at + lastAt];
    if (start === undefined || end === undefined) break;
    if (lastAt > 0 && start.text !== first) continue;
    const last = tokens[lastAt] ?? '';
    if (!(isBegun ? end.text.startsWith(last) : end.text === last)) continue;
    if (tokens.every((token, step) => step === lastAt || text[at + step]?.text === token)) {
      found.push([start.start, end.end]);
    }
  }
  return found;
}
