import { describe, expect, test } from '@jest/globals';
import { Channel } from '../../src/core/log/channel.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { eventPipeline, ids, nothing } from '../support/event-pipeline.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { arrival } from '../support/memory-log.ts';

describe('the channel', () => {
  test('each reader has its own offset and sees events in order', () => {
    const channel = new Channel();
    const early = channel.live(nothing);
    channel.publish([arrival(1), arrival(2)]);
    const late = channel.live(nothing);
    channel.publish([arrival(3)]);
    expect(ids(early.take(2).entries)).toEqual([1, 2]);
    expect(early.isCaughtUp()).toBe(false);
    expect(ids(early.take(2).entries)).toEqual([3]);
    expect(ids(late.take(10).entries)).toEqual([3]);
    expect(early.isCaughtUp()).toBe(true);
  });

  test('a reader that falls behind by more than the capacity loses the oldest and learns how many', () => {
    const channel = new Channel();
    const slow = channel.live(nothing);
    for (let rowId = 1; rowId <= 1030; rowId += 1) channel.publish([arrival(rowId)]);
    const batch = slow.take(2000);
    expect(batch.missed).toBe(6);
    expect(ids(batch.entries)).toEqual(Array.from({ length: 1024 }, (_, index) => index + 7));
    expect(slow.take(10)).toMatchObject({ entries: [], missed: 0 });
  });

  test('returns the events after a row id only while it holds all of them', () => {
    const channel = new Channel();
    channel.restart(rowOffset(10));
    for (let rowId = 12; rowId <= 12 + 1024; rowId += 2) channel.publish([arrival(rowId)]);
    expect(ids(channel.after(rowOffset(11), 2) ?? [])).toEqual([12, 14]);
    expect(ids(channel.after(rowOffset(1034), 9) ?? [])).toEqual([1036]);
    expect(channel.after(rowOffset(9), 2)).toBeUndefined();
    for (let rowId = 2000; rowId < 2600; rowId += 1) channel.publish([arrival(rowId)]);
    expect(channel.after(rowOffset(11), 2)).toBeUndefined();
  });

  test('reports a restart to a waiting reader, without a new event', () => {
    const channel = new Channel();
    let told = 0;
    const reader = channel.live(() => {
      told += 1;
    });
    expect(reader.isCaughtUp()).toBe(true);
    const before = told;
    channel.restart(rowOffset(10));
    expect(told).toBe(before + 1);
  });

  test('waits for readers that were caught up, and for no others', async () => {
    const channel = new Channel();
    const clock = new FakeClock();
    const stalled = channel.live(nothing);
    channel.publish([arrival(1)]);
    await Promise.all([channel.drained(clock, 250), clock.advance(250)]);
    const quick = channel.live(nothing);
    channel.publish([arrival(2)]);
    let isDone = false;
    const waiting = channel.drained(clock, 250).then(() => {
      isDone = true;
    });
    await clock.advance(100);
    expect(isDone).toBe(false);
    quick.take(10);
    await waiting;
    expect(clock.monotonic()).toBe(350); // it did not wait any longer for the stalled one
    expect(clock.pending).toBe(0);
    // Once it has caught up, it counts like any other reader.
    stalled.take(10);
    channel.publish([arrival(3)]);
    isDone = false;
    const again = channel.drained(clock, 250).then(() => {
      isDone = true;
    });
    quick.take(10);
    await clock.advance(100);
    expect(isDone).toBe(false);
    stalled.take(10);
    await again;
    expect(clock.monotonic()).toBe(450);
  });

  test('waits for a resumed reader only when that is paced', async () => {
    for (const [backpressure, waitedMs] of [
      [false, 0],
      [true, 250],
    ] as const) {
      const pipeline = eventPipeline();
      pipeline.feed.resume(rowOffset(0), nothing, { backpressure });
      pipeline.channel.publish([arrival(1)]);
      let endedAtMs: number | undefined;
      void pipeline.channel.drained(pipeline.clock, 250).then(() => {
        endedAtMs = pipeline.clock.monotonic();
      });
      await pipeline.clock.advance(0);
      await pipeline.clock.advance(250);
      expect(endedAtMs).toBe(waitedMs);
    }
  });

  test('closing a reader ends the wait for it', async () => {
    const channel = new Channel();
    const clock = new FakeClock();
    const reader = channel.live(nothing);
    channel.publish([arrival(1)]);
    const waiting = channel.drained(clock, 250);
    reader.close();
    await waiting;
    expect(clock.monotonic()).toBe(0);
  });
});
