import { describe, expect, test } from '@jest/globals';
import { table } from '../../src/cli/output/table.ts';
import { columnsOf, fitted, json, oneLine, printable } from '../../src/cli/output/text.ts';
import { shownSpan, shownTime } from '../../src/cli/output/time.ts';

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
    const value = { body: '\x1b\x7f\u009b\u202e\u2028ü🎉' };
    expect(json(value)).toBe(String.raw`{"body":"\u001b\u007f\u009b\u202e\u2028ü🎉"}`);
    expect(JSON.parse(json(value))).toEqual(value);
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

describe('a table', () => {
  const columns = [{ title: 'ID' }, { title: 'TEXT', isFlexible: true, least: 4 }];

  test('is as wide as its content unless a width is given', () => {
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
