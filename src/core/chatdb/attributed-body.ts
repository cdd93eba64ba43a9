import { archivedText } from './content/attributed-runs.ts';
import { RowBudget } from './content/row-budget.ts';
import { decodeText } from './content/stored-text.ts';
import { MAX_BLOB_BYTES, NEW, NIL, SIGNATURE, TWO_BYTES, Typedstream } from './content/typedstream.ts';

/**
 * Returns the text of an `attributedBody` blob: a typedstream or, rarely, a keyed archive. Parses a stream only up to
 * the text; `content/attributed-runs` also reads the runs that follow. Limits size, depth and steps. Returns undefined
 * if the text cannot be decoded, and never throws.
 */
export function decodeAttributedBody(blob: Uint8Array): string | undefined {
  if (blob.length < SIGNATURE.length || blob.length > MAX_BLOB_BYTES) return undefined;
  const bytes = Buffer.isBuffer(blob) ? blob : Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  const at = usualStart(bytes);
  const text = (at > 0 ? shortString(bytes, at) : undefined) ?? new Typedstream(bytes, new RowBudget(MAX_STEPS)).text();
  return text ?? archivedText(bytes, new RowBudget());
}

/**
 * The budget's steps for the text of a stream alone, because lists decode many. Real bodies need at most a dozen to
 * reach it.
 */
const MAX_STEPS = 500;

/** The two byte sequences with which nearly every body begins. The length of the text follows. */
const USUAL = ['NSMutable', 'NS'].map((kind) =>
  Buffer.concat([
    SIGNATURE,
    Buffer.from([NEW, 1, 0x40, NEW, NEW, NEW]),
    ...(kind === 'NS' ? [] : [name(`${kind}AttributedString`), Buffer.from([0, NEW, NEW])]),
    name('NSAttributedString'),
    Buffer.from([0, NEW, NEW]),
    name('NSObject'),
    Buffer.from([0, NIL, 0x92, NEW, NEW, NEW]),
    ...(kind === 'NS' ? [] : [name(`${kind}String`), Buffer.from([1, NEW, NEW])]),
    name('NSString'),
    Buffer.from([1, kind === 'NS' ? 0x94 : 0x95, NEW, 1, 0x2b]),
  ]),
);

function name(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);
}

function usualStart(bytes: Buffer): number {
  for (const usual of USUAL) {
    let at = 0;
    while (at < usual.length && bytes[at] === usual[at]) at += 1;
    if (at === usual.length) return at;
  }
  return 0;
}

function shortString(bytes: Buffer, at: number): string | undefined {
  let length = bytes[at] ?? NIL;
  let start = at + 1;
  if (length === TWO_BYTES && start + 2 <= bytes.length) {
    length = bytes.readUInt16LE(start);
    start += 2;
  } else if (length >= 0x80) return undefined;
  return start + length <= bytes.length ? decodeText(bytes, start, start + length) : undefined;
}
