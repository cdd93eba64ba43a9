import { expect, test } from '@jest/globals';
import { type MacList, merged } from '../../src/features/fleet/hub/merge.ts';
import { collectingLog } from '../support/log.ts';

test('merges the lists of many Macs with one comparison for each item and Mac, and keeps the order of equal items', async () => {
  const [macs, count] = [100, 300];
  const lists: MacList<number>[] = Array.from({ length: macs }, (_, place) => ({
    mac: `m${place}`,
    load: async (next = '0') => ({ items: [Number(next)], next: String(Number(next) + 1) }),
  }));
  let comparisons = 0;
  const compare = (a: number, b: number): number => {
    comparisons += 1;
    return a - b;
  };
  const { items, hasMore } = await merged(lists, count, compare, collectingLog());
  const expected = Array.from({ length: count }, (_, n) => ({ mac: `m${n % macs}`, item: Math.floor(n / macs) }));
  expect([items, hasMore]).toEqual([expected, true]);
  expect(comparisons).toBeLessThanOrEqual(macs * count);
});
