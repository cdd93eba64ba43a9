import { describe, expect, test } from '@jest/globals';
import { decodeAttributedBody } from '../../src/core/chatdb/attributed-body.ts';
import { readBinaryPlist } from '../../src/core/chatdb/content/binary-plist.ts';
import { RowBudget } from '../../src/core/chatdb/content/row-budget.ts';
import { MAX_BLOB_BYTES } from '../../src/core/chatdb/content/typedstream.ts';
import { stickerEffectOf, stickerOf } from '../../src/features/content/sticker.ts';
import { transcriptOf } from '../../src/features/content/transcript.ts';
import { contactOf, locationOf } from '../../src/features/content/vcard.ts';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { isLong } from '../support/conditions.ts';
import { type ContentVector, contentVectors, storedValue } from '../support/content-vectors.ts';
import { decodeWhole, type WholeRow } from '../support/decoded-row.ts';
import { processorMs, slowness } from '../support/processor-time.ts';
import { seedOfForm } from '../support/seed.ts';

type Stored = Readonly<Record<string, ReturnType<typeof storedValue>>>;

/** Returns a vector's row with its blobs as read from chat.db. */
function rowOf(stored: Stored): WholeRow {
  const value = (name: string) => stored[name] ?? null;
  const text = (name: string): string => (typeof value(name) === 'string' ? String(value(name)) : '');
  const blob = (name: string) => {
    const found = value(name);
    if (!(found instanceof Uint8Array)) return undefined;
    return found.length > MAX_BLOB_BYTES ? 'too_large' : found;
  };
  const isEmpty = text('text') === '' && blob('attributedBody') === undefined;
  return {
    guid: text('guid'),
    text: text('text'),
    attributedBody: blob('attributedBody'),
    summaryInfo: blob('message_summary_info'),
    payload: blob('payload_data'),
    balloon: text('balloon_bundle_id'),
    associatedGuid: text('associated_message_guid').replace(/^(?:p:-?\d+\/|bp:)/, ''),
    isVote: value('associated_message_type') === 4000,
    isUnsent:
      Boolean(value('date_retracted')) || (Boolean(value('date_edited')) && isEmpty && value('part_count') !== 1),
  };
}

/** Members of `details` that come from the blobs of a message. */
const DECODED = [
  'parts',
  'mentions',
  'edits',
  'unsent_parts',
  'translations',
  'transcript',
  'link',
  'app',
  'poll_update',
  'poll_vote',
  'handwriting',
  'digital_touch',
  'undecoded',
];
const picked = (members: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(DECODED.filter((name) => name in members).map((name) => [name, members[name]]));

const isOfAttachment = ({ columns }: ContentVector): boolean =>
  ['is_sticker', 'file', 'user_info'].some((name) => name in columns);
const ofMessages = contentVectors.filter((vector) => !isOfAttachment(vector));
const ofAttachments = contentVectors.filter(isOfAttachment);

describe('the content of a row', () => {
  test.each(ofMessages)('$kind: $name', ({ columns, expect: expected, text }) => {
    const { kind, content } = decodeWhole(rowOf(storedRow(columns)));
    expect(picked(content as Record<string, unknown>)).toEqual(picked(expected));
    if (columns.item_type === undefined || columns.item_type === 0) expect(kind).toBe(expected.kind);
    const body = storedValue(columns.attributedBody);
    if (body instanceof Uint8Array && text !== undefined) {
      const decoded = decodeAttributedBody(body) ?? null;
      if (typeof text === 'object' && text !== null) expect(decoded).toHaveLength(text.length);
      else expect(decoded).toBe(text);
    }
  });

  test.each(ofAttachments)('of an attachment: $name', ({ columns, expect: expected }) => {
    const told = attachmentContent(storedRow(columns));
    const { kind: _, ...wanted } = expected;
    expect(told).toEqual(wanted);
  });
});

function attachmentContent(columns: Stored) {
  const info = columns.user_info;
  const transcript = info instanceof Uint8Array ? transcriptOf(info, new RowBudget()) : undefined;
  const { file } = columns;
  const bytes = file instanceof Uint8Array ? file : undefined;
  const card = bytes === undefined ? '' : Buffer.from(bytes).toString('utf8');
  const contact = columns.mime_type === 'text/vcard' ? contactOf(card) : undefined;
  const location = columns.mime_type === 'text/x-vlocation' ? locationOf(card) : undefined;
  return {
    ...(transcript !== undefined && { transcript }),
    ...(columns.is_sticker === 1 && stickerContent(columns, bytes)),
    ...(contact && { contact }),
    ...(location && { location }),
  };
}

function stickerContent(columns: Stored, file: Uint8Array | undefined) {
  const blob = (name: string) => (columns[name] instanceof Uint8Array ? columns[name] : undefined);
  const stored = {
    userInfo: blob('sticker_user_info'),
    attribution: blob('attribution_info'),
    description: columns.emoji_image_short_description as string | undefined,
  };
  const sticker = stickerOf(stored, new RowBudget());
  const effect = sticker?.source === 'user' && file ? stickerEffectOf(file) : undefined;
  return {
    sticker: { ...sticker, ...(effect !== undefined && { effect }) },
    ...(sticker === undefined && { undecoded: ['sticker_user_info'] }),
  };
}

test('what many runs share is shown for as many runs as the budget of the row allows', () => {
  const runs = Array.from({ length: 5000 }, () => ({ length: 1, attributes: MENTION }));
  const body = encodeAttributedBody('x'.repeat(5000), runs);
  const { content } = decodeWhole({ ...rowOf({}), attributedBody: body });
  expect(content.parts?.[0]?.runs).toHaveLength(31);
  expect(content.undecoded).toEqual(['attributedBody']);
});

const MENTION = { __kIMMentionConfirmedMention: `${'a'.repeat(2000)}@example.org`, __kIMMessagePartAttributeName: 0 };

/** Returns a property list of these objects, the first of which is the root. */
function plistOf(objects: readonly Buffer[]): Buffer {
  const offsets = Buffer.alloc(4 * objects.length);
  let at = 8;
  for (const [number, object] of objects.entries()) {
    offsets.writeUInt32BE(at, 4 * number);
    at += object.length;
  }
  const trailer = Buffer.alloc(32);
  trailer.set([4, 2], 6);
  trailer.writeBigUInt64BE(BigInt(objects.length), 8);
  trailer.writeBigUInt64BE(BigInt(at), 24);
  return Buffer.concat([Buffer.from('bplist00'), ...objects, offsets, trailer]);
}

describe('a property list', () => {
  test('whose lists each name the next one twice is read once', () => {
    const lists = Array.from({ length: 60 }, (_, at) => Buffer.from([0xa2, 0, at + 1, 0, at + 1]));
    expect(Array.isArray(readBinaryPlist(plistOf([...lists, Buffer.from([0x09])]), new RowBudget()))).toBe(true);
  });

  test('whose objects all lie on one long text is refused', () => {
    const long = Buffer.concat([Buffer.from([0x5f, 0x12, 0, 4, 0, 0]), Buffer.alloc(262_144, 0x61)]);
    const list = Buffer.from([0xa5, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5]);
    const file = plistOf([list, long, list, list, list, list]);
    const offsets = file.length - 32 - 4 * 6;
    for (let object = 2; object < 6; object += 1) file.writeUInt32BE(8 + list.length, offsets + 4 * object);
    expect(readBinaryPlist(file, new RowBudget())).toBeUndefined();
  });
});

/** Milliseconds of processor time that any row may cost. */
const BOUND_MS = 50;
const ROWS = isLong ? 1_000_000 : 20_000;
/** Share of large rows, which cost a hundred times as much. */
const LARGE_SHARE = 0.002;
const SMALL_BYTES = 8192;

test(
  'no row, however it is broken, throws or costs more than 50 ms',
  () => {
    const chance = new Chance(seedOfForm('mutated rows', 29));
    const rows = contentVectors.map(({ name, columns }) => ({ name, stored: storedRow(columns) }));
    const small = rows.filter(({ stored }) => bytesOf(stored) <= SMALL_BYTES);
    const large = rows.filter(({ stored }) => bytesOf(stored) > SMALL_BYTES);
    const failures: string[] = [];
    for (let row = 0; row < ROWS; row += 1) {
      const rowsOfSize = chance.in(LARGE_SHARE) ? large : small;
      const { name, stored } = rowsOfSize[chance.below(rowsOfSize.length)] ?? never();
      const mutated = mutatedRow(stored, chance);
      const cost = (): number => {
        const startMs = processorMs();
        mutated();
        return processorMs() - startMs;
      };
      let ms = cost();
      // Garbage collection counts too, so a high cost is measured again and corrected by this machine's speed.
      for (let again = 0; again < 3 && ms > BOUND_MS; again += 1) {
        const slower = slowness();
        ms = Math.min(ms, cost() / slower);
      }
      if (ms > BOUND_MS) failures.push(`row ${row}, ${name}: ${ms.toFixed(0)} ms`);
    }
    expect(failures).toEqual([]);
  },
  isLong ? 3_600_000 : 60_000,
);

/** Reads everything of a row after some bytes of its blobs were changed, removed or repeated. */
function mutatedRow(stored: Stored, chance: Chance): () => void {
  const mutated = Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? mutatedBlob(value, chance) : value,
    ]),
  );
  return () => {
    decodeWhole(rowOf(mutated));
    attachmentContent({ is_sticker: 1, ...mutated });
  };
}

const INTERESTING = [0x00, 0x01, 0x7f, 0x80, 0x81, 0x82, 0x84, 0x85, 0x86, 0x92, 0xa2, 0xaf, 0xd1, 0xdf, 0xff] as const;

function mutatedBlob(blob: Buffer, chance: Chance): Buffer {
  const mutated = Buffer.from(blob);
  if (mutated.length === 0) return mutated;
  for (let changes = 1 + chance.below(8); changes > 0; changes -= 1) {
    mutated[chance.below(mutated.length)] = chance.in(0.5) ? chance.of(INTERESTING) : chance.below(256);
  }
  const at = chance.below(mutated.length);
  if (chance.in(0.1)) return mutated.subarray(0, at);
  if (chance.in(0.1)) mutated.copyWithin(at, chance.below(mutated.length));
  return mutated;
}

function storedRow(columns: ContentVector['columns']): Stored {
  return Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, storedValue(value)]));
}

function bytesOf(stored: Stored): number {
  const blobs = Object.values(stored);
  return blobs.reduce<number>((sum, blob) => sum + (blob instanceof Uint8Array ? blob.length : 0), 0);
}

function never(): never {
  throw new Error('there is no such row');
}
