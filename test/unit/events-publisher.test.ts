import { describe, expect, test } from '@jest/globals';
import { isReplaced } from '../../src/core/model/cursor.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { eventPipeline, ids, look, nothing } from '../support/event-pipeline.ts';
import { eventually } from '../support/eventually.ts';
import { arrival } from '../support/memory-log.ts';

describe('the publisher', () => {
  test('the very first start begins at the newest row and stores that at once', async () => {
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 7);
    pipeline.publisher.start();
    const reader = pipeline.feed.live(nothing);
    await look(pipeline);
    expect(reader.take(10).entries).toEqual([]);
    expect(pipeline.cursor.saved).toEqual([{ offset: rowOffset(7), guid: 'G7', inode: '1' }]);
    pipeline.messages.addMany(8, 9);
    await look(pipeline);
    expect(ids(reader.take(10).entries)).toEqual([8, 9]);
    expect(pipeline.cursor.saved.at(-1)).toEqual({ offset: rowOffset(9), guid: 'G9', inode: '1' });
  });

  test('a restart publishes what came in while the service was down', async () => {
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 9);
    pipeline.cursor.save({ offset: rowOffset(5), guid: 'G5', inode: '1' });
    pipeline.publisher.start();
    const reader = pipeline.feed.live(nothing);
    await look(pipeline);
    expect(ids(reader.take(10).entries)).toEqual([6, 7, 8, 9]);
  });

  test('a row without its chat join waits two seconds, and the rows behind it with it', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    pipeline.messages.add(arrival(1, { isIncomplete: true }), arrival(2));
    await look(pipeline);
    await pipeline.clock.advance(1999);
    expect(reader.take(10).entries).toEqual([]);
    await pipeline.clock.advance(1);
    expect(ids(reader.take(10).entries)).toEqual([1, 2]);
  });

  test('a row that becomes complete goes at once', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    pipeline.messages.add(arrival(1, { isIncomplete: true }));
    await look(pipeline);
    pipeline.messages.add(arrival(1));
    await look(pipeline);
    expect(ids(reader.take(10).entries)).toEqual([1]);
    expect(pipeline.clock.monotonic()).toBe(0);
  });

  test('an own row waits one second for its sent flag', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    pipeline.messages.add(arrival(1, { isUnsent: true }));
    await look(pipeline);
    await pipeline.clock.advance(999);
    expect(reader.take(10).entries).toEqual([]);
    await pipeline.clock.advance(1);
    expect(ids(reader.take(10).entries)).toEqual([1]);
  });

  test('an own row without its chat join, too, waits for that: two seconds', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    pipeline.messages.add(arrival(1, { isIncomplete: true, isUnsent: true }));
    await look(pipeline);
    await pipeline.clock.advance(1999);
    expect(reader.take(10).entries).toEqual([]);
    await pipeline.clock.advance(1);
    expect(ids(reader.take(10).entries)).toEqual([1]);
  });

  test('all rows that one check finds wait together, however many reads they take', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const all: number[] = [];
    const reader = pipeline.feed.live(() => all.push(...ids(reader.take(5000).entries)));
    for (let rowId = 1; rowId <= 2000; rowId += 1) pipeline.messages.add(arrival(rowId, { isIncomplete: true }));
    await look(pipeline);
    await pipeline.clock.advance(2000);
    await eventually(() => expect(all.length).toBe(2000));
    expect(pipeline.clock.monotonic()).toBe(2000);
  });

  test('what arrives after a night waits for its chat like any other, and gets it', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    const datedMs = pipeline.clock.now() - 8 * 3_600_000;
    pipeline.messages.add(arrival(1, { isIncomplete: true, datedMs }), arrival(2, { isIncomplete: true, datedMs }));
    await look(pipeline);
    await pipeline.clock.advance(300);
    expect(reader.take(10).entries).toEqual([]);
    pipeline.messages.add(arrival(1, { datedMs }), arrival(2, { datedMs }));
    await look(pipeline);
    expect(ids(reader.take(10).entries)).toEqual([1, 2]);
    expect(pipeline.clock.monotonic()).toBe(300);
  });

  test('a backlog of 50,000 rows that never become complete costs one wait', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const rows = 50_000;
    let published = 0;
    const reader = pipeline.feed.live(() => {
      published += reader.take(5000).entries.length;
    });
    for (let rowId = 1; rowId <= rows; rowId += 1) {
      pipeline.messages.add(arrival(rowId, { isIncomplete: rowId % 5 === 1, datedMs: 0 }));
    }
    await look(pipeline);
    await pipeline.clock.advance(2000);
    await eventually(() => expect(published).toBe(rows));
    expect(pipeline.clock.monotonic()).toBe(2000);
  });

  test('an incoming row without a handle waits 500 ms and is read again: an own one is published as sent', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    pipeline.messages.add(arrival(1, { lacksHandle: true }));
    await look(pipeline);
    await pipeline.clock.advance(499);
    expect(reader.take(10).entries).toEqual([]);
    const { event } = arrival(1);
    if (event.type === 'message.received') {
      const data = { ...event.data, is_from_me: true };
      pipeline.messages.add(arrival(1, { event: { type: 'message.sent', data } }));
    }
    await pipeline.clock.advance(1);
    expect(reader.take(10).entries.map(({ event: { type } }) => type)).toEqual(['message.sent']);
    pipeline.messages.add(arrival(2, { lacksHandle: true }));
    await look(pipeline);
    await pipeline.clock.advance(500);
    expect(reader.take(10).entries.map(({ event: { type } }) => type)).toEqual(['message.received']);
  });

  test('a burst makes no reader that was caught up lose anything', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const all: number[] = [];
    let missed = 0;
    const reader = pipeline.feed.live(() => {
      queueMicrotask(() => {
        const batch = reader.take(5000);
        missed += batch.missed;
        all.push(...ids(batch.entries));
      });
    });
    pipeline.messages.addMany(1, 10_000);
    await look(pipeline);
    await eventually(() => expect(all.length).toBe(10_000));
    expect(missed).toBe(0);
    expect(all).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1));
  });

  test('a reader that takes nothing holds a burst up by 250 ms, once', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    pipeline.feed.live(nothing);
    pipeline.messages.addMany(1, 1000);
    await look(pipeline);
    await pipeline.clock.advance(249);
    expect(pipeline.feed.lastPublished().rowId).toBe(256);
    await pipeline.clock.advance(1);
    await eventually(() => expect(pipeline.feed.lastPublished().rowId).toBe(1000));
    expect(pipeline.clock.monotonic()).toBe(250);
  });

  test('a replaced database starts everyone at its newest row, with one logged loss and no replay', async () => {
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 5);
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    const resumed = pipeline.feed.resume(rowOffset(2), nothing);
    pipeline.messages.rows.clear();
    pipeline.messages.inode = '2';
    pipeline.messages.add(arrival(5, { guid: 'other' }), arrival(9, { guid: 'newest' }));
    await look(pipeline);
    expect(pipeline.cursor.restarts).toBe(2);
    expect(pipeline.cursor.load()).toEqual({ offset: rowOffset(9), guid: 'newest', inode: '2' });
    expect(reader.take(10).entries).toEqual([]);
    expect(resumed.take(10)).toMatchObject({ entries: [], upTo: rowOffset(9) });
    expect(pipeline.log.lines.filter((entry) => entry.level === 'warn')).toHaveLength(1);
    pipeline.messages.add(arrival(10));
    await look(pipeline);
    expect(ids(reader.take(10).entries)).toEqual([10]);
    expect(ids(resumed.take(10).entries)).toEqual([10]);
  });

  test('a database replaced between two stretches of a burst starts everyone over, too', async () => {
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 500);
    pipeline.cursor.save({ offset: rowOffset(1), guid: 'G1', inode: '1' });
    pipeline.publisher.start();
    pipeline.feed.live(nothing); // takes nothing: the publisher waits for it after the first stretch
    await look(pipeline);
    expect(pipeline.channel.last.rowId).toBe(257);
    pipeline.messages.rows.clear();
    pipeline.messages.inode = '2';
    for (let rowId = 1; rowId <= 900; rowId += 1) pipeline.messages.add(arrival(rowId, { guid: `X${rowId}` }));
    await look(pipeline);
    await pipeline.clock.advance(250);
    expect(pipeline.channel.published).toBe(256);
    expect(pipeline.cursor.restarts).toBe(1);
    expect(pipeline.cursor.saved.at(-1)).toEqual({ offset: rowOffset(900), guid: 'X900', inode: '2' });
  });

  test('what is published right after a replacement reaches a resumed reader that takes later', async () => {
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 5);
    pipeline.publisher.start();
    await look(pipeline);
    const resumed = pipeline.feed.resume(rowOffset(5), nothing);
    pipeline.messages.rows.clear();
    pipeline.messages.inode = '2';
    pipeline.messages.add(arrival(9, { guid: 'newest' }));
    await look(pipeline);
    pipeline.messages.addMany(10, 11);
    await look(pipeline);
    expect(ids(resumed.take(10).entries)).toEqual([10, 11]);
  });

  test('the same database in a new file (copied back) continues', async () => {
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 5);
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    pipeline.messages.inode = '2';
    pipeline.messages.addMany(6, 7);
    await look(pipeline);
    expect(ids(reader.take(10).entries)).toEqual([6, 7]);
    expect(pipeline.cursor.load()?.inode).toBe('2');
  });

  test('the row at the cursor being deleted is no sign of another database', () => {
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
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 3);
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    pipeline.messages.isAway = true;
    await look(pipeline);
    pipeline.messages.isAway = false;
    pipeline.messages.addMany(4, 5);
    await look(pipeline);
    expect(ids(reader.take(10).entries)).toEqual([4, 5]);
  });

  test('health hears of a newest row that waits over 30 seconds, and of nothing before', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    pipeline.messages.addMany(1, 1);
    expect(pipeline.publisher.warning()).toBeUndefined();
    await pipeline.clock.advance(30_001);
    expect(pipeline.publisher.warning()).toMatch(/behind.*30 s/);
    await look(pipeline);
    expect(pipeline.publisher.warning()).toBeUndefined();
  });

  test('a cursor that cannot be stored: health says so, it is stored later by itself, and nothing is lost', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const all: number[] = [];
    const reader = pipeline.feed.live(() => all.push(...ids(reader.take(1000).entries)));
    const save = pipeline.cursor.save.bind(pipeline.cursor);
    pipeline.cursor.save = () => {
      throw new Error('the disk is full');
    };
    pipeline.messages.addMany(1, 300);
    await look(pipeline);
    expect(pipeline.publisher.warning()).toMatch(/cannot be published/);
    pipeline.cursor.save = save;
    await pipeline.clock.advance(1000);
    await eventually(() => expect(pipeline.publisher.warning()).toBeUndefined());
    expect(all).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
    expect(pipeline.cursor.load()?.offset.rowId).toBe(300);
  });

  test('a cursor that could not be stored is stored as soon as it can be, new rows or not', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const save = pipeline.cursor.save.bind(pipeline.cursor);
    pipeline.cursor.save = () => {
      throw new Error('the disk is full');
    };
    pipeline.messages.addMany(1, 2);
    await look(pipeline);
    pipeline.cursor.save = save;
    await pipeline.clock.advance(1000);
    await eventually(() => expect(pipeline.cursor.load()?.offset.rowId).toBe(2));
  });

  test('a replaced database starts everyone over, also when that could not be stored at first', async () => {
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 9);
    pipeline.publisher.start();
    await look(pipeline);
    const resumed = pipeline.feed.resume(rowOffset(5), nothing);
    pipeline.messages.rows.clear();
    pipeline.messages.highest = 0;
    pipeline.messages.add(arrival(1, { guid: 'other' }));
    const restart = pipeline.cursor.restart.bind(pipeline.cursor);
    pipeline.cursor.restart = () => {
      throw new Error('the disk is full');
    };
    await look(pipeline);
    pipeline.cursor.restart = restart;
    await pipeline.clock.advance(1000);
    await eventually(() => expect(pipeline.cursor.load()?.offset.rowId).toBe(1));
    pipeline.messages.add(arrival(2));
    await look(pipeline);
    expect(ids(resumed.take(10).entries)).toEqual([2]);
  });

  test('the clock set back or forward delays no row and repeats none', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    const reader = pipeline.feed.live(nothing);
    for (const [rowId, stepMs] of [-86_400_000, 172_800_000, -3_600_000].entries()) {
      pipeline.clock.step(stepMs);
      pipeline.messages.add(arrival(rowId + 1, { isIncomplete: true, datedMs: pipeline.clock.now() }));
      await look(pipeline);
      await pipeline.clock.advance(1999);
      expect(reader.take(10).entries).toEqual([]);
      await pipeline.clock.advance(1);
      expect(ids(reader.take(10).entries)).toEqual([rowId + 1]);
    }
    expect(pipeline.publisher.warning()).toBeUndefined();
  });

  test('rows that wait one after another, each for its own two seconds, are no drift', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    for (let rowId = 1; rowId <= 40; rowId += 1) {
      pipeline.messages.add(arrival(rowId, { isIncomplete: true }));
      await look(pipeline);
      await pipeline.clock.advance(1000);
      expect(pipeline.publisher.warning()).toBeUndefined();
    }
  });

  test('rows deleted again before they were published are no drift', async () => {
    const pipeline = eventPipeline();
    pipeline.messages.addMany(1, 2);
    pipeline.publisher.start();
    await look(pipeline);
    pipeline.messages.add(arrival(3, { isIncomplete: true }));
    await look(pipeline);
    pipeline.messages.rows.delete(3);
    await look(pipeline);
    await pipeline.clock.advance(40_000);
    expect(pipeline.publisher.warning()).toBeUndefined();
  });
});
