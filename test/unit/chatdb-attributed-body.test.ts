import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeAttributedBody } from '../../src/core/chatdb/attributed-body.ts';
import { readAttributedText } from '../../src/core/chatdb/content/attributed-runs.ts';
import { RunReader } from '../../src/core/chatdb/content/parts.ts';
import { RowBudget } from '../../src/core/chatdb/content/row-budget.ts';
import { MAX_BLOB_BYTES, SIGNATURE, Typedstream } from '../../src/core/chatdb/content/typedstream.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { isLong } from '../support/conditions.ts';
import { craftedArchive, members, Uid } from '../support/crafted-archives.ts';

type Vector = { readonly name: string; readonly text: string; readonly hex: string };
const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../support/${name}.json`, import.meta.url), 'utf8')) as readonly Vector[];
const vectors = read('typedstream-vectors');
const variants = read('typedstream-variants');
const blobs = vectors.map(({ hex }) => Buffer.from(hex, 'hex'));

/** Returns an attributedBody whose text has these bytes. */
function bodyOf(bytes: Buffer): Buffer {
  const body = Buffer.from(encodeAttributedBody('x'.repeat(bytes.length)));
  bytes.copy(body, body.indexOf('xx'));
  return body;
}

describe('the attributedBody decoder', () => {
  test.each(vectors)('reads $name exactly', ({ text, hex }) => {
    expect(decodeAttributedBody(Buffer.from(hex, 'hex'))).toBe(text);
    expect(decodeAttributedBody(Uint8Array.from(Buffer.from(hex, 'hex')))).toBe(text);
  });

  test('reads any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (text) => {
        const stored = Buffer.from(text, 'utf8').toString('utf8');
        expect(decodeAttributedBody(encodeAttributedBody(text))).toBe(stored);
      }),
    );
  });

  // Other class chains move the references: the string is found by the structure, not at a fixed place.
  test.each(variants)('reads $name', ({ text, hex }) => {
    expect(decodeAttributedBody(Buffer.from(hex, 'hex'))).toBe(text);
  });

  const swapped = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
  const little = (text: string): Buffer => Buffer.from(text, 'utf16le');

  describe.each(['Grüße, Zoë', 'Привет, мир', 'price: 5 € or £4', 'שלום עולם', 'ok 👍 ok', 'a 漢字 in words'])(
    'reads %j in UTF-16',
    (text) => {
      test.each([
        ['with its mark, lowest byte first', little(`\uFEFF${text}`)],
        ['with its mark, highest byte first', swapped(`\uFEFF${text}`)],
        ['without a mark, lowest byte first', little(text)],
        ['without a mark, highest byte first', swapped(text)],
      ])('%s', (_, bytes) => {
        expect(decodeAttributedBody(bodyOf(bytes))).toBe(text);
      });
    },
  );

  test('reads text in UTF-16 without the half of a letter at its end', () => {
    expect(decodeAttributedBody(bodyOf(Buffer.concat([swapped('\uFEFFab'), Buffer.of(0)])))).toBe('ab');
  });

  test.each(['\0leading', 'two\0\0zeros', 'מה\0', 'ab\0\x01', '\uFFFDשלום'])('reads %j in UTF-8', (text) => {
    expect(decodeAttributedBody(bodyOf(Buffer.from(text)))).toBe(text);
  });

  describe.each(['Hello', 'Grüße, Zoë 👍', ''])('reads %j in a keyed archive', (text) => {
    const attributes = members({ NSAttributes: new Uid(3) });
    test.each([
      ['as a text', [new Map([...attributes, ['NSString', new Uid(2)]]), text, new Map()]],
      ['as an object', [new Map([...attributes, ['NSString', new Uid(2)]]), members({ 'NS.string': text }), new Map()]],
    ])('%s', (_, objects) => {
      const archive = craftedArchive(objects);
      expect(decodeAttributedBody(archive)).toBe(text);
      expect(readAttributedText(archive, new RowBudget())).toEqual({ text, runs: undefined });
      expect(readAttributedText(archive, new RowBudget(5))).toBeUndefined();
    });
  });

  /** Reads an array whose items have these types and bytes. */
  const itemsOf = (types: string, items: Buffer) => {
    const head = [Buffer.from([0x84, 1, 0x40, 0x84, 0x84, 0x84, 7]), Buffer.from('NSArray'), Buffer.from([0, 0x85])];
    const group = [Buffer.from([0x84, types.length + 1]), Buffer.from(`i${types}`), Buffer.from([types.length])];
    const array = Buffer.concat([SIGNATURE, ...head, ...group, items, Buffer.from([0x86])]);
    return new Typedstream(array, new RowBudget()).values().values;
  };

  test('reads numbers of either precision, and whole ones that are stored as integers', () => {
    const reals = Buffer.alloc(14, 0x83);
    reals.writeFloatLE(1.5, 1);
    reals.writeDoubleLE(-2.25, 6);
    expect(itemsOf('fdfd', Buffer.concat([reals, Buffer.from([7, 0xff])]))).toEqual([1.5, -2.25, 7, -1]);
    expect(itemsOf('cC', Buffer.from([0xff, 0xff]))).toEqual([-1, 255]);
  });

  test('reads integers of each width with their sign', () => {
    const items = Buffer.alloc(17);
    items.set([0x81, 0xd4, 0xfe, 0x82], 0);
    items.writeInt32LE(-70_000, 4);
    items.set([0x87], 8);
    items.writeBigInt64LE(-5_000_000_000n, 9);
    expect(itemsOf('slq', items)).toEqual([-300, -70_000, -5_000_000_000]);
  });

  test('finds what is named again, also behind the 110 numbers that take one byte', () => {
    const texts = Array.from({ length: 112 }, (_, n) => [0x84, 0x84, 1, 65 + (n % 26)]);
    const values = itemsOf('*'.repeat(114), Buffer.from([...texts.flat(), 0x92 + 3, 0]));
    expect(values?.slice(-4)).toEqual(['G', 'H', 'B', 'E']);
    expect(itemsOf('*', Buffer.from([0x92 + 100]))).toBeUndefined();
  });

  test('returns nothing for anything but an attributed string', () => {
    expect(decodeAttributedBody(new Uint8Array())).toBeUndefined();
    expect(decodeAttributedBody(Buffer.from('bplist00 keyed archive'))).toBeUndefined();
    expect(decodeAttributedBody(craftedArchive(['a text']))).toBeUndefined();
    expect(decodeAttributedBody(craftedArchive([members({ NSString: 7 })]))).toBeUndefined();
    const padded = Buffer.concat([encodeAttributedBody('x'), Buffer.alloc(MAX_BLOB_BYTES)]);
    expect(decodeAttributedBody(padded.subarray(0, MAX_BLOB_BYTES))).toBe('x');
    expect(decodeAttributedBody(padded.subarray(0, MAX_BLOB_BYTES + 1))).toBeUndefined();
  });

  test('never throws on a blob cut anywhere, and never invents text', () => {
    for (const [index, blob] of blobs.entries()) {
      const text = vectors[index]?.text;
      const step = blob.length > 2000 ? 997 : 1;
      for (let end = 0; end < blob.length; end += step) {
        expect([undefined, text]).toContain(decodeAttributedBody(blob.subarray(0, end)));
      }
    }
  });

  test('never throws or hangs on mutated blobs', () => {
    const small = blobs.filter((blob) => blob.length < 2000);
    const change = fc.record({ at: fc.nat(1999), value: fc.integer({ min: 0, max: 255 }) });
    fc.assert(
      fc.property(fc.constantFrom(...small), fc.array(change, { minLength: 1, maxLength: 8 }), (blob, changes) => {
        const mutated = Buffer.from(blob);
        for (const { at, value } of changes) mutated[at % mutated.length] = value;
        const text = decodeAttributedBody(mutated);
        expect(['string', 'undefined']).toContain(typeof text);
      }),
      { numRuns: isLong ? 200_000 : 1500 },
    );
  });

  test('ends soon on archives built to make it work', () => {
    const head = blobs[0]?.subarray(0, 16) ?? Buffer.alloc(0);
    const group = (types: string) =>
      Buffer.from([0x84, 0x81, types.length & 255, types.length >> 8, ...Buffer.from(types)]);
    const hostile = [
      Buffer.concat([head, group('[9999999[9999999{=}]]'), Buffer.alloc(1000)]),
      Buffer.concat([head, group('{='.repeat(100) + '}'.repeat(100)), Buffer.alloc(500_000, 0x92)]),
      Buffer.concat([head, group(''), Buffer.alloc(900_000, 0x92)]),
      Buffer.concat([head, group(`+${'c'.repeat(256)}`), Buffer.from([1, 0x78])]),
      Buffer.concat([head, Buffer.from([0x84, 1, 0x40]), Buffer.alloc(900_000, 0x84)]),
    ];
    for (const blob of hostile) expect(decodeAttributedBody(blob)).toBeUndefined();
  });
});

test('a run without a part number continues the part before it, and no size is negative', () => {
  const attributes = { __kIMMessagePartAttributeName: 1, __kIMInlineMediaWidthAttributeName: -1 };
  const runs = [
    { length: 1, attributes },
    { length: 2, attributes: { __kIMTextBoldAttributeName: 1 } },
  ];
  const text = readAttributedText(encodeAttributedBody('\uFFFCok', runs), new RowBudget());
  expect(text && new RunReader(new RowBudget()).parts(text)).toEqual([
    { part: 1, text: '\uFFFCok', runs: [{ start: 1, end: 3, styles: ['bold'] }] },
  ]);
});

test('a one-time code is the one to enter, not the one that is shown', () => {
  const code = new Map(Object.entries({ code: '047119', displayCode: '047-119' }));
  const attributes = new Map([['__kIMOneTimeCodeAttributeName', code]]);
  const [part] = new RunReader(new RowBudget()).parts({ text: '047-119', runs: [{ start: 0, end: 7, attributes }] });
  expect(part?.runs).toEqual([{ start: 0, end: 7, code: '047119' }]);
});
