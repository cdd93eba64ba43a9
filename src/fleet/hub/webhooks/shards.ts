import { createHash } from 'node:crypto';

/** Webhooks are divided into so many parts, and each part belongs to one hub at a time. */
export const SHARDS = 32;

export function shardOf(webhookId: string): number {
  return createHash('sha256').update(webhookId).digest().readUInt32BE(0) % SHARDS;
}

export interface Division {
  readonly claim: readonly number[];
  readonly release: readonly number[];
}

/**
 * What a hub should claim and give back so that every live hub has as many shards as the others, or one more. Those
 * that are where they should be stay there.
 */
export function divide(
  me: string,
  hubs: Iterable<string>,
  mine: ReadonlySet<number>,
  isFree: (shard: number) => boolean,
): Division {
  const live = [...new Set([...hubs, me])].sort();
  const index = live.indexOf(me);
  const target = Math.floor(SHARDS / live.length) + (index < SHARDS % live.length ? 1 : 0);
  // Each hub begins at a place of its own, so that two seldom claim the same one.
  const first = Math.floor((index * SHARDS) / live.length);
  const inOrder = Array.from({ length: SHARDS }, (_, step) => (first + step) % SHARDS);
  const claim = inOrder.filter((shard) => !mine.has(shard) && isFree(shard)).slice(0, Math.max(0, target - mine.size));
  const release = inOrder.filter((shard) => mine.has(shard)).slice(target);
  return { claim, release };
}
