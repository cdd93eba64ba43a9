import { expect, test } from '@jest/globals';
import { readBinaryPlist } from '../../src/core/chatdb/content/binary-plist.ts';
import { readKeyedArchive } from '../../src/core/chatdb/content/keyed-archive.ts';
import { RowBudget } from '../../src/core/chatdb/content/row-budget.ts';
import { readSummaryInfo } from '../../src/core/chatdb/content/summary-info.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { type Crafted, craftedArchive, craftedPlist, members, Uid } from '../support/crafted-archives.ts';

/** Encodes a property list of one object. */
function plistOf(object: Buffer): Buffer {
  const trailer = Buffer.alloc(32);
  trailer.set([1, 1], 6);
  trailer.writeBigUInt64BE(1n, 8);
  trailer.writeBigUInt64BE(BigInt(8 + object.length), 24);
  return Buffer.concat([Buffer.from('bplist00'), object, Buffer.from([8]), trailer]);
}

test.each([
  ['an integer of four bytes without a sign', '12ffffffff', 2 ** 32 - 1],
  ['an integer of eight bytes with its sign', '13fffffffffffffffe', -2],
  ['the last half of an integer of 16 bytes', '1400000000000000000000000000000007', 7],
  ['a number of single precision', '223fc00000', 1.5],
])('a property list gives %s', (_, hex, value) => {
  expect(readBinaryPlist(plistOf(Buffer.from(hex, 'hex')), new RowBudget())).toBe(value);
});

test('an archive whose dictionaries share two long lists exceeds its budget', () => {
  const names = Array.from({ length: 500 }, (_, number) => `k${number}`);
  const shared = members({ 'NS.keys': names, 'NS.objects': names });
  const dictionaries = Array.from({ length: 100 }, () => new Map(shared));
  const list = dictionaries.map((_, number) => new Uid(number + 2));
  expect(readKeyedArchive(craftedArchive([members({ 'NS.objects': list }), ...dictionaries]), new RowBudget())).toBe(
    undefined,
  );
});

test.each<[string, ReadonlyMap<string, Crafted>]>([
  ['a UUID of the wrong size', members({ 'NS.uuidbytes': Buffer.alloc(4) })],
  ['a reference to the first object of an archive', members({ 'NS.string': new Uid(0) })],
])('%s is nothing', (_, object) => {
  expect(readKeyedArchive(craftedArchive([object]), new RowBudget())).toBeNull();
});

test('edited and unsent parts are in the order of their numbers', () => {
  const versions: Crafted = [members({ d: 1, t: Buffer.from(encodeAttributedBody('a')) })];
  const edits = new Map([
    ['10', versions],
    ['9', versions],
  ]);
  const info = readSummaryInfo(craftedPlist(members({ ec: edits, rp: [11, 9] })), new RowBudget());
  expect([info?.edits.map(({ part }) => part), info?.unsentParts]).toEqual([
    [9, 10],
    [9, 11],
  ]);
});

test('a column is not called undecoded for what exceeds the budget after it', () => {
  const budget = new RowBudget(1);
  budget.within('payload_data', () => budget.step());
  budget.step();
  expect(budget.undecoded()).toEqual({});
});
