import { describe, expect, test } from '@jest/globals';
import { divide, SHARDS, shardOf } from '../../src/fleet/hub/webhooks/shards.ts';

const all = Array.from({ length: SHARDS }, (_, shard) => shard);

/** Lets hubs divide in turn until nobody wants anything. */
function settled(hubs: readonly string[], held: Map<string, Set<number>>): readonly number[] {
  for (let round = 0; round < 10; round += 1) {
    for (const me of hubs) {
      const mine = held.get(me) ?? new Set<number>();
      held.set(me, mine);
      const isFree = (shard: number): boolean => !hubs.some((hub) => held.get(hub)?.has(shard) === true);
      const { claim, release } = divide(me, hubs, mine, isFree);
      for (const shard of claim) mine.add(shard);
      for (const shard of release) mine.delete(shard);
    }
  }
  return hubs.map((hub) => held.get(hub)?.size ?? 0);
}

describe('the division of webhooks among hubs', () => {
  test('is even, whatever the number of hubs, and leaves nothing out', () => {
    for (const hubs of [['a'], ['a', 'b'], ['a', 'b', 'c'], all.map(String), [...all.map(String), 'x']]) {
      const held = new Map<string, Set<number>>();
      const sizes = settled(hubs, held);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      expect([...held.values()].flatMap((one) => [...one]).sort((x, y) => x - y)).toEqual(all);
    }
  });

  test('moves no more than it must when a hub comes', () => {
    const held = new Map<string, Set<number>>();
    settled(['a', 'b'], held);
    const before = new Map([...held].map(([hub, shards]) => [hub, new Set(shards)]));
    settled(['a', 'b', 'c'], held);
    const stayed = ['a', 'b'].flatMap((hub) => [...(held.get(hub) ?? [])].filter((one) => before.get(hub)?.has(one)));
    expect(stayed).toHaveLength(SHARDS - (held.get('c')?.size ?? 0));
  });

  test('puts a webhook into the same shard everywhere', () => {
    expect(shardOf('6f1c2f0e-7e0e-4c7e-9d55-2b1f8f6f0a11')).toBe(shardOf('6f1c2f0e-7e0e-4c7e-9d55-2b1f8f6f0a11'));
    const used = new Set(Array.from({ length: 1000 }, (_, number) => shardOf(String(number))));
    expect(used.size).toBe(SHARDS);
  });
});
