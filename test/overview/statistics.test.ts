import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { type PastEvent, type PastEvents, pastEvents } from '../../src/core/chatdb/past-events.ts';
import type { DeliveryRecord } from '../../src/core/model/webhook.ts';
import { Counters } from '../../src/core/runtime/counters.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { overview } from '../../src/features/overview/feature.ts';
import { Statistics } from '../../src/features/overview/statistics.ts';
import { statisticStore } from '../../src/features/overview/statistics-store.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const folder = temporaryFolder();
let files = 0;

/** Events that chat.db has, in any order. */
const pastOf = (events: readonly (readonly [atMs: number, type: PastEvent['type']])[]): PastEvents =>
  function* (beforeMs, limit) {
    const left = events.map(([atMs, type]) => ({ atMs, type })).filter(({ atMs }) => atMs < beforeMs);
    left.sort((a, b) => b.atMs - a.atMs);
    while (left.length > 0) yield left.splice(0, limit);
  };

function opened(clock = new FakeClock(), past: PastEvents = pastOf([])) {
  files += 1;
  const path = join(folder, `state-${files}.db`);
  const database = openStateDatabase(path, [overview]);
  const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
  const make = () => new Statistics({ store: statisticStore(database), past, clock, log: collectingLog(), startOfDay });
  return { path, database, clock, statistics: make(), make };
}

function delivery(duration_ms: number, more: Partial<DeliveryRecord> = {}): DeliveryRecord {
  const record = {
    id: 'd',
    at: '',
    event: 'message.received',
    row_id: 1,
    attempts: 1,
    status: 200,
    error: null,
  } as const;
  return { ...record, outcome: 'delivered', duration_ms, ...more };
}

const total = (statistics: Statistics, by: 'minute' | 'hour' | 'day', last: number): number =>
  (statistics.series('events', by, last).get('')?.points ?? [])
    .flatMap(({ counts }) => Object.values(counts))
    .reduce((sum, count) => sum + count, 0);

describe('counters over time', () => {
  test('count what happened before anybody asks', () => {
    const { statistics, clock } = opened();
    statistics.count('sends', 'sent');
    expect(statistics.series('sends', 'day', 1).get('')?.points[0]?.counts).toEqual({ sent: 1 });
    expect(statistics.sinceMs).toBe(clock.now());
  });

  test('have the events of before the first start from chat.db, each once', async () => {
    const clock = new FakeClock();
    const nowMs = clock.now();
    const past = pastOf([
      [nowMs - 60 * DAY_MS, 'message.received'],
      [nowMs - 3 * DAY_MS, 'message.received'],
      [nowMs - 5 * HOUR_MS, 'reaction.removed'],
      [nowMs - 30_000, 'message.sent'],
      // A date in the future is of no event of before.
      [nowMs + DAY_MS, 'message.sent'],
    ]);
    const { statistics, make } = opened(clock, past);
    expect(statistics.eventsSinceMs).toBe(nowMs);
    await statistics.fill();
    statistics.count('events', 'received');
    expect([total(statistics, 'minute', 60), total(statistics, 'hour', 48), total(statistics, 'day', 30)]).toEqual([
      2, 3, 4,
    ]);
    expect(statistics.eventsSinceMs).toBe(nowMs - 31 * DAY_MS);
    statistics.flush();
    const restarted = make();
    await restarted.fill();
    expect(total(restarted, 'day', 30)).toBe(4);
  });

  test('say from when on events are complete if chat.db has too many, or cannot be read', async () => {
    const clock = new FakeClock();
    const nowMs = clock.now();
    const many = Array.from({ length: 25_000 }, (_, n) => [nowMs - (25_000 - n) * 1000, 'message.received'] as const);
    const { statistics } = opened(clock, pastOf(many));
    await statistics.fill();
    expect(statistics.eventsSinceMs).toBe(nowMs - 20_000_000);
    expect(total(statistics, 'day', 2)).toBe(20_000);
    let isAway = true;
    const unreadable = opened(clock, (...asked) => {
      if (isAway) throw new Error('away');
      return pastOf([[nowMs - 1000, 'message.sent']])(...asked);
    });
    await unreadable.statistics.fill();
    expect(unreadable.statistics.eventsSinceMs).toBe(nowMs);
    isAway = false;
    await unreadable.statistics.fill();
    expect(total(unreadable.statistics, 'day', 1)).toBe(1);
  });

  test('have all events of the last 30 days when iCloud inserted older messages behind them', async () => {
    const clock = new FakeClock();
    const fixture = new ChatFixture(join(folder, 'icloud.db'));
    const chat = fixture.chat('iMessage;-;+15550100', ['+15550100']);
    const at = (ms: number): bigint => appleNs(new Date(clock.now() - ms).toISOString());
    const add = (count: number, dateOf: (n: number) => bigint): void =>
      fixture.transaction(() => {
        for (let n = 0; n < count; n += 1) fixture.message({ chat, text: 'x', date: dateOf(n) });
      });
    add(3000, (n) => at(DAY_MS + (n % 3) * HOUR_MS));
    add(2500, (n) => at(1000 * DAY_MS - n));
    const connection = new Connection({ path: fixture.path, home: folder, log: collectingLog() });
    const { statistics } = opened(clock, pastEvents(connection));
    await statistics.fill();
    connection.close();
    expect(total(statistics, 'day', 30)).toBe(3000);
    expect(statistics.eventsSinceMs).toBe(clock.now() - 31 * DAY_MS);
  });

  test('take only what takes a reaction back for a removal', () => {
    const fixture = new ChatFixture(join(folder, 'reactions.db'));
    const date = appleNs('2026-01-01T00:00:00Z');
    for (const type of [2000, 3000, 4000]) fixture.message({ date, associated_message_type: type });
    const connection = new Connection({ path: fixture.path, home: folder, log: collectingLog() });
    const [events] = pastEvents(connection)(Date.parse('2026-01-02T00:00:00Z'), 3);
    connection.close();
    expect(events?.map(({ type }) => type)).toEqual(['reaction.added', 'reaction.removed', 'reaction.added']);
  });

  test('count from the first start on, by minute, hour and day, and survive a restart', async () => {
    const { statistics, clock, make } = opened();
    statistics.count('events', 'received');
    await clock.advance(MINUTE_MS);
    statistics.count('events', 'received');
    statistics.count('events', 'sent');
    expect([total(statistics, 'minute', 1), total(statistics, 'minute', 2), total(statistics, 'day', 30)]).toEqual([
      2, 3, 3,
    ]);
    const restarted = make();
    restarted.count('events', 'sent');
    expect(restarted.sinceMs).toBe(statistics.sinceMs);
    expect(total(restarted, 'hour', 48)).toBe(4);
    // Every span is listed, including those without an event.
    expect(restarted.series('events', 'minute', 60).get('')?.points).toHaveLength(60);
  });

  test('are written at most every ten seconds, however much happens', async () => {
    const { statistics, database, clock } = opened();
    const stored = () => Number(database.prepare('SELECT sum(count) FROM statistic').get()?.[0] ?? 0);
    for (let n = 0; n < 1000; n += 1) statistics.count('events', 'received');
    await clock.advance(9999);
    expect(stored()).toBe(0);
    await clock.advance(1);
    expect(stored()).toBe(3000);
  });

  test('older minutes, hours and days are forgotten', async () => {
    const { statistics, database, clock } = opened();
    statistics.count('events', 'received');
    statistics.flush();
    const spans = () => database.prepare('SELECT DISTINCT span FROM statistic ORDER BY span').all().flat();
    await clock.advance(2 * HOUR_MS);
    statistics.count('sends', 'sent');
    statistics.flush();
    expect(database.prepare("SELECT count(*) FROM statistic WHERE kind = 'events' AND span = 'minute'").get()).toEqual([
      0,
    ]);
    expect(spans()).toEqual(['day', 'hour', 'minute']);
    expect(total(statistics, 'hour', 48)).toBe(1);
  });

  test('tell a webhook’s typical response time within 12 percent, without retries and tests', () => {
    const { statistics } = opened();
    for (let n = 0; n < 90; n += 1) statistics.countDelivery(delivery(40), 'w');
    for (let n = 0; n < 10; n += 1) statistics.countDelivery(delivery(1200), 'w');
    statistics.countDelivery(delivery(9000, { attempts: 3 }), 'w');
    statistics.countDelivery(delivery(9000, { event: 'webhook.test' }), 'w');
    statistics.countDelivery(delivery(7000, { outcome: 'dropped', attempts: 3 }), 'w');
    const { points = [], median_ms: median, p95_ms: p95 } = statistics.series('webhooks', 'hour', 24).get('w') ?? {};
    expect(points.at(-1)?.counts).toEqual({ delivered: 100, retried: 1, dropped: 1 });
    expect(Math.abs((median ?? 0) / 40 - 1)).toBeLessThan(0.12);
    expect(Math.abs((p95 ?? 0) / 1200 - 1)).toBeLessThan(0.12);
  });

  test('count sends in the words of the home page, and pretended and repeated ones not at all', () => {
    const { statistics } = opened();
    const counters = new Counters();
    counters.sends.onInc = ({ outcome }) => statistics.countSend(outcome);
    for (const outcome of [
      'confirmed',
      'provisional',
      'replayed',
      'dry_run',
      'held',
      'cap_reached',
      'send_failed',
      'misdirected',
    ]) {
      counters.sends.inc({ outcome });
    }
    const [today] = statistics.series('sends', 'day', 1).get('')?.points ?? [];
    expect(today?.counts).toEqual({ sent: 1, pending: 1, held: 1, refused: 1, failed: 1, unknown: 1 });
  });

  test('a disk that is full loses counts and nothing else', () => {
    const { clock } = opened();
    const log = collectingLog();
    const full = {
      begin: () => 0,
      eventsFrom: () => 0,
      addPast: () => {},
      add: () => {
        throw new Error('disk full');
      },
      read: () => [],
    };
    const statistics = new Statistics({ store: full, past: pastOf([]), clock, log, startOfDay: (ms) => ms });
    statistics.count('events', 'received');
    expect(() => statistics.flush()).not.toThrow();
  });
});
