import { describe, expect, test } from '@jest/globals';
import { rowOffset } from '../../src/core/model/offset.ts';
import { eventPipeline, ids, look, nothing } from '../support/event-pipeline.ts';
import { eventually } from '../support/eventually.ts';
import { arrival } from '../support/memory-log.ts';

describe('the feed', () => {
  test('catches up from chat.db, cuts over and continues live, without gap or repeat', async () => {
    const pipeline = eventPipeline();
    pipeline.cursor.save({ offset: rowOffset(0), guid: null, inode: '1' });
    pipeline.publisher.start();
    pipeline.messages.addMany(1, 3000);
    await look(pipeline);
    await eventually(() => expect(pipeline.feed.lastPublished().rowId).toBe(3000));
    const reader = pipeline.feed.resume(rowOffset(0), nothing);
    const all: number[] = [];
    let next = 3001;
    while (!reader.isCaughtUp()) {
      all.push(...ids(reader.take(100).entries));
      if (next < 3100) {
        pipeline.messages.addMany(next, next);
        next += 1;
        await look(pipeline);
      }
    }
    expect(all).toEqual(Array.from({ length: next - 1 }, (_, index) => index + 1));
    const readsBefore = pipeline.messages.reads;
    pipeline.messages.addMany(next, next);
    await look(pipeline);
    expect(ids(reader.take(100).entries)).toEqual([next]);
    expect(pipeline.messages.reads).toBe(readsBefore); // live: from the ring
  });

  test('never reads beyond the last published row', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    pipeline.messages.add(arrival(1), arrival(2, { isIncomplete: true }));
    await look(pipeline);
    expect(ids(pipeline.feed.resume(rowOffset(0), nothing).take(10).entries)).toEqual([1]);
  });

  test('an `after` ahead of the published suppresses events up to it; one above every row is refused', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    pipeline.messages.add(arrival(1, { isIncomplete: true }), arrival(2), arrival(3));
    expect(pipeline.feed.resolve({ rowId: 2 })).toEqual(rowOffset(2));
    const reader = pipeline.feed.resume(rowOffset(2), nothing);
    await look(pipeline);
    await pipeline.clock.advance(2000);
    expect(ids(reader.take(10).entries)).toEqual([3]);
    expect(() => pipeline.feed.resolve({ rowId: 4 })).toThrow(expect.objectContaining({ status: 410 }));
    pipeline.messages.isAway = true;
    expect(() => pipeline.feed.resolve({ rowId: 1 })).toThrow(expect.objectContaining({ status: 503 }));
  });

  test('a row id from before the database was replaced is refused, except 0, and those that the service gives out', async () => {
    const { feed, messages, ...pipeline } = eventPipeline();
    messages.addMany(1, 5);
    pipeline.publisher.start();
    await look({ feed, messages, ...pipeline });
    expect(feed.resolve({ rowId: 3 })).toEqual(rowOffset(3));
    messages.rows.clear();
    messages.inode = '2';
    messages.add(arrival(4, { guid: 'other' }), arrival(9));
    await look({ feed, messages, ...pipeline });
    for (const rowId of [1, 5, 8]) {
      expect(() => feed.resolve({ rowId })).toThrow(expect.objectContaining({ status: 410 }));
    }
    for (const rowId of [0, 9]) expect(feed.resolve({ rowId })).toEqual(rowOffset(rowId));
    expect(feed.offsetText(rowOffset(9), undefined)).toBe('9');
  });

  test('rows deleted meanwhile are passed over, and the offset moves past them', async () => {
    const pipeline = eventPipeline();
    pipeline.cursor.save({ offset: rowOffset(0), guid: null, inode: '1' });
    pipeline.publisher.start();
    pipeline.messages.addMany(1, 2000);
    await look(pipeline);
    await eventually(() => expect(pipeline.feed.lastPublished().rowId).toBe(2000));
    for (let rowId = 1; rowId <= 2000; rowId += 1) if (rowId !== 5) pipeline.messages.rows.delete(rowId);
    const reader = pipeline.feed.resume(rowOffset(0), nothing);
    expect(ids(reader.take(10).entries)).toEqual([5]);
    expect(reader.isCaughtUp()).toBe(false);
    expect(reader.take(10)).toMatchObject({ entries: [], upTo: rowOffset(2000) });
    expect(reader.isCaughtUp()).toBe(true);
  });

  test('a resumed reader wakes up when chat.db is back', async () => {
    const pipeline = eventPipeline();
    pipeline.publisher.start();
    await look(pipeline);
    let wakes = 0;
    pipeline.feed.resume(rowOffset(0), () => {
      wakes += 1;
    });
    pipeline.messages.isAway = true;
    await look(pipeline);
    pipeline.messages.isAway = false;
    await look(pipeline);
    expect(wakes).toBe(1);
  });
});
