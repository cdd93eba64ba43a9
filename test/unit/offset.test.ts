import { expect, test } from '@jest/globals';
import { decodeOffset, encodeOffset, encodeStreamOffset } from '../../src/core/model/offset.ts';

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
  wrong.push(other('2.1.1.1'), other('1.1.1'), other('1.01.1.1'), other('1.1.1.9999999999999999'), 'é'.repeat(12));
  for (const text of wrong) expect(decodeOffset(text)).toBeUndefined();
});

test('an offset of a hub is read back as it was, and nothing that was changed is one', () => {
  const offset = {
    stream: '2026-11-22T10:00:00.123456789Z',
    sequence: 4711,
    messageId: '3b241101-e2bb-5255-8caf-4136c566a962',
    atMs: 1_790_000_000_000,
  };
  const text = encodeStreamOffset(offset);
  expect(text).toMatch(/^[\w-]+$/);
  expect(decodeOffset(text)).toEqual(offset);
  expect(decodeOffset(`${text.slice(0, -1)}`)).toBeUndefined();
  for (const wrong of [{ sequence: 1.5 }, { stream: '' }, { stream: 'a|b' }, { messageId: 'é' }, { atMs: 2 ** 60 }]) {
    const plain = { ...offset, ...wrong };
    const made = Buffer.from(`2|${plain.stream}|${plain.sequence}|${plain.messageId}|${plain.atMs}`).toString(
      'base64url',
    );
    expect(decodeOffset(made)).toBeUndefined();
  }
});

test('an offset of a hub holds the offsets of up to three other hubs', () => {
  const atHub = (hub: number) => ({
    stream: '2026-11-22T10:00:00.123456789Z',
    sequence: hub,
    messageId: '3b241101-e2bb-5255-8caf-4136c566a962',
    atMs: 1_790_000_000_000 + hub,
    copy: `0000000${hub}`,
    floor: hub === 2 ? 1 : undefined,
    changeFloor: undefined,
  });
  const others = [2, 3, 4].map(atHub);
  const text = encodeStreamOffset({ ...atHub(1), others });
  expect(text.length).toBeLessThan(1000);
  expect(decodeOffset(text)).toEqual({ ...atHub(1), others });
  expect(encodeStreamOffset({ ...atHub(1), others: [...others, atHub(5)] })).toBe(text);
  const plain = Buffer.from(text, 'base64url').toString();
  const [first = '', second = ''] = plain.split(';');
  for (const wrong of [`${plain};${second}`, `${first};`, `${first};x`, `;${second}`, `${first};${second};`]) {
    expect(decodeOffset(Buffer.from(wrong).toString('base64url'))).toBeUndefined();
  }
  expect(decodeOffset('A'.repeat(100_000))).toBeUndefined();
});
