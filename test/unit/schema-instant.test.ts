import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseInstant } from '../../src/core/schema/instant.ts';
import { anyText } from '../support/any-text.ts';

describe('an instant', () => {
  test.each([
    ['1970-01-01', 0n],
    ['1970-01-01T00:00:01Z', 1_000_000_000n],
    ['1970-01-01t00:00:01z', 1_000_000_000n],
    ['1970-01-01T00:01Z', 60_000_000_000n],
    ['1970-01-01T00:00:00.5Z', 500_000_000n],
    ['1970-01-01T00:00:00,5Z', 500_000_000n],
    ['1970-01-01T00:00:00.123456789Z', 123_456_789n],
    ['1970-01-01T00:00:00.1234567899999Z', 123_456_789n],
    ['1970-01-01T02:00:00+02:00', 0n],
    ['1970-01-01T02:30:00+0230', 0n],
    ['1969-12-31T19:00:00-05', 0n],
    ['1969-12-31T23:59:59.5Z', -500_000_000n],
    ['1969-12-31T24:00:00Z', 0n],
    ['1969-12-31T23:59:60Z', 0n],
    ['19700101T000001Z', 1_000_000_000n],
    ['19700101T020000.5+0200', 500_000_000n],
    ['2024-02-29', 1_709_164_800_000_000_000n],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000_000_000n],
    ['9999-12-31T23:59:59Z', 253_402_300_799_000_000_000n],
  ])('%s', (text, ns) => {
    expect(parseInstant(text)).toBe(ns);
  });

  test.each([
    'yesterday',
    '',
    ' 2026-01-01',
    '2026-02-30',
    '2025-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-1-1',
    '20260101',
    '1700000000',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T24:00:01Z',
    '2026-01-01T00:00:61Z',
    '20260230T000000Z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00.5Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+01:60',
    '2026-01-01Z',
    '+002026-01-01',
    '9999-12-31T23:59:60Z',
    '9999-12-31T24:00:00Z',
    '9999-12-31T23:59:59-00:01',
    '0000-01-01T00:00:00+00:01',
  ])('is not "%s"', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  test('is read exactly, whatever its offset', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true }),
        fc.integer({ min: -23 * 60, max: 23 * 60 }),
        (date, offsetMinutes) => {
          const local = new Date(date.getTime() + offsetMinutes * 60_000).toISOString().slice(0, -1);
          const size = Math.abs(offsetMinutes);
          const two = (value: number): string => String(value).padStart(2, '0');
          const zone = `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
          expect(parseInstant(local + zone)).toBe(BigInt(date.getTime()) * 1_000_000n);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('no text makes it throw', () => {
    fc.assert(fc.property(anyText(), (text) => void parseInstant(text)));
  });
});
