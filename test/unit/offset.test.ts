import { expect, test } from '@jest/globals';
import { decodeOffset, encodeOffset, encodeOpaque } from '../../src/core/model/offset.ts';

test('the text of an offset is read back as it was, and a row id stays a row id', () => {
  for (const rowId of [0, 1, 1195, Number.MAX_SAFE_INTEGER]) {
    for (const change of [0, 17, Number.MAX_SAFE_INTEGER]) {
      for (const generation of [1, 12]) {
        const text = encodeOffset({ rowId, change }, generation);
        expect(text).toMatch(/^[A-Za-z\d]+$/);
        expect(decodeOffset(text)).toEqual({ rowId, change, generation });
      }
    }
  }
  expect(decodeOffset('17')).toEqual({ rowId: 17 });
  expect(decodeOffset('9'.repeat(30))).toEqual({ rowId: Number.MAX_SAFE_INTEGER });
});

test('what the service did not make is no offset', () => {
  const other = (plain: string): string => btoa(plain).replace(/=+$/, '');
  const wrong = ['', '-1', '1.5', 'abc', 'a b', '%%%%%%%%', `${encodeOffset({ rowId: 1, change: 2 }, 3)}=`];
  wrong.push(other('3.1.1.1'), other('1.1.1'), other('1.01.1.1'), other('1.1.1.9999999999999999'), 'é'.repeat(12));
  for (const text of wrong) expect(decodeOffset(text)).toBeUndefined();
});

test('an offset of another log is read back as it was, and nothing that was changed is one', () => {
  const text = encodeOpaque('2026-11-22T10:00:00.123456789Z|4711|1790000000000');
  expect(text).toMatch(/^[\w-]+$/);
  expect(decodeOffset(text)).toEqual({ opaque: '2026-11-22T10:00:00.123456789Z|4711|1790000000000' });
  for (const wrong of [`${text}=`, 'A'.repeat(100_000)]) expect(decodeOffset(wrong)).toBeUndefined();
});
