import { describe, expect, test } from '@jest/globals';
import { atTime } from '../../src/features/client-commands/send-time.ts';

describe('a time to come', () => {
  const nowMs = new Date(2026, 0, 31, 9, 30).getTime();
  test.each([
    ['2h', new Date(2026, 0, 31, 11, 30)],
    ['3d', new Date(2026, 1, 3, 9, 30)],
    ['18:30', new Date(2026, 0, 31, 18, 30)],
    ['8:00', new Date(2026, 1, 1, 8)],
    ['today 18:30', new Date(2026, 0, 31, 18, 30)],
    ['tomorrow 08:00', new Date(2026, 1, 1, 8)],
    ['2026-03-01 08:00', new Date(2026, 2, 1, 8)],
    ['2026-03-01T08:00', new Date(2026, 2, 1, 8)],
  ])('"%s" is meant in this time zone', (value, time) => {
    expect(atTime(value, nowMs)).toBe(time.toISOString());
  });

  test('an instant stays as it is', () => {
    expect(atTime('2026-03-01T08:00:00+05:30', nowMs)).toBe('2026-03-01T08:00:00+05:30');
  });

  test.each(['soon', '25:00', '2026-02-30 08:00', '2026-03-01', '2026-03-01T08:00:00', '-2h'])(
    '"%s" is none',
    (value) => {
      expect(() => atTime(value, nowMs)).toThrow('It must be one of: 2h, 18:30');
    },
  );
});
