import type { PartEdits, Translation } from '../../../domain/content.ts';
import { readAttributedText } from './attributed-runs.ts';
import { readBinaryPlist } from './binary-plist.ts';
import { readKeyedArchive } from './keyed-archive.ts';
import { dictionaryIn, distinct, isList, isoAtSeconds, listIn, present, textIn } from './members.ts';
import { partNumber, RunReader } from './parts.ts';
import { MAX_BLOB_BYTES } from './typedstream.ts';

/**
 * The content of `message_summary_info`: edits and unsent parts (since macOS 13), and translations (since macOS 26).
 */
export interface SummaryInfo {
  readonly edits: readonly PartEdits[];
  readonly unsentParts: readonly number[];
  readonly translations: readonly Translation[];
}

/** Decodes a `message_summary_info` blob; returns undefined if it is not a property list with a dictionary. */
export function readSummaryInfo(blob: Uint8Array): SummaryInfo | undefined {
  const info = readBinaryPlist(blob);
  if (!(info instanceof Map)) return undefined;
  return {
    edits: editsIn(dictionaryIn(info, 'ec')),
    unsentParts: numbersOf(listIn(info, 'rp')),
    translations: translationsIn(info.get('tmp')),
  };
}

function numbersOf(values: readonly unknown[]): readonly number[] {
  return distinct(values.map(partNumber).filter((number) => number !== undefined)).toSorted((a, b) => a - b);
}

/** Returns each edited part with its texts, from the original to the current one. Ordered by part number. */
function editsIn(stored: ReadonlyMap<string, unknown>): readonly PartEdits[] {
  // The total size of the entries is limited too, because several entries can refer to one blob.
  let bytesLeft = MAX_BLOB_BYTES;
  const reader = new RunReader();
  const readText = (blob: unknown): Pick<PartEdits['history'][number], 'text' | 'runs'> => {
    if (!(blob instanceof Uint8Array) || blob.length > bytesLeft) return { text: null };
    bytesLeft -= blob.length;
    const read = readAttributedText(blob);
    if (read === undefined) return { text: null };
    const runs = reader.runs(read);
    return { text: read.text, ...(runs.length > 0 && { runs }) };
  };
  return [...stored]
    .map(([key, entries]) => ({ part: /^\d{1,5}$/.test(key) ? partNumber(Number(key)) : undefined, entries }))
    .flatMap(({ part, entries }) => {
      const list = isList(entries) ? entries.filter((one) => one instanceof Map).slice(0, MAX_TEXTS) : [];
      if (part === undefined || list.length === 0) return [];
      return [{ part, history: list.map((one) => ({ ...timeOf(one.get('d')), ...readText(one.get('t')) })) }];
    })
    .slice(0, MAX_TEXTS)
    .toSorted((one, other) => one.part - other.part);
}

/** Maximum number of edited parts, and of texts per part. Messages allows five edits. */
const MAX_TEXTS = 200;

function timeOf(seconds: unknown): { readonly at?: string } {
  const at = isoAtSeconds(typeof seconds === 'number' ? seconds : undefined);
  return at === undefined ? {} : { at };
}

/** Returns the translations in a keyed archive, which lists them by part number. */
function translationsIn(blob: unknown): readonly Translation[] {
  const archive = blob instanceof Uint8Array ? readKeyedArchive(blob) : undefined;
  let charactersLeft = MAX_BLOB_BYTES;
  return [...dictionaryIn(archive)].flatMap(([key, list]) => {
    const part = /^\d{1,5}$/.test(key) ? partNumber(Number(key)) : undefined;
    if (part === undefined || !isList(list)) return [];
    return list.flatMap((one): readonly Translation[] => {
      const translation = dictionaryIn(one);
      const stored = translation.get('translatedText');
      const text = typeof stored === 'string' ? stored : textIn(dictionaryIn(stored), 'NSString');
      charactersLeft -= text?.length ?? 0;
      if (text === undefined || charactersLeft < 0) return [];
      const language = textIn(translation, 'translationLanguage');
      const source = textIn(translation, 'sourceLanguage');
      const languages = present({ language, source_language: source });
      return [{ part, text: text.replaceAll('\uFFFC', ''), ...languages }];
    });
  });
}
