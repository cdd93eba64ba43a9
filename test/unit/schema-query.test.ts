import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { conversationQuery } from '../../src/core/http/conversations/schema.ts';
import { eventsQuery } from '../../src/core/http/events/schema.ts';
import { messageQuery, singleMessageQuery } from '../../src/core/http/messages/schema.ts';
import { isAppError, type Mistake } from '../../src/core/model/errors.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { parseQuery, readQuery } from '../../src/core/schema/query-parameters.ts';
import { streamQuery } from '../../src/core/schema/stream-query.ts';
import { anyText } from '../support/any-text.ts';

function mistakes(work: () => unknown): readonly Mistake[] {
  try {
    work();
  } catch (error) {
    if (isAppError(error) && error.status === 400) return error.mistakes;
    throw error;
  }
  return [];
}

function pointers(raw: string): string[] {
  return mistakes(() => readQuery(messageQuery, parseQuery(raw))).map(({ pointer }) => pointer);
}

describe('a raw query', () => {
  test('keeps a raw plus and decodes an encoded one', () => {
    const query = parseQuery('conversation_id=iMessage;-;+1555&since=2026-01-01T00:00:00+02:00&x=%2B%20y');
    expect(query.get('conversation_id')).toBe('iMessage;-;+1555');
    expect(query.get('since')).toBe('2026-01-01T00:00:00+02:00');
    expect(query.get('x')).toBe('+ y');
  });

  test.each([
    ['c=%201555010', '+1555010'],
    ['c=%201%20(555)%20010-0100', '+1 (555) 010-0100'],
    ['c=iMessage;-;%201555010', 'iMessage;-;+1555010'],
    ['c=dinner%20from:%201555010%20in:%201555011', 'dinner from:+1555010 in:+1555011'],
  ])('has a plus again where another program turned it into a blank: %s', (raw, value) => {
    expect(parseQuery(raw).get('c')).toBe(value);
  });

  test.each([' ', ' 12345', ' dinner', 'call 1555010', ' 1555010 dinner tonight at', 'any;+; 1555010', '1555010 '])(
    'keeps other blanks: %j',
    (value) => {
      expect(parseQuery(`c=${encodeURIComponent(value)}`).get('c')).toBe(value);
    },
  );

  test('may have empty parts, names without a value, and values with an equals sign', () => {
    expect([...parseQuery('&a&&b=&c=1=2&')]).toEqual([
      ['a', ''],
      ['b', ''],
      ['c', '1=2'],
    ]);
  });

  test.each(['a=%zz', 'a=%', 'a=%ff', 'a=%ed%a0%80', 'a=%00', 'a=\0'])('is refused: %j', (raw) => {
    expect(mistakes(() => parseQuery(raw))).toEqual([{ pointer: '?a', message: expect.stringContaining('UTF-8') }]);
  });

  test('names every malformed parameter', () => {
    expect(mistakes(() => parseQuery('a=%zz&b=1&c=%00')).map(({ pointer }) => pointer)).toEqual(['?a', '?c']);
  });

  test('is never more than refused', () => {
    fc.assert(
      fc.property(anyText(), (raw) => {
        mistakes(() => readQuery(messageQuery, parseQuery(raw)));
      }),
    );
  });

  test('returns the values that were encoded into it', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (pairs) => {
        const raw = pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
        expect([...parseQuery(raw)]).toEqual(pairs);
      }),
    );
  });
});

describe('the parameters of a list', () => {
  test('have the documented defaults', () => {
    expect(readQuery(messageQuery, parseQuery(''))).toEqual({
      order: 'desc',
      limit: 50,
      offset: 0,
      include: new Set(),
    });
    expect(readQuery(conversationQuery, parseQuery(''))).toEqual({ limit: 50, offset: 0, include: new Set() });
  });

  test('include takes every combination of parts, and each wrong part is named', () => {
    const included = (text: string) => readQuery(singleMessageQuery, parseQuery(`include=${text}`)).include;
    expect(included('details')).toBe(includeSet(['details']));
    expect(included('contacts,details')).toBe(includeSet(['details', 'contacts']));
    expect(included('contacts%2Ccontacts')).toBe(includeSet(['contacts']));
    expect(mistakes(() => included('contacts,all,%20details'))).toEqual([
      {
        pointer: '?include',
        message: 'The parameter `include` takes details and contacts, separated by a comma, not "all".',
      },
      {
        pointer: '?include',
        message: 'The parameter `include` takes details and contacts, separated by a comma, not " details".',
      },
    ]);
  });

  test('a limit above 200 is 200, whatever its size', () => {
    for (const limit of ['200', '201', '99999999999999999999999999']) {
      expect(readQuery(messageQuery, parseQuery(`limit=${limit}`)).limit).toBe(200);
    }
    expect(readQuery(messageQuery, parseQuery('limit=1')).limit).toBe(1);
  });

  test('an offset past every row stays a number that SQLite can hold', () => {
    expect(readQuery(messageQuery, parseQuery('offset=99999999999999999999')).offset).toBe(Number.MAX_SAFE_INTEGER);
  });

  test.each(['limit=0', 'limit=-1', 'limit=1.5', 'limit=', 'limit=ten', 'limit=1e2', 'limit=+5', 'limit=%205'])(
    'refuses %s',
    (raw) => {
      expect(pointers(raw)).toEqual(['?limit']);
    },
  );

  test.each(['offset=-1', 'offset=x', 'order=up', 'order=', 'since=yesterday', 'since=', 'since=2026-02-30'])(
    'refuses %s',
    (raw) => {
      expect(pointers(raw)).toEqual([`?${raw.split('=')[0]}`]);
    },
  );

  test('name every mistake at once', () => {
    expect(pointers('limit=0&offset=-1&order=up&since=yesterday').sort()).toEqual([
      '?limit',
      '?offset',
      '?order',
      '?since',
    ]);
  });

  test('may be given once, unknown ones as often as anybody likes', () => {
    expect(pointers('limit=1&limit=1')).toEqual(['?limit']);
    expect(pointers('limit=1&limit=0&order=asc&order=desc').sort()).toEqual(['?limit', '?order']);
    expect(pointers('x=1&x=2&__proto__=3')).toEqual([]);
  });
});

describe.each([
  ['GET /events', eventsQuery],
  ['a stream or a WebSocket', streamQuery],
] as const)('max_age_s of %s', (_name, schema) => {
  test.each(['0', '59', '-1', '90.5', '1e3', ' 90', 'abc', 'null', ''])('refuses %j by name', (value) => {
    const found = mistakes(() => readQuery(schema, parseQuery(`after=0&max_age_s=${encodeURIComponent(value)}`)));
    expect(found).toEqual([
      { pointer: '?max_age_s', message: 'The parameter `max_age_s` must be a whole number of seconds, 60 or more.' },
    ]);
  });

  test('takes a minute and more', () => {
    expect(readQuery(schema, parseQuery('after=0&max_age_s=60')).max_age_s).toBe(60);
    expect(readQuery(schema, parseQuery('after=0')).max_age_s).toBeUndefined();
  });
});
