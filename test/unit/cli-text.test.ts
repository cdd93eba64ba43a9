import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ProgressLine } from '../../src/core/cli/output/progress.ts';
import { isColoured, painter, stateStyle } from '../../src/core/cli/output/style.ts';
import { table } from '../../src/core/cli/output/table.ts';
import { columnsOf, fitted, json, jsonLine, oneLine, printable, wrapped } from '../../src/core/cli/output/text.ts';
import { shownSpan, shownTime } from '../../src/core/cli/output/time.ts';
import { justBefore, sinceTime } from '../../src/core/cli/since.ts';
import { parseInstant } from '../../src/core/schema/instant.ts';
import { FakeClock } from '../support/fake-clock.ts';

describe('text of others on a terminal', () => {
  test('can neither colour, nor move, nor turn the direction, nor set a title', () => {
    expect(oneLine('\x1b[31mred\x1b]0;title\x07 \u009b2J \u202Eevil\u2066 \x7f\uFFFC')).toBe(
      '[31mred]0;title 2J evil ',
    );
    expect(printable('one\ntwo\r\x1b[A')).toBe('one\ntwo[A');
  });

  test('stays on one line', () => {
    expect(oneLine(' first \n\n second\r\nthird\u2028fourth\tfifth ')).toBe('first ⏎ second ⏎ third ⏎ fourth fifth');
  });

  test('is plain ASCII for controls in JSON, and the same when it is read', () => {
    const value = { body: '\x1b\x7f\u009b\u202e\u2028\u200e\u200f\u061cü🎉' };
    const text = String.raw`"\u001b\u007f\u009b\u202e\u2028\u200e\u200f\u061cü🎉"`;
    expect(json(value)).toBe(`{"body":${text}}`);
    expect(json(value, 2)).toBe(`{\n  "body": ${text}\n}`);
    expect(JSON.parse(json(value))).toEqual(value);
    expect(jsonLine(JSON.stringify(value))).toBe(json(value));
  });
});

describe('columns', () => {
  test.each([
    ['plain', 5],
    ['Grüße', 5],
    ['e\u0301', 1],
    ['明日', 4],
    ['ﾃｽﾄ', 3],
    ['한국', 4],
    ['🎉', 2],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['⏎', 1],
  ])('%s takes %d', (text, columns) => {
    expect(columnsOf(text)).toBe(columns);
  });

  test('text is cut where it no longer fits, never inside a character', () => {
    expect(fitted('short', 5)).toBe('short');
    expect(fitted('longer', 5)).toBe('long…');
    expect(fitted('明日行', 4)).toBe('明…');
    expect(fitted('👩‍👩‍👧 family', 3)).toBe('👩‍👩‍👧…');
    expect(fitted('any', 0)).toBe('');
  });
});

describe('a long sentence', () => {
  test('is broken between words, indented, and a path stays whole', () => {
    expect(wrapped('The file /a/very/long/path/of/a/file is gone.', 16, 2)).toEqual([
      '  The file',
      '  /a/very/long/path/of/a/file',
      '  is gone.',
    ]);
  });

  test('is one line in a pipe', () => {
    expect(wrapped('one two three', undefined, 4)).toEqual(['    one two three']);
  });
});

test.each([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ TERM: 'dumb' }, true, false],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '0' }, true, false],
  [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
])('with %j and terminal: %s there is colour: %s', (env, isTerminal, expected) => {
  expect(isColoured({ env, platform: 'linux', homeFolder: '/' }, isTerminal)).toBe(expected);
});

test('work of over a second shows a line that counts, and that is erased before anything is printed', async () => {
  const clock = new FakeClock();
  const written: string[] = [];
  const line = new ProgressLine((text) => void written.push(text), clock);
  line.start('Waiting for Postern');
  await clock.advance(999);
  line.end();
  expect([written, clock.pending]).toEqual([[], 0]);
  line.start('Waiting for Postern');
  await clock.advance(1500);
  line.start('Sending');
  await clock.advance(500);
  line.end();
  expect(written).toEqual(['\r\x1b[KWaiting for Postern … 1 s', '\r\x1b[KSending … 2 s', '\r\x1b[K']);
  expect(clock.pending).toBe(0);
});

describe('--since and --until', () => {
  const nowMs = new Date(2026, 10, 22, 11, 30).getTime();
  const local = (...parts: [number, number, number, number?, number?, number?]): number => new Date(...parts).getTime();

  test.each([
    ['2h', local(2026, 10, 22, 9, 30)],
    ['90m', local(2026, 10, 22, 10, 0)],
    ['today', local(2026, 10, 22)],
    ['yesterday', local(2026, 10, 21)],
    ['2026-11-01', local(2026, 10, 1)],
    ['2026-11-01 08:00', local(2026, 10, 1, 8)],
    ['2026-11-01T08:00:30', local(2026, 10, 1, 8, 0, 30)],
    ['2026-11-01T08:00:00Z', Date.UTC(2026, 10, 1, 8)],
    ['2026-11-01T08:00:00.25+02:00', Date.UTC(2026, 10, 1, 6, 0, 0, 250)],
  ])('%s is meant in the time of this machine', (value, instant) => {
    expect(sinceTime(value, nowMs)).toBe(instant);
  });

  test.each([
    ...['', 'tomorrow', '2', '2y', '-2h', '2026-02-30', '2026-13-01', '1.11.2026', '0026-01-01'],
    ...['2026-11-01T08:00 or so', '2026-02-30T08:00Z', '2026-11-01T25:00', '2026-11-01T08:60', '2026-11-01T24:00'],
  ])('%j is refused', (value) => {
    expect(() => sinceTime(value, nowMs)).toThrow('It must be one of: 2h, 3d, today, yesterday');
  });

  test('the service, whose `since` is exclusive, is asked for the beginning too', () => {
    const since = parseInstant(justBefore(Date.UTC(2026, 10, 1, 4)));
    expect(since).toBe(BigInt(Date.UTC(2026, 10, 1, 4)) * 1_000_000n - 1n);
  });
});

describe('a table', () => {
  const columns = [{ title: 'ID' }, { title: 'TEXT', isFlexible: true, least: 4 }];

  test('is as wide as its content without another width', () => {
    expect(table(columns, [['1', 'a'.repeat(200)]], undefined)[1]).toBe(`1   ${'a'.repeat(200)}`);
  });

  test('fits the terminal, with wide characters too', () => {
    const lines = table(
      columns,
      [
        ['1234', '明日行きます。'.repeat(9)],
        ['5', 'short'],
      ],
      30,
    );
    expect(lines).toEqual(['ID    TEXT', expect.stringMatching(/^1234 {2}明日.*…$/u), '5     short']);
    for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(30);
  });

  test('fits 80 columns whatever is in it, as long as what must be read leaves some room', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ' ', '明', '🎉', 'é'), maxLength: 90 });
    const least = fc.integer({ min: 8, max: 30 });
    const all = fc.array(least, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(all, fc.array(fc.array(cell, { minLength: 4, maxLength: 4 }), { maxLength: 5 }), (leasts, rows) => {
        const flexible = leasts.map((one, place) => ({ title: `T${place}`, isFlexible: true, least: one }));
        const cells = rows.map((row) => ['2026-11-22 11:26', 'message.received', ...row.slice(0, leasts.length)]);
        for (const line of table([{ title: 'AT' }, { title: 'EVENT' }, ...flexible], cells, 80)) {
          expect(columnsOf(line)).toBeLessThanOrEqual(80);
        }
      }),
    );
  });

  test('is painted cell by cell, and takes no more columns for it', () => {
    const styled = [{ title: 'STATE', style: stateStyle }, { title: 'TEXT' }];
    const rows = [
      ['failing', 'x'],
      ['none', 'y'],
    ];
    const lines = table(styled, rows, 80, painter(true));
    expect(lines).toEqual(['\x1b[1mSTATE\x1b[22m    \x1b[1mTEXT\x1b[22m', '\x1b[31mfailing\x1b[39m  x', 'none     y']);
    expect(lines.map((line) => stripVTControlCharacters(line))).toEqual(table(styled, rows, 80));
  });

  test('keeps what must be read even where the terminal is too narrow for it', () => {
    expect(table(columns, [['1234567890', 'abcdefgh']], 8)[1]).toBe('1234567890  abc…');
  });

  test('without rows is its titles', () => {
    expect(table(columns, [], 80)).toEqual(['ID  TEXT']);
  });
});

describe('time', () => {
  const nowMs = new Date(2026, 0, 2, 12, 0, 0).getTime();

  test('of today is a clock time, of another day has the day', () => {
    expect(shownTime(new Date(2026, 0, 2, 3, 4, 5).toISOString(), nowMs)).toBe('03:04:05');
    expect(shownTime(new Date(2026, 0, 1, 23, 59, 59).toISOString(), nowMs)).toBe('2026-01-01 23:59');
  });

  test.each([
    [0, '0 s'],
    [59, '59 s'],
    [3599, '59 min'],
    [3660, '1 h 1 min'],
    [100_000, '27 h 46 min'],
    [200_000, '2 days 7 h'],
  ])('%d seconds are %s', (seconds, shown) => {
    expect(shownSpan(seconds)).toBe(shown);
  });
});
