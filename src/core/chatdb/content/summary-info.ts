import type { PartEdits, Translation } from '../../model/content.ts';
import type { RunDecoder } from '../decoder.ts';
import { type AttributedText, readAttributedText } from './attributed-runs.ts';
import { readBinaryPlist } from './binary-plist.ts';
import { readKeyedArchive } from './keyed-archive.ts';
import { dictionaryIn, distinct, isList, isoAtSeconds, listIn, present, textIn } from './members.ts';
import { partNumber, RunReader } from './parts.ts';
import type { RowBudget } from './row-budget.ts';

/**
 * The content of `message_summary_info`: edits and unsent parts (since macOS 13), and translations (since macOS 26).
 */
export interface SummaryInfo {
  readonly edits: readonly PartEdits[];
  readonly unsentParts: readonly number[];
  readonly translations: readonly Translation[];
}

/** Decodes a `message_summary_info` blob; returns undefined if it is not a property list with a dictionary. */
export function readSummaryInfo(
  blob: Uint8Array,
  budget: RowBudget,
  decoders?: readonly RunDecoder[],
): SummaryInfo | undefined {
  const info = readBinaryPlist(blob, budget);
  if (!(info instanceof Map)) return undefined;
  return {
    edits: editsIn(dictionaryIn(info, 'ec'), budget, new RunReader(budget, decoders)),
    unsentParts: numbersOf(listIn(info, 'rp')),
    translations: translationsIn(info.get('tmp'), budget),
  };
}

type Version = Pick<PartEdits['history'][number], 'text' | 'runs'> & Pick<PartEdits, 'part'>;

/** Returns the last version of each part that was edited and is not unsent. `text` is null if it is unreadable. */
export function newestVersions({ edits = [], unsentParts = [] }: Partial<SummaryInfo> = {}): readonly Version[] {
  return edits.flatMap(({ part, history }) => {
    const { text = null, runs } = history.at(-1) ?? {};
    return unsentParts.includes(part) ? [] : [{ part, text, ...(runs && { runs }) }];
  });
}

function numbersOf(values: readonly unknown[]): readonly number[] {
  return distinct(values.map(partNumber).filter((number) => number !== undefined)).toSorted((a, b) => a - b);
}

/** Returns each edited part with its texts, from the original to the current one. Ordered by part number. */
function editsIn(stored: ReadonlyMap<string, unknown>, budget: RowBudget, reader: RunReader): readonly PartEdits[] {
  // Several entries can refer to one blob.
  const known = new Map<Uint8Array, AttributedText | undefined>();
  const readText = (blob: unknown): Pick<PartEdits['history'][number], 'text' | 'runs'> => {
    if (!(blob instanceof Uint8Array)) return { text: null };
    if (!known.has(blob)) known.set(blob, readAttributedText(blob, budget));
    const read = known.get(blob);
    if (read === undefined || budget.shown(read.text) === undefined) return { text: null };
    const runs = reader.runs(read);
    return { text: read.text, ...(runs.length > 0 && { runs }) };
  };
  return [...stored]
    .map(([key, entries]) => ({ part: /^\d{1,5}$/.test(key) ? partNumber(Number(key)) : undefined, entries }))
    .flatMap(({ part, entries }) => {
      const list = isList(entries) ? budget.items(entries).filter((one) => one instanceof Map) : [];
      if (part === undefined || list.length === 0) return [];
      return [{ part, history: list.map((one) => ({ ...timeOf(one.get('d')), ...readText(one.get('t')) })) }];
    })
    .toSorted((one, other) => one.part - other.part);
}

function timeOf(seconds: unknown): { readonly at?: string } {
  const at = isoAtSeconds(typeof seconds === 'number' ? seconds : undefined);
  return at === undefined ? {} : { at };
}

/** Returns the translations in a keyed archive, which lists them by part number. */
function translationsIn(blob: unknown, budget: RowBudget): readonly Translation[] {
  const archive = blob instanceof Uint8Array ? readKeyedArchive(blob, budget) : undefined;
  return [...dictionaryIn(archive)].flatMap(([key, list]) => {
    const part = /^\d{1,5}$/.test(key) ? partNumber(Number(key)) : undefined;
    if (part === undefined || !isList(list)) return [];
    return budget.items(list).flatMap((one): readonly Translation[] => {
      const translation = dictionaryIn(one);
      const stored = translation.get('translatedText');
      const text = budget.shown(typeof stored === 'string' ? stored : textIn(dictionaryIn(stored), 'NSString'));
      if (text === undefined) return [];
      const language = budget.textIn(translation, 'translationLanguage');
      const source = budget.textIn(translation, 'sourceLanguage');
      const languages = present({ language, source_language: source });
      return [{ part, text: text.replaceAll('\uFFFC', ''), ...languages }];
    });
  });
}
