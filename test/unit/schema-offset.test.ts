import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { eventsQuery } from '../../src/core/http/events/schema.ts';
import { replayBody } from '../../src/core/http/webhooks/schema.ts';
import { isAppError } from '../../src/core/model/errors.ts';
import { decodeOffset, encodeOffset } from '../../src/core/model/offset.ts';
import { checkBody } from '../../src/core/schema/mistakes.ts';
import { parseQuery, readQuery } from '../../src/core/schema/query-parameters.ts';
import { streamQuery } from '../../src/core/schema/stream-query.ts';
import { anyText } from '../support/any-text.ts';

const whole = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const base64url = (text: string): string => Buffer.from(text, 'latin1').toString('base64url');

/** Texts that are almost offsets. */
const almost = fc.oneof(
  anyText(90),
  fc.string({ unit: fc.constantFrom(...'0123456789.-+eE x'), maxLength: 60 }).map(base64url),
  fc.tuple(fc.string({ maxLength: 3 }), whole, whole, whole).map((parts) => base64url(parts.join('.'))),
  fc
    .tuple(whole, fc.string({ maxLength: 3 }))
    .map(([generation, end]) => encodeOffset({ rowId: 1, change: 2 }, generation) + end),
);

describe('the text of an offset', () => {
  test('gives the offset back, and is safe in a URL and a header', () => {
    fc.assert(
      fc.property(whole, whole, whole, (generation, rowId, change) => {
        const text = encodeOffset({ rowId, change }, generation);
        expect(text).toMatch(/^[A-Za-z0-9]{8,80}$/);
        expect(decodeOffset(text)).toEqual({ generation, rowId, change });
      }),
    );
  });

  test('may be a plain row id, however large', () => {
    expect(decodeOffset('0')).toEqual({ rowId: 0 });
    expect(decodeOffset('0012')).toEqual({ rowId: 12 });
    expect(decodeOffset('9'.repeat(400))).toEqual({ rowId: Number.MAX_SAFE_INTEGER });
  });

  test.each([
    ['empty', ''],
    ['a fraction', '1.5'],
    ['negative', '-1'],
    ['an exponent', '1e3'],
    ['digits of another script', '١٢'],
    ['another form', base64url('3.1.1.1')],
    ['a part missing', base64url('1.1.1')],
    ['a part too many', base64url('1.1.1.1.1')],
    ['leading zeros', base64url('1.01.1.1')],
    ['beyond 2^53', base64url('1.1.9007199254740993.1')],
    ['a line break behind it', `${base64url('1.1.1.1')}\n`],
    ['padding', `${base64url('1.1.1.1')}==`],
    [
      'characters between that are not base64url',
      `${base64url('1.1.1.1').slice(0, 4)}*${base64url('1.1.1.1').slice(4)}`,
    ],
    ['the alphabet of base64', base64url('1.1.1.1').replace(/.$/, '+')],
    ['100,000 characters', 'A'.repeat(100_000)],
  ])('is refused when it is %s', (_what, text) => {
    expect(decodeOffset(text)).toBeUndefined();
  });

  test('whatever a client sends is an offset or a mistake with its place', () => {
    fc.assert(
      fc.property(almost, fc.boolean(), (after, changes) => {
        for (const schema of [eventsQuery, streamQuery]) {
          try {
            readQuery(schema, parseQuery(`after=${encodeURIComponent(after.replaceAll('\0', ''))}&changes=${changes}`));
          } catch (error) {
            if (!isAppError(error)) throw error;
            expect(error).toMatchObject({ status: 400, mistakes: [{ pointer: '?after' }] });
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('in a replay it is a number or the text', () => {
    expect(checkBody(replayBody, { after: 12 })).toEqual({
      ok: true,
      value: { after: { rowId: 12 } },
    });
    expect(checkBody(replayBody, { after: encodeOffset({ rowId: 4, change: 5 }, 3) })).toMatchObject({
      value: { after: { rowId: 4, change: 5, generation: 3 } },
    });
    fc.assert(
      fc.property(fc.oneof(almost, fc.anything()), (after) => {
        const checked = checkBody(replayBody, { after });
        expect(checked.ok || checked.mistakes).toEqual(
          checked.ok ? true : [expect.objectContaining({ pointer: '/after' })],
        );
      }),
    );
  });
});
