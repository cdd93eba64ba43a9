import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { openRowAges } from '../../src/core/event-log.ts';
import { Publisher } from '../../src/core/log/publisher.ts';
import { RunningTime } from '../../src/core/log/running-time.ts';
import { LATE_S } from '../../src/core/model/event.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { EarlierRows, Span } from '../../src/core/model/ports/row-ages-ports.ts';
import { AwakeClock } from '../../src/core/runtime/awake-clock.ts';
import { Cleanup } from '../../src/core/runtime/cleanup.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { rowAgeStore } from '../../src/core/state/row-ages-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { eventPipeline, nothing } from '../support/event-pipeline.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { arrival } from '../support/memory-log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const folder = temporaryFolder();
let files = 0;

/** Starts a service with a fake clock and its state.db; `cursor` is kept for later runs. */
async function start(
  clock = new FakeClock(),
  path = join(folder, `state-${++files}.db`),
  isFirstStart = false,
  earlier?: EarlierRows,
) {
  const pipeline = eventPipeline();
  const { messages, channel, cursor, log, feed } = pipeline;
  messages.addMany(1, 1);
  cursor.save({ offset: rowOffset(1), guid: 'G1', inode: '1' });
  const closers = new Cleanup(log);
  const state = openStateDatabase(path);
  closers.add('state', () => state.close());
  // A beat each second would make up most of the tests' work.
  const awake = new AwakeClock(clock, log, { beatMs: 5000 });
  awake.start();
  closers.add('clock', () => awake.close());
  const { ages, noteHealth } = openRowAges({ state, awake, isFirstStart, closers, log, earlier });
  const publisher = new Publisher({ messages, channel, cursor, ages, clock: awake, log });
  publisher.start();
  noteHealth(true);
  const reader = feed.live(nothing);
  let rowId = 1;
  return {
    ...{ clock, path, ages, noteHealth, messages, state },
    close: () => closers.close(),
    /** Returns the age of a row that arrives now and is dated this long ago; undefined if it is not old. */
    async ageS(datedMsAgo: number, options: Parameters<typeof arrival>[1] = {}): Promise<number | undefined> {
      rowId += 1;
      messages.add(arrival(rowId, { datedMs: clock.now() - datedMsAgo, ...options }));
      publisher.publishPending();
      await clock.advance(0);
      return reader.take(10).entries.at(-1)?.marks?.ageS;
    },
  };
}

/** Advances the clock as in a service that is awake. */
const pass = (clock: FakeClock, ms: number): Promise<void> => clock.advance(ms);

describe('a row that is older than its arrival', () => {
  test('is as old as the time that chat.db was watched meanwhile', async () => {
    const service = await start();
    await pass(service.clock, HOUR_MS);
    expect(await service.ageS(31 * MINUTE_MS)).toBe(31 * 60);
    expect(await service.ageS(2 * HOUR_MS)).toBe(60 * 60);
    expect(await service.ageS(59_000)).toBeUndefined();
    expect(await service.ageS(-HOUR_MS)).toBeUndefined();
  });

  test('is not old when it came during a sleep of the Mac', async () => {
    const service = await start();
    await pass(service.clock, HOUR_MS);
    service.clock.pause(8 * HOUR_MS);
    await pass(service.clock, 10_000);
    expect(await service.ageS(4 * HOUR_MS)).toBeUndefined();
    // A row written before that sleep should have arrived before it.
    expect(await service.ageS(9 * HOUR_MS)).toBeGreaterThan(LATE_S);
  });

  test('is not made old by the seconds for which a sleeping Mac wakes', async () => {
    const service = await start();
    for (let wakes = 0; wakes < 60; wakes += 1) {
      service.clock.pause(10 * MINUTE_MS);
      await pass(service.clock, 45_000);
    }
    expect(await service.ageS(9 * HOUR_MS)).toBeUndefined();
  });

  test('is not old when it came during an outage of the service', async () => {
    const first = await start();
    await pass(first.clock, HOUR_MS);
    await first.close();
    first.clock.pause(8 * HOUR_MS);
    const second = await start(first.clock, first.path);
    expect(await second.ageS(4 * HOUR_MS)).toBeUndefined();
    expect(await second.ageS(9 * HOUR_MS)).toBe(60 * 60);
  });

  test('is not old when it came while chat.db could not be read', async () => {
    const service = await start();
    service.noteHealth(false);
    await pass(service.clock, 2 * HOUR_MS);
    service.noteHealth(true);
    expect(await service.ageS(HOUR_MS)).toBeUndefined();
  });

  test('is history when it was written before the first start of all', async () => {
    const service = await start(undefined, undefined, true);
    expect(await service.ageS(10 * HOUR_MS)).toBe(10 * 60 * 60);
    expect(await service.ageS(5_000)).toBeUndefined();
  });

  test('is not made old by a clock that is set forward', async () => {
    const service = await start();
    await pass(service.clock, 10_000);
    service.clock.step(HOUR_MS * 24 * 365);
    expect(await service.ageS(HOUR_MS)).toBeUndefined();
  });
});

describe('a row that iCloud writes again after a sleep', () => {
  /**
   * Writes a row before a sleep of 22 hours, and returns the age of one that comes after it, dated before the first.
   */
  async function writtenAgain(earlier: EarlierRows) {
    const service = await start(undefined, undefined, false, earlier);
    await pass(service.clock, 10 * MINUTE_MS);
    await service.ageS(0);
    await pass(service.clock, 15 * MINUTE_MS);
    service.clock.pause(22 * HOUR_MS);
    await pass(service.clock, 9 * MINUTE_MS);
    return { ...service, again: await service.ageS(22 * HOUR_MS + 20 * MINUTE_MS) };
  }

  test('is late by the wall clock if an earlier row has its content, and names that row', async () => {
    const twin = { id: '1', guid: 'G1' };
    const { again, ages } = await writtenAgain({
      twinOf: (rowId) => (rowId === 3 ? twin : undefined),
      hasLater: () => false,
    });
    expect(again).toBeGreaterThan(22 * 3600);
    const details = {} as Parameters<typeof ages.added>[1];
    const message = { ...arrival(3).event.data, id: '3' } as Parameters<typeof ages.added>[0];
    expect(ages.added(message, details)).toEqual({ late: true, twin_of: twin });
  });

  test('is late if later rows of its conversation were published before the sleep', async () => {
    const asked: number[] = [];
    const { again } = await writtenAgain({
      twinOf: () => undefined,
      hasLater: (_rowId, upTo) => asked.push(upTo) > 0,
    });
    expect(again).toBeGreaterThan(22 * 3600);
    expect(asked).toEqual([2]);
  });

  test('is not late if it was never seen, or if it was written during the sleep', async () => {
    const unseen = await writtenAgain({ twinOf: () => undefined, hasLater: () => false });
    expect(unseen.again).toBeLessThan(LATE_S);
    const during = await start(undefined, undefined, false, { twinOf: () => undefined, hasLater: () => true });
    await pass(during.clock, HOUR_MS);
    during.clock.pause(8 * HOUR_MS);
    await pass(during.clock, 10_000);
    expect(await during.ageS(4 * HOUR_MS)).toBeUndefined();
    expect(await unseen.ageS(0)).toBeUndefined();
  });

  test('is late by the rows before a sleep of which the Mac woke for seconds alone', async () => {
    const asked: number[] = [];
    const service = await start(undefined, undefined, false, {
      twinOf: () => undefined,
      hasLater: (_rowId, upTo) => asked.push(upTo) > 0,
    });
    const { clock } = service;
    await pass(clock, 10 * MINUTE_MS);
    await service.ageS(0);
    for (let sleeps = 0; sleeps < 2; sleeps += 1) {
      clock.pause(10 * HOUR_MS);
      await pass(clock, 45_000);
      await service.ageS(0);
    }
    await service.ageS(20 * HOUR_MS + 5 * MINUTE_MS);
    expect(asked).toEqual([2]);
  });

  test.each([
    ['since', [2]],
    ['after the sleep', []],
  ] as const)('is not late by the rows of a chat.db that was replaced %s', async (replaced, upTo) => {
    const asked: number[] = [];
    const service = await start(undefined, undefined, false, {
      twinOf: () => undefined,
      hasLater: (_rowId, upTo) => asked.push(upTo) > 0,
    });
    const { clock, messages } = service;
    const replace = async (): Promise<void> => {
      messages.rows.clear();
      messages.inode = '2';
      await service.ageS(0);
    };
    await pass(clock, 10 * MINUTE_MS);
    if (replaced === 'since') await replace();
    clock.pause(22 * HOUR_MS);
    await pass(clock, 9 * MINUTE_MS);
    if (replaced === 'after the sleep') await replace();
    await service.ageS(22 * HOUR_MS + 20 * MINUTE_MS);
    expect(asked).toEqual(upTo);
  });
});

test('a late row says so in its details, and keeps its age for those who read it later', async () => {
  const service = await start();
  await pass(service.clock, 2 * HOUR_MS);
  expect(await service.ageS(HOUR_MS)).toBe(3600);
  expect(await service.ageS(10 * MINUTE_MS)).toBe(600);
  const late = arrival(2).event.data as Parameters<typeof service.ages.added>[0];
  const details = {} as Parameters<typeof service.ages.added>[1];
  expect(service.ages.added(late, details)).toEqual({ late: true });
  expect(service.ages.added({ ...late, id: '3' }, details)).toEqual({});
  const entries = service.ages.withAges(service.messages).entries(rowOffset(0), rowOffset(9), 10);
  expect(entries.map(({ rowId, marks }) => [rowId, marks?.ageS])).toEqual([
    [1, undefined],
    [2, 3600],
    [3, 600],
  ]);
});

describe('after a restart', () => {
  test('a late row is late to those who read it again, as if it came at once', async () => {
    const first = await start();
    await pass(first.clock, 2 * HOUR_MS);
    expect(await first.ageS(HOUR_MS)).toBe(3600);
    const { event } = arrival(2);
    await first.close();
    first.clock.pause(8 * HOUR_MS);
    const second = await start(first.clock, first.path);
    const details = {} as Parameters<typeof second.ages.added>[1];
    expect(second.ages.added(event.data as Parameters<typeof second.ages.added>[0], details)).toEqual({ late: true });
    second.messages.add(arrival(2));
    const entries = second.ages.withAges(second.messages).entries(rowOffset(1), rowOffset(2), 10);
    expect(entries.map(({ marks }) => marks?.ageS)).toEqual([3600]);
  });

  test('a row that a killed run saw and did not publish keeps the age of its first sighting', async () => {
    const killed = await start();
    await pass(killed.clock, 2 * HOUR_MS);
    expect(await killed.ageS(HOUR_MS)).toBe(3600);
    // The cursor was not stored, nor when this run watched chat.db.
    const second = await start(killed.clock, killed.path);
    expect(await second.ageS(HOUR_MS)).toBe(3600);
    expect(await second.ageS(HOUR_MS)).toBeUndefined();
  });

  test('runs that end at once leave no spans behind', async () => {
    let service = await start();
    for (let run = 0; run < 3; run += 1) service = await start(service.clock, service.path);
    expect(rowAgeStore(service.state).spans()).toHaveLength(1);
  });
});

test('of many periods in which chat.db was watched, the longest hundred are remembered', () => {
  const spans = Array.from({ length: 102 }, (_, at) => ({
    fromMs: at * HOUR_MS,
    toMs: at * HOUR_MS + (at === 7 ? 6 : at === 9 ? 50 : 30) * MINUTE_MS,
  }));
  const kept = new RunningTime(new FakeClock(), spans).spans;
  expect(kept).toHaveLength(100);
  expect([kept.includes(spans[7] as Span), kept.includes(spans[9] as Span)]).toEqual([false, true]);
});

describe('the ages in state.db', () => {
  const DAY_MS = 24 * HOUR_MS;

  test('are kept for 30 days, the newest 100,000', () => {
    const database = openStateDatabase(join(folder, `state-${++files}.db`));
    const store = rowAgeStore(database);
    store.add(new Map([[1, 4000]]), 0);
    store.add(new Map([[2, 4000]]), 29 * DAY_MS);
    expect([store.of(1), store.of(2)]).toEqual([4000, 4000]);
    store.add(new Map([[3, 4000]]), 30 * DAY_MS + 1);
    expect([store.of(1), store.of(2)]).toEqual([undefined, 4000]);
    store.add(new Map(Array.from({ length: 100_000 }, (_, place) => [place + 4, 4000])), 31 * DAY_MS);
    expect([store.of(3), store.of(4), store.of(100_003)]).toEqual([undefined, 4000, 4000]);
    database.close();
  });

  test('stay as at the first sighting, and go with a replaced chat.db', () => {
    const path = join(folder, `state-${++files}.db`);
    const database = openStateDatabase(path);
    rowAgeStore(database).add(new Map([[7, 4000]]), 0);
    rowAgeStore(database).add(new Map([[7, 90]]), 1);
    expect(rowAgeStore(database).of(7)).toBe(4000);
    cursorStore(database).restart({ offset: rowOffset(3), guid: 'G3', inode: '2' });
    expect(rowAgeStore(database).of(7)).toBeUndefined();
    database.close();
    expect(openSqlite(path).prepare('SELECT count(*) FROM row_age').get()).toEqual([0]);
  });
});

describe('the delay of incoming iMessages', () => {
  /** Lets messages arrive with these delays, in seconds. */
  async function delayed(delaysS: readonly number[], options: Parameters<typeof arrival>[1] = { isImessage: true }) {
    const service = await start();
    await pass(service.clock, HOUR_MS);
    for (const delayS of delaysS) await service.ageS(delayS * 1000, options);
    return service;
  }

  test.each([
    [[10], { median_s: 10, max_s: 10, messages: 1 }],
    [[30, 10, 20], { median_s: 20, max_s: 30, messages: 3 }],
    [[40, 10, 30, 20.5], { median_s: 25.3, max_s: 40, messages: 4 }],
    [[1700, ...Array<number>(20).fill(1)], { median_s: 1, max_s: 1, messages: 20 }],
    // Added again by iCloud, or dated by a clock that is ahead.
    [[2000, 5, -100], { median_s: 2.5, max_s: 5, messages: 2 }],
  ])('of %j s is %j', async (delaysS, report) => {
    expect((await delayed(delaysS)).ages.delays.status()).toEqual(report);
  });

  test('is a warning of health when the median exceeds 2 minutes, until messages are quick again', async () => {
    const service = await delayed([600, 100, 700]);
    expect(service.ages.delays.warning()).toContain('half of the last 3 took 10 min or longer');
    for (const _ of [1, 2]) await service.ageS(1000, { isImessage: true });
    expect(service.ages.delays.warning()).toBeUndefined();
  });

  test.each([
    ['of SMS', { isImessage: false }],
    ['of a canary', { isImessage: true, marks: { isHidden: true as const } }],
    ['of what the owner sent', { isImessage: true, event: { ...arrival(1).event, type: 'message.sent' } as never }],
  ])('is not %s', async (_what, options) => {
    expect((await delayed([600], options)).ages.delays.status()).toBeUndefined();
  });

  test('does not count sleep', async () => {
    const service = await start();
    await pass(service.clock, HOUR_MS);
    service.clock.pause(8 * HOUR_MS);
    await pass(service.clock, 10_000);
    await service.ageS(20 * MINUTE_MS, { isImessage: true });
    expect(service.ages.delays.status()?.max_s).toBeLessThan(15);
  });
});
