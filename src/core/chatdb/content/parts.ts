import { type AddedToRun, type MessagePart, TEXT_STYLES, type TextRun } from '../../model/content.ts';
import type { RunDecoder } from '../decoder.ts';
import type { AttributedRun, AttributedText } from './attributed-runs.ts';
import { numberIn, present, textIn } from './members.ts';
import type { RowBudget } from './row-budget.ts';
import { type TypedDictionary, TypedUrl } from './typed-value.ts';

/** Names of text animations. Key: the number in `__kIMTextEffectAttributeName`. */
const ANIMATIONS: Readonly<Record<number, string>> = {
  4: 'ripple',
  5: 'big',
  6: 'bloom',
  8: 'nod',
  9: 'shake',
  10: 'jitter',
  11: 'small',
  12: 'explode',
};

const STYLE_KEYS = TEXT_STYLES.map(
  (style) => [style, `__kIMText${style[0]?.toUpperCase()}${style.slice(1)}AttributeName`] as const,
);
/** The attribute of a run that stands for an attachment: the attachment's guid. */
export const ATTACHMENT_GUID = '__kIMFileTransferGUIDAttributeName';
const PART = '__kIMMessagePartAttributeName';
/** Highest accepted part number: far more parts than Messages can send. */
const MAX_PART = 10_000;

/**
 * Converts the stored runs of a message's texts to the runs of the API. Each run spends its texts from the row's
 * budget, because runs can share attributes: one long address shared by thousands of runs would make a response of
 * gigabytes.
 */
export class RunReader {
  readonly #decoded = new Map<TypedDictionary, DecodedRun>();
  readonly #added: readonly ReturnType<RunDecoder>[];
  readonly #budget: RowBudget;

  constructor(budget: RowBudget, decoders: readonly RunDecoder[] = []) {
    this.#added = decoders.map((decoder) => decoder(budget));
    this.#budget = budget;
  }

  /** Splits a text into its parts. Consecutive runs with the same part number are one part. */
  parts({ text, runs = [] }: AttributedText): readonly MessagePart[] {
    const parts: { part: number; start: number; runs: TextRun[] }[] = [];
    for (const run of runs) {
      const current = parts.at(-1);
      const number = partNumber(run.attributes.get(PART)) ?? current?.part ?? 0;
      const part = current?.part === number ? current : { part: number, start: run.start, runs: [] };
      if (part !== current) parts.push(part);
      const read = this.#read(run, part.start);
      if (read !== undefined) part.runs.push(read);
    }
    if (parts.length === 0) return text === '' ? [] : [{ part: 0, text }];
    return parts.map(({ part, start, runs: decoded }, index) => ({
      part,
      // Text after the last run belongs to the last part.
      text: text.slice(start, parts[index + 1]?.start),
      ...(decoded.length > 0 && { runs: decoded }),
    }));
  }

  /** Returns the runs of a text that is a single part, such as an earlier version of an edited part. */
  runs({ runs = [] }: AttributedText): readonly TextRun[] {
    return runs.map((run) => this.#read(run, 0)).filter((run) => run !== undefined);
  }

  /**
   * Returns a run with offsets relative to `from`. Returns undefined if the API shows none of its attributes, or if
   * their texts exceed the budget.
   */
  #read({ start, end, attributes }: AttributedRun, from: number): TextRun | undefined {
    if (attributes.size === 0 || (attributes.size === 1 && attributes.has(PART))) return undefined;
    let decoded = this.#decoded.get(attributes);
    if (decoded === undefined) {
      decoded = decodedRun(attributes, this.#added);
      this.#decoded.set(attributes, decoded);
    }
    if (Object.keys(decoded.run).length === 0) return undefined;
    if (!this.#budget.spend('characters', decoded.characters)) return undefined;
    return { start: start - from, end: end - from, ...decoded.run };
  }
}

/** The decoded attributes of a run, and the sum of their lengths in characters. */
interface DecodedRun {
  readonly run: Omit<TextRun, 'start' | 'end'>;
  readonly characters: number;
}

/** Returns a stored part number; undefined if invalid. */
export function partNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_PART
    ? value
    : undefined;
}

/** Returns the URL if the whole text is one link, else undefined. */
export function onlyLinkOf({ text, runs = [] }: AttributedText): string | undefined {
  const [run, another] = runs;
  if (run === undefined || another !== undefined || run.start !== 0 || run.end !== text.length) return undefined;
  return linkOf(run.attributes);
}

function decodedRun(attributes: TypedDictionary, added: readonly ReturnType<RunDecoder>[]): DecodedRun {
  const styles = STYLE_KEYS.filter(([, key]) => attributes.get(key) === 1).map(([style]) => style);
  const effect = numberIn(attributes, '__kIMTextEffectAttributeName') ?? 0;
  const run = {
    ...(styles.length > 0 && { styles }),
    ...present({
      animation: effect === 0 ? undefined : (ANIMATIONS[effect] ?? `other:${effect}`),
      mention: textIn(attributes, '__kIMMentionConfirmedMention'),
      link: linkOf(attributes),
      code: codeOf(attributes),
      ...addedTo(attributes, added),
      attachment_guid: textIn(attributes, ATTACHMENT_GUID),
      name: textIn(attributes, '__kIMFilenameAttributeName'),
      width: sizeIn(attributes, '__kIMInlineMediaWidthAttributeName'),
      height: sizeIn(attributes, '__kIMInlineMediaHeightAttributeName'),
      inline: attributes.get('__kIMEmojiImageAttributeName') === 1 ? (true as const) : undefined,
      transcript: textIn(attributes, 'IMAudioTranscription'),
    }),
  };
  return { run, characters: charactersOf(run) };
}

/** Returns what features decode of a run. */
function addedTo(attributes: TypedDictionary, added: readonly ReturnType<RunDecoder>[]): AddedToRun {
  let members: AddedToRun = {};
  for (const read of added) members = { ...members, ...read(attributes) };
  return members;
}

function charactersOf(members: object): number {
  let sum = 0;
  for (const value of Object.values<unknown>(members as Readonly<Record<string, unknown>>)) {
    if (typeof value === 'string') sum += value.length;
    else if (typeof value === 'object' && value !== null) sum += charactersOf(value);
  }
  return sum;
}

function linkOf(attributes: TypedDictionary): string | undefined {
  const link = attributes.get('__kIMLinkAttributeName');
  return link instanceof TypedUrl && link.text !== '' ? link.text : undefined;
}

function codeOf(attributes: TypedDictionary): string | undefined {
  const code = attributes.get('__kIMOneTimeCodeAttributeName');
  return code instanceof Map ? (textIn(code, 'code') ?? textIn(code, 'displayCode')) : undefined;
}

function sizeIn(attributes: TypedDictionary, key: string): number | undefined {
  const size = numberIn(attributes, key);
  return size === undefined || size < 0 ? undefined : size;
}
