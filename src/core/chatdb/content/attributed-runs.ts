import { readKeyedArchive } from './keyed-archive.ts';
import type { RowBudget } from './row-budget.ts';
import type { TypedDictionary, TypedValue } from './typed-value.ts';
import { MAX_BLOB_BYTES, SIGNATURE, Typedstream } from './typedstream.ts';

/** A range of text with the same attributes: UTF-16 offsets, the end exclusive. */
export interface AttributedRun {
  readonly start: number;
  readonly end: number;
  readonly attributes: TypedDictionary;
}

export interface AttributedText {
  readonly text: string;
  /** Undefined if only the text is readable. */
  readonly runs: readonly AttributedRun[] | undefined;
}

const NO_ATTRIBUTES: TypedDictionary = new Map();

/**
 * Returns the text of an attributed string and its runs; undefined if not even the text is readable. Never throws. An
 * ordinary body takes up to 568 steps of the budget. Of a keyed archive, returns only the text.
 */
export function readAttributedText(blob: Uint8Array, budget: RowBudget): AttributedText | undefined {
  if (blob.length < SIGNATURE.length || blob.length > MAX_BLOB_BYTES || !budget.open(blob)) return undefined;
  const bytes = Buffer.isBuffer(blob) ? blob : Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  const { text, values } = new Typedstream(bytes, budget).values();
  if (text !== undefined) return { text, runs: values && runsOf(text, values) };
  const archived = archivedText(blob, budget);
  return archived === undefined ? undefined : { text: archived, runs: undefined };
}

/** Returns the text of an attributed string in a keyed archive; undefined for any other blob. Never throws. */
export function archivedText(blob: Uint8Array, budget: RowBudget): string | undefined {
  const root = readKeyedArchive(blob, budget);
  const text: unknown = root instanceof Map ? root.get('NSString') : undefined;
  return typeof text === 'string' ? text : undefined;
}

/**
 * Pairs the runs with their attributes. Each run is stored as the number of an attribute set and the run's length. The
 * first run with a number is followed by the set itself. A run that ends beyond the text is cut.
 */
function runsOf(text: string, values: readonly TypedValue[]): readonly AttributedRun[] {
  const known = new Map<number, TypedDictionary>();
  const runs: AttributedRun[] = [];
  let start = 0;
  for (let at = 1; at < values.length; ) {
    const [number, length, given] = [values[at], values[at + 1], values[at + 2]];
    // Stops at the first value that is not a run. This version of Postern does not decode such values.
    if (typeof number !== 'number' || typeof length !== 'number') break;
    const isGiven = given instanceof Map;
    if (isGiven) known.set(number, given);
    at += isGiven ? 3 : 2;
    // The length is an unsigned 32-bit number, but the typedstream reader decoded it as a signed one.
    const end = Math.min(start + (length < 0 ? length + 2 ** 32 : length), text.length);
    if (!(end > start)) continue;
    runs.push({ start, end, attributes: known.get(number) ?? NO_ATTRIBUTES });
    start = end;
  }
  return runs;
}
