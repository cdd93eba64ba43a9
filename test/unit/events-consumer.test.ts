import { describe, expect, test } from '@jest/globals';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { type Offset, rowOffset } from '../../src/core/model/offset.ts';
import type { ConsumerTask, Handled } from '../../src/core/model/ports/feed-ports.ts';
import { problem } from '../../src/core/model/problems.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { arrival, MemoryLog } from '../support/memory-log.ts';

/** A consumer that stores its offset in `stored`, with its own log and channel. */
class Fixture implements ConsumerTask<string> {
  readonly name = 'test';
  readonly clock = new FakeClock();
  readonly log = collectingLog();
  readonly messages = new MemoryLog();
  readonly channel = new Channel();
  readonly feed = new Feed({ channel: this.channel, messages: this.messages, clock: this.clock, log: this.log });
  stored = rowOffset(0);
  readonly handled: number[] = [];
  readonly records: (string | undefined)[] = [];
  /** Handles an entry; tests replace it. */
  work: (entry: LogEntry) => Promise<Handled<string>> = async () => ({ isDone: true });

  storedOffset(): Offset {
    return this.stored;
  }

  async handle(entry: LogEntry): Promise<Handled<string>> {
    this.handled.push(entry.rowId);
    return this.work(entry);
  }

  gone(first: number, last: number): string {
    return `${first}-${last}`;
  }

  progress(offset: Offset, record?: string): void {
    this.stored = offset;
    if (record !== undefined) this.records.push(record);
  }

  publish(...rowIds: readonly number[]): void {
    const rows = rowIds.map((rowId) => arrival(rowId));
    this.messages.add(...rows);
    this.channel.publish(rows);
  }
}

describe('a consumer', () => {
  test('is one reader of the channel, also after its position was moved, and none once it has stopped', async () => {
    const fixture = new Fixture();
    const consumer = fixture.feed.consume(fixture);
    consumer.start();
    consumer.seek(rowOffset(0));
    expect(fixture.channel.members).toBe(1);
    consumer.stop();
    await consumer.ended;
    expect(fixture.channel.members).toBe(0);
  });

  test('handles every entry in order and keeps its offset, also for a later one', async () => {
    const fixture = new Fixture();
    const first = fixture.feed.consume(fixture);
    first.start();
    fixture.publish(1, 2, 3);
    await eventually(() => expect(fixture.stored.rowId).toBe(3));
    first.stop();
    await first.ended;
    fixture.publish(4, 5);
    const second = fixture.feed.consume(fixture);
    second.start();
    await eventually(() => expect(fixture.stored.rowId).toBe(5));
    expect(fixture.handled).toEqual([1, 2, 3, 4, 5]);
    second.stop();
  });

  test.each(['an entry', 'what comes first'])('that repeats %s without end lets everything else run', async (what) => {
    const fixture = new Fixture();
    let repeats = 0;
    /** Ends by itself, so that the test fails instead of hanging. */
    const repeat = async (): Promise<boolean> => {
      repeats += 1;
      return repeats < 1000;
    };
    fixture.work = async () => ({ isDone: !(await repeat()) });
    let isFirst = what !== 'an entry';
    const first = async (): Promise<void> => {
      isFirst = await repeat();
    };
    const consumer = fixture.feed.consume(Object.assign(fixture, { first: () => (isFirst ? first() : undefined) }));
    fixture.publish(1);
    consumer.start();
    await new Promise<void>((resolve) => void setImmediate(resolve));
    consumer.stop();
    await consumer.ended;
    expect(repeats).toBeLessThan(10);
  });

  test('handles an entry again that was interrupted or failed, and does not move before', async () => {
    const fixture = new Fixture();
    let attempts = 0;
    fixture.work = async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('broken');
      return { isDone: true };
    };
    const consumer = fixture.feed.consume(fixture);
    consumer.start();
    fixture.publish(1);
    await eventually(() => expect(fixture.log.lines.length).toBe(1));
    expect(fixture.stored).toEqual(rowOffset(0));
    expect(fixture.log.lines[0]).toMatchObject({ level: 'error', fields: { consumer: 'test' } });
    await fixture.clock.advance(1000);
    await eventually(() => expect(fixture.stored.rowId).toBe(1));
    expect(fixture.handled).toEqual([1, 1]);
    consumer.stop();
  });

  test('records deleted rows as gone, between entries and at the end', async () => {
    const fixture = new Fixture();
    fixture.messages.addMany(1, 9);
    for (const rowId of [1, 4, 5, 9]) fixture.messages.rows.delete(rowId);
    fixture.channel.restart(rowOffset(9));
    const consumer = fixture.feed.consume(fixture);
    consumer.start();
    await eventually(() => expect(fixture.stored.rowId).toBe(9));
    expect(fixture.handled).toEqual([2, 3, 6, 7, 8]);
    expect(fixture.records).toEqual(['1-1', '4-5', '9-9']);
    consumer.stop();
  });

  test('waits while chat.db is away without a word in the log', async () => {
    const fixture = new Fixture();
    fixture.messages.addMany(1, 2000);
    fixture.channel.restart(rowOffset(2000));
    fixture.messages.isAway = true;
    const consumer = fixture.feed.consume(fixture);
    consumer.start();
    await eventually(() => expect(fixture.clock.pending).toBe(1));
    fixture.messages.isAway = false;
    await fixture.clock.advance(1000);
    await eventually(() => expect(fixture.stored.rowId).toBe(2000));
    expect(fixture.log.lines).toEqual([]);
    consumer.stop();
  });

  test('continues from its stored offset when the log was replaced', async () => {
    const fixture = new Fixture();
    const consumer = fixture.feed.consume(fixture);
    consumer.start();
    fixture.publish(1000);
    await eventually(() => expect(fixture.stored.rowId).toBe(1000));
    fixture.stored = rowOffset(20); // done by the cursor's restart for every consumer
    fixture.channel.restart(rowOffset(20));
    fixture.publish(21, 22);
    await eventually(() => expect(fixture.stored.rowId).toBe(22));
    expect(fixture.handled).toEqual([1000, 21, 22]);
    consumer.stop();
  });

  test('that is moved back while it handles an entry records it and begins at the new offset', async () => {
    const fixture = new Fixture();
    const consumer = fixture.feed.consume(fixture);
    let finish: (() => void) | undefined;
    fixture.work = (entry) =>
      new Promise((resolve) => {
        finish = () => resolve({ isDone: true, record: `done ${entry.rowId}` });
      });
    consumer.start();
    fixture.publish(1, 2, 3);
    await waitFor(() => finish);
    fixture.work = async () => ({ isDone: true });
    finish?.();
    await eventually(() => expect(fixture.stored.rowId).toBe(3));
    let second: (() => void) | undefined;
    fixture.work = () =>
      new Promise((resolve) => {
        second = () => resolve({ isDone: true, record: 'late' });
      });
    fixture.publish(4);
    await waitFor(() => second);
    consumer.seek(rowOffset(1));
    fixture.work = async () => ({ isDone: true });
    second?.();
    await eventually(() => expect(fixture.handled.length).toBe(7));
    expect(fixture.handled).toEqual([1, 2, 3, 4, 2, 3, 4]);
    expect(fixture.records).toEqual(['done 1', 'late']);
    await eventually(() => expect(consumer.offset.rowId).toBe(4));
    consumer.stop();
  });

  test('passes on that it wants backpressure', async () => {
    const fixture = new Fixture();
    fixture.feed.consume(fixture, { backpressure: true });
    fixture.publish(1);
    let isDrained = false;
    void fixture.channel.drained(fixture.clock, 250).then(() => {
      isDrained = true;
    });
    await fixture.clock.advance(249);
    expect(isDrained).toBe(false);
    await fixture.clock.advance(1);
    await waitFor(() => isDrained);
  });

  test('reports an error of the application as any other', async () => {
    const fixture = new Fixture();
    fixture.work = async () => {
      throw problem('internal_error');
    };
    const consumer = fixture.feed.consume(fixture);
    consumer.start();
    fixture.publish(1);
    await eventually(() => expect(fixture.log.lines.length).toBe(1));
    consumer.stop();
    await consumer.ended;
    expect(fixture.stored).toEqual(rowOffset(0));
  });
});
