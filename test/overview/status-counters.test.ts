import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import type { Overview } from '../../src/client/overview-types.ts';
import { painter } from '../../src/core/cli/output/style.ts';
import { columnsOf } from '../../src/core/cli/output/text.ts';
import { counterLines, counterTables } from '../../src/features/overview/shown.ts';
import { PLAIN } from '../support/plain-context.ts';

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');
const minutes = (counts: Readonly<Record<number, number>>) =>
  Array.from({ length: 60 }, (_, minute) => ({
    at: new Date(NOW_MS - (59 - minute) * 60_000).toISOString(),
    counts: counts[minute] === undefined ? {} : { received: counts[minute] },
  }));
const hours = (last: Readonly<Record<string, number>>) =>
  Array.from({ length: 24 }, (_, hour) => ({ at: '', counts: hour === 23 ? last : {} }));

const OVERVIEW = {
  since: '2026-11-01T00:00:00Z',
  day: '2026-11-23T00:00:00Z',
  events: { since: '2026-11-23T00:00:00Z', today: 1038, minutes: minutes({ 0: 1, 58: 20, 59: 10 }) },
  sends: { since: '2026-11-23T00:00:00Z', today: { sent: 4, held: 1, refused: 2 } },
  webhooks: [
    {
      origin: 'https://example.org',
      state: 'failing',
      behind: 3,
      points: hours({ delivered: 2, dropped: 1 }),
      median_ms: 12,
    },
    {
      name: 'a name that is far too long for one column of a table',
      origin: 'http://b',
      state: 'healthy',
      behind: 0,
      points: hours({}),
      median_ms: null,
    },
    {
      name: 'almost',
      origin: 'http://c',
      state: 'healthy',
      behind: 0,
      points: hours({ delivered: 99_999, dropped: 1 }),
      median_ms: 1,
    },
    {
      name: 'held for a while',
      origin: 'http://d',
      state: 'healthy',
      behind: 0,
      points: hours({ delivered: 6, retried: 1, failed: 3 }),
      median_ms: 1,
    },
  ],
  keys: [
    {
      name: 'agent',
      today: { read: 3, asked: 1, sent: 0, refused: 2 },
      hours: Array.from({ length: 24 }, (_, hour) => (hour === 23 ? 6 : 0)),
    },
  ],
} as unknown as Overview;

const TERMINAL = { ...PLAIN, columns: 80, isTerminal: true, paint: painter(true) };
const PIPE = { ...PLAIN, isTerminal: false };
const tables = (context: typeof TERMINAL | typeof PIPE): readonly string[] =>
  counterTables(OVERVIEW, context as unknown as Parameters<typeof counterTables>[1]);

describe('the counters of postern status', () => {
  test('say in words what the bars show', () => {
    expect(counterLines(OVERVIEW, NOW_MS)).toEqual([
      {
        name: 'Events',
        bars: `▂${'▁'.repeat(28)}█`,
        text: '31 in the last hour, 1,038 today',
      },
      { name: 'Sends', text: '4 sent, 1 waited for you, 2 refused today' },
    ]);
  });

  test('say since when they count, and never that there was nothing before', () => {
    const since = new Date(NOW_MS - 60_000).toISOString();
    const young = { ...OVERVIEW, sends: { since, today: {} } };
    const [events, sends] = counterLines(young, NOW_MS);
    expect(events?.text).toBe('31 in the last hour, 1,038 today');
    expect(sends?.text).toMatch(/^none since \d\d:59:00$/);
    const [, all] = counterLines({ ...young, sends: { since, today: { sent: 2 } } }, NOW_MS);
    expect(all?.text).toMatch(/^2 sent since \d\d:59:00$/);
  });

  test('fit 80 columns with their bars, and never round a failure away', () => {
    const lines = tables(TERMINAL).map(stripVTControlCharacters);
    expect(Math.max(...lines.map(columnsOf))).toBeLessThanOrEqual(80);
    expect(lines[2]).toMatch(/^example\.org +▁{23}█ {2}66\.7 % +12 ms +3$/);
    expect(lines[3]).toMatch(/^a name that is .*… {2}▁{24} {2}- +- +0$/);
    expect(lines[4]).toContain('99.9 %');
    expect(lines.at(-1)).toMatch(/^agent +▁{23}█ {2}3 +1 +0 +2$/);
    expect(tables(TERMINAL).join('')).toContain('\x1b[36m▁');
    expect(tables(TERMINAL)[2]).toContain('\x1b[31m66.7 %');
  });

  test('say 100 % once everything has arrived, whatever attempts failed before', () => {
    expect(tables(PIPE).find((row) => row.startsWith('held'))).toMatch(/^held for a while +100 % /);
  });

  test('have neither bars nor colour in a pipe', () => {
    const text = tables(PIPE).join('\n');
    expect(text).not.toMatch(/[▁-█]/);
    expect(text).toBe(stripVTControlCharacters(text));
    expect(text).toMatch(/^WEBHOOK +DELIVERED +TYPICAL +WAITING$/m);
    expect(text).toMatch(/^agent +3 +1 +0 +2$/m);
  });
});
