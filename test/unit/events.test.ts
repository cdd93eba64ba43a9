import { describe, expect, test } from '@jest/globals';
import { isReplaced } from '../../src/domain/cursor.ts';
import { rowOffset } from '../../src/domain/offset.ts';
import { Channel } from '../../src/events/channel.ts';
import { Feed } from '../../src/events/feed.ts';
import { Publisher } from '../../src/events/publisher.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { arrival, MemoryCursor, MemoryLog } from '../support/memory-log.ts';

const nothing = (): void => {};

function pipeline() {
  const log = new MemoryLog();
  const cursor = new MemoryCursor();
  const clock = new FakeClock();
  const channel = new Channel();
  const logger = collectingLog();
  const publisher = new Publisher({ messages: log, channel, cursor, clock, log: logger });
  return {
    log,
    cursor,
    clock,
    channel,
    logger,
    publisher,
    feed: new Feed({ channel, messages: log, clock, log: logger }),
  };
}

/** Looks, and lets everything that follows from it happen. */
async function look({ publisher, clock }: ReturnType<typeof pipeline>): Promise<void> {
  publisher.publishPending();
  await clock.advance(0);
}

const ids = (entries: readonly { readonly rowId: number }[]): number[] => entries.map((entry) => entry.rowId);

describe('the channel', () => {
  test('each reader has its own place and sees events in order', () => {
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

  test('gives what follows a row id only while it holds all of it', () => {
    const channel = new Channel();
    channel.restart(rowOffset(10));
    for (let rowId = 12; rowId <= 12 + 1024; rowId += 2) channel.publish([arrival(rowId)]);
    expect(ids(channel.after(rowOffset(11), 2) ?? [])).toEqual([12, 14]);
    expect(ids(channel.after(rowOffset(1034), 9) ?? [])).toEqual([1036]);
    expect(channel.after(rowOffset(9), 2)).toBeUndefined();
    for (let rowId = 2000; rowId < 2600; rowId += 1) channel.publish([arrival(rowId)]);
    expect(channel.after(rowOffset(11), 2)).toBeUndefined();
  });

  test('waits for those who were level, and for nobody else', async () => {
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
    expect(clock.monotonic()).toBe(350); // it did not wait the rest for the stalled one
    expect(clock.pending).toBe(0);
    // Level again, it counts as anybody else does.
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
      const line = pipeline();
      line.feed.resume(rowOffset(0), nothing, { backpressure });
      line.channel.publish([arrival(1)]);
      let endedAtMs: number | undefined;
      void line.channel.drained(line.clock, 250).then(() => {
        endedAtMs = line.clock.monotonic();
      });
      await line.clock.advance(0);
      await line.clock.advance(250);
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

describe('the publisher', () => {
  test('the very first start begins at the newest row and stores that at once', async () => {
    const line = pipeline();
    line.log.addMany(1, 7);
    line.publisher.start();
    const reader = line.feed.live(nothing);
    await look(line);
    expect(reader.take(10).entries).toEqual([]);
    expect(line.cursor.saved).toEqual([{ offset: rowOffset(7), guid: 'G7', inode: '1' }]);
    line.log.addMany(8, 9);
    await look(line);
    expect(ids(reader.take(10).entries)).toEqual([8, 9]);
    expect(line.cursor.saved.at(-1)).toEqual({ offset: rowOffset(9), guid: 'G9', inode: '1' });
  });

  test('a restart publishes what came in while the service was down', async () => {
    const line = pipeline();
    line.log.addMany(1, 9);
    line.cursor.save({ offset: rowOffset(5), guid: 'G5', inode: '1' });
    line.publisher.start();
    const reader = line.feed.live(nothing);
    await look(line);
    expect(ids(reader.take(10).entries)).toEqual([6, 7, 8, 9]);
  });

  test('a row without its chat join waits two seconds, and the rows behind it with it', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    line.log.add(arrival(1, { isIncomplete: true }), arrival(2));
    await look(line);
    await line.clock.advance(1999);
    expect(reader.take(10).entries).toEqual([]);
    await line.clock.advance(1);
    expect(ids(reader.take(10).entries)).toEqual([1, 2]);
  });

  test('a row that becomes complete goes at once', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    line.log.add(arrival(1, { isIncomplete: true }));
    await look(line);
    line.log.add(arrival(1));
    await look(line);
    expect(ids(reader.take(10).entries)).toEqual([1]);
    expect(line.clock.monotonic()).toBe(0);
  });

  test('an own row waits one second for its sent flag', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    line.log.add(arrival(1, { isUnsent: true }));
    await look(line);
    await line.clock.advance(999);
    expect(reader.take(10).entries).toEqual([]);
    await line.clock.advance(1);
    expect(ids(reader.take(10).entries)).toEqual([1]);
  });

  test('an own row without its chat join, too, waits for that: two seconds', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    line.log.add(arrival(1, { isIncomplete: true, isUnsent: true }));
    await look(line);
    await line.clock.advance(1999);
    expect(reader.take(10).entries).toEqual([]);
    await line.clock.advance(1);
    expect(ids(reader.take(10).entries)).toEqual([1]);
  });

  test('all rows that were there at one look wait together, however many stretches they are', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const all: number[] = [];
    const reader = line.feed.live(() => all.push(...ids(reader.take(5000).entries)));
    for (let rowId = 1; rowId <= 2000; rowId += 1) line.log.add(arrival(rowId, { isIncomplete: true }));
    await look(line);
    await line.clock.advance(2000);
    await eventually(() => expect(all.length).toBe(2000));
    expect(line.clock.monotonic()).toBe(2000);
  });

  test('a row dated over a minute ago does not wait', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    line.log.add(arrival(1, { isIncomplete: true, datedMs: line.clock.now() - 60_001 }));
    line.log.add(arrival(2, { isIncomplete: true, datedMs: line.clock.now() - 58_000 }));
    await look(line);
    expect(ids(reader.take(10).entries)).toEqual([1]);
    await line.clock.advance(1999);
    expect(reader.take(10).entries).toEqual([]);
  });

  test('a burst makes no level reader lose anything', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const all: number[] = [];
    let missed = 0;
    const reader = line.feed.live(() => {
      queueMicrotask(() => {
        const batch = reader.take(5000);
        missed += batch.missed;
        all.push(...ids(batch.entries));
      });
    });
    line.log.addMany(1, 10_000);
    await look(line);
    await eventually(() => expect(all.length).toBe(10_000));
    expect(missed).toBe(0);
    expect(all).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1));
  });

  test('a reader that takes nothing holds a burst up by 250 ms, once', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    line.feed.live(nothing);
    line.log.addMany(1, 1000);
    await look(line);
    await line.clock.advance(249);
    expect(line.feed.lastPublished().rowId).toBe(256);
    await line.clock.advance(1);
    await eventually(() => expect(line.feed.lastPublished().rowId).toBe(1000));
    expect(line.clock.monotonic()).toBe(250);
  });

  test('a replaced database starts everyone at its newest row, with one logged loss and no replay', async () => {
    const line = pipeline();
    line.log.addMany(1, 5);
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    const resumed = line.feed.resume(rowOffset(2), nothing);
    line.log.rows.clear();
    line.log.inode = '2';
    line.log.add(arrival(5, { guid: 'other' }), arrival(9, { guid: 'newest' }));
    await look(line);
    expect(line.cursor.restarts).toBe(2);
    expect(line.cursor.load()).toEqual({ offset: rowOffset(9), guid: 'newest', inode: '2' });
    expect(reader.take(10).entries).toEqual([]);
    expect(resumed.take(10)).toMatchObject({ entries: [], upTo: rowOffset(9) });
    expect(line.logger.lines.filter((entry) => entry.level === 'warn')).toHaveLength(1);
    line.log.add(arrival(10));
    await look(line);
    expect(ids(reader.take(10).entries)).toEqual([10]);
    expect(ids(resumed.take(10).entries)).toEqual([10]);
  });

  test('a database replaced between two stretches of a burst starts everyone over, too', async () => {
    const line = pipeline();
    line.log.addMany(1, 500);
    line.cursor.save({ offset: rowOffset(1), guid: 'G1', inode: '1' });
    line.publisher.start();
    line.feed.live(nothing); // takes nothing: it is waited for after the first stretch
    await look(line);
    expect(line.channel.last.rowId).toBe(257);
    line.log.rows.clear();
    line.log.inode = '2';
    for (let rowId = 1; rowId <= 900; rowId += 1) line.log.add(arrival(rowId, { guid: `X${rowId}` }));
    await look(line);
    await line.clock.advance(250);
    expect(line.channel.published).toBe(256);
    expect(line.cursor.restarts).toBe(1);
    expect(line.cursor.saved.at(-1)).toEqual({ offset: rowOffset(900), guid: 'X900', inode: '2' });
  });

  test('what is published right after a replacement reaches a resumed reader that takes later', async () => {
    const line = pipeline();
    line.log.addMany(1, 5);
    line.publisher.start();
    await look(line);
    const resumed = line.feed.resume(rowOffset(5), nothing);
    line.log.rows.clear();
    line.log.inode = '2';
    line.log.add(arrival(9, { guid: 'newest' }));
    await look(line);
    line.log.addMany(10, 11);
    await look(line);
    expect(ids(resumed.take(10).entries)).toEqual([10, 11]);
  });

  test('the same database in a new file (copied back) goes on', async () => {
    const line = pipeline();
    line.log.addMany(1, 5);
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    line.log.inode = '2';
    line.log.addMany(6, 7);
    await look(line);
    expect(ids(reader.take(10).entries)).toEqual([6, 7]);
    expect(line.cursor.load()?.inode).toBe('2');
  });

  test('a marked row that was deleted is no sign of another database', () => {
    const cursor = { offset: rowOffset(5), guid: 'G5', inode: '1' };
    expect(isReplaced(cursor, { inode: '1', guidAtCursor: null, highestRowId: 5 })).toBe(false);
    expect(isReplaced(cursor, { inode: '1', guidAtCursor: null, highestRowId: 4 })).toBe(true);
    expect(isReplaced(cursor, { inode: '2', guidAtCursor: null, highestRowId: 9 })).toBe(true);
    expect(isReplaced(cursor, { inode: '2', guidAtCursor: 'G5', highestRowId: 9 })).toBe(false);
    expect(isReplaced(cursor, { inode: '1', guidAtCursor: 'X', highestRowId: 9 })).toBe(true);
    const empty = { offset: rowOffset(0), guid: null, inode: '1' };
    expect(isReplaced(empty, { inode: '1', guidAtCursor: null, highestRowId: 9 })).toBe(false);
    expect(isReplaced(empty, { inode: '2', guidAtCursor: null, highestRowId: 9 })).toBe(true);
  });

  test('a database that goes away loses nothing when it comes back', async () => {
    const line = pipeline();
    line.log.addMany(1, 3);
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    line.log.isAway = true;
    await look(line);
    line.log.isAway = false;
    line.log.addMany(4, 5);
    await look(line);
    expect(ids(reader.take(10).entries)).toEqual([4, 5]);
  });

  test('health hears of a newest row that waits over 30 seconds, and of nothing before', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    line.log.addMany(1, 1);
    expect(line.publisher.checkLag()).toBeNull();
    await line.clock.advance(30_001);
    expect(line.publisher.checkLag()).toMatch(/behind.*30 s/);
    await look(line);
    expect(line.publisher.checkLag()).toBeNull();
  });

  test('a place that cannot be stored: health says so, it is tried again by itself, and nothing is lost', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const all: number[] = [];
    const reader = line.feed.live(() => all.push(...ids(reader.take(1000).entries)));
    const save = line.cursor.save.bind(line.cursor);
    line.cursor.save = () => {
      throw new Error('the disk is full');
    };
    line.log.addMany(1, 300);
    await look(line);
    expect(line.publisher.checkLag()).toMatch(/cannot be published/);
    line.cursor.save = save;
    await line.clock.advance(1000);
    await eventually(() => expect(line.publisher.checkLag()).toBe(null));
    expect(all).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
    expect(line.cursor.load()?.offset.rowId).toBe(300);
  });

  test('a place that could not be stored is stored as soon as it can be, new rows or not', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const save = line.cursor.save.bind(line.cursor);
    line.cursor.save = () => {
      throw new Error('the disk is full');
    };
    line.log.addMany(1, 2);
    await look(line);
    line.cursor.save = save;
    await line.clock.advance(1000);
    await eventually(() => expect(line.cursor.load()?.offset.rowId).toBe(2));
  });

  test('a replaced database starts everyone over, also when that could not be stored at first', async () => {
    const line = pipeline();
    line.log.addMany(1, 9);
    line.publisher.start();
    await look(line);
    const resumed = line.feed.resume(rowOffset(5), nothing);
    line.log.rows.clear();
    line.log.highest = 0;
    line.log.add(arrival(1, { guid: 'other' }));
    const restart = line.cursor.restart.bind(line.cursor);
    line.cursor.restart = () => {
      throw new Error('the disk is full');
    };
    await look(line);
    line.cursor.restart = restart;
    await line.clock.advance(1000);
    await eventually(() => expect(line.cursor.load()?.offset.rowId).toBe(1));
    line.log.add(arrival(2));
    await look(line);
    expect(ids(resumed.take(10).entries)).toEqual([2]);
  });

  test('the clock set back or forward delays no row and repeats none', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    const reader = line.feed.live(nothing);
    for (const [rowId, stepMs] of [-86_400_000, 172_800_000, -3_600_000].entries()) {
      line.clock.step(stepMs);
      line.log.add(arrival(rowId + 1, { isIncomplete: true, datedMs: line.clock.now() }));
      await look(line);
      await line.clock.advance(1999);
      expect(reader.take(10).entries).toEqual([]);
      await line.clock.advance(1);
      expect(ids(reader.take(10).entries)).toEqual([rowId + 1]);
    }
    expect(line.publisher.checkLag()).toBeNull();
  });

  test('rows that wait one after another, each for its own two seconds, are no drift', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    for (let rowId = 1; rowId <= 40; rowId += 1) {
      line.log.add(arrival(rowId, { isIncomplete: true }));
      await look(line);
      await line.clock.advance(1000);
      expect(line.publisher.checkLag()).toBeNull();
    }
  });

  test('rows deleted again before they were published are no drift', async () => {
    const line = pipeline();
    line.log.addMany(1, 2);
    line.publisher.start();
    await look(line);
    line.log.add(arrival(3, { isIncomplete: true }));
    await look(line);
    line.log.rows.delete(3);
    await look(line);
    await line.clock.advance(40_000);
    expect(line.publisher.checkLag()).toBeNull();
  });
});

describe('the feed', () => {
  test('catches up from chat.db, cuts over and goes on live, without gap or repeat', async () => {
    const line = pipeline();
    line.cursor.save({ offset: rowOffset(0), guid: null, inode: '1' });
    line.publisher.start();
    line.log.addMany(1, 3000);
    await look(line);
    await eventually(() => expect(line.feed.lastPublished().rowId).toBe(3000));
    const reader = line.feed.resume(rowOffset(0), nothing);
    const all: number[] = [];
    let next = 3001;
    while (!reader.isCaughtUp()) {
      all.push(...ids(reader.take(100).entries));
      if (next < 3100) {
        line.log.addMany(next, next);
        next += 1;
        await look(line);
      }
    }
    expect(all).toEqual(Array.from({ length: next - 1 }, (_, index) => index + 1));
    const readsBefore = line.log.reads;
    line.log.addMany(next, next);
    await look(line);
    expect(ids(reader.take(100).entries)).toEqual([next]);
    expect(line.log.reads).toBe(readsBefore); // live: from the ring
  });

  test('never reads beyond the last published row', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    line.log.add(arrival(1), arrival(2, { isIncomplete: true }));
    await look(line);
    expect(ids(line.feed.resume(rowOffset(0), nothing).take(10).entries)).toEqual([1]);
  });

  test('an `after` ahead of the published suppresses events up to it; one above every row is refused', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    line.log.add(arrival(1, { isIncomplete: true }), arrival(2), arrival(3));
    line.feed.assertKnown(rowOffset(2));
    const reader = line.feed.resume(rowOffset(2), nothing);
    await look(line);
    await line.clock.advance(2000);
    expect(ids(reader.take(10).entries)).toEqual([3]);
    for (const ask of [() => line.feed.assertKnown(rowOffset(4)), () => line.feed.page(rowOffset(4), 10)]) {
      expect(ask).toThrow(expect.objectContaining({ status: 410 }));
    }
    line.log.isAway = true;
    expect(() => line.feed.assertKnown(rowOffset(1))).toThrow(expect.objectContaining({ status: 503 }));
  });

  test('rows deleted meanwhile are passed over, and the place moves past them', async () => {
    const line = pipeline();
    line.cursor.save({ offset: rowOffset(0), guid: null, inode: '1' });
    line.publisher.start();
    line.log.addMany(1, 2000);
    await look(line);
    await eventually(() => expect(line.feed.lastPublished().rowId).toBe(2000));
    for (let rowId = 1; rowId <= 2000; rowId += 1) if (rowId !== 5) line.log.rows.delete(rowId);
    const reader = line.feed.resume(rowOffset(0), nothing);
    expect(ids(reader.take(10).entries)).toEqual([5]);
    expect(reader.isCaughtUp()).toBe(false);
    expect(reader.take(10)).toMatchObject({ entries: [], upTo: rowOffset(2000) });
    expect(reader.isCaughtUp()).toBe(true);
  });

  test('a resumed reader wakes up when chat.db is back', async () => {
    const line = pipeline();
    line.publisher.start();
    await look(line);
    let wakes = 0;
    line.feed.resume(rowOffset(0), () => {
      wakes += 1;
    });
    line.log.isAway = true;
    await look(line);
    line.log.isAway = false;
    await look(line);
    expect(wakes).toBe(1);
  });
});
