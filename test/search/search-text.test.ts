import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseSearch } from '../../src/features/search/language/search-text.ts';
import { anyText } from '../support/any-text.ts';
import { isLong } from '../support/conditions.ts';

const NOTHING = {
  terms: [],
  excluded: [],
  from: [],
  in: [],
  hasAttachment: false,
  afterNs: undefined,
  beforeNs: undefined,
  mistakes: [],
};
const MIDNIGHT_NS = 1_769_817_600_000_000_000n; // 2026-01-31T00:00:00Z

const word = (text: string) => ({ kind: 'word', text });
const phrase = (text: string) => ({ kind: 'phrase', text });
const prefix = (text: string) => ({ kind: 'prefix', text });

function messages(text: string, isScoped = false): readonly string[] {
  const { mistakes } = parseSearch(text, { isScoped });
  for (const { pointer } of mistakes) expect(pointer).toBe('?q');
  return mistakes.map(({ message }) => message);
}

describe('a search is taken apart', () => {
  test.each<[string, object]>([
    ['dinner  tonight', { terms: [word('dinner'), word('tonight')] }],
    ['"see you" dinner', { terms: [phrase('see you'), word('dinner')] }],
    // As typed on a phone.
    ['“see you” „bis morgen“', { terms: [phrase('see you'), phrase('bis morgen')] }],
    ['"see"you', { terms: [phrase('see'), word('you')] }],
    ['hel* **bold**', { terms: [prefix('hel'), prefix('**bold')] }],
    ['学校* 学校', { terms: [word('学校'), word('学校')] }],
    ['dinner -work -self-made', { terms: [word('dinner')], excluded: ['work', 'self-made'] }],
    ['tea - coffee & !! "?"', { terms: [word('tea'), word('coffee')] }],
    ['👍🏽 ❤️', { terms: [word('👍🏽'), word('❤️')] }],
    // Only known keys.
    ['http://x note:this 12:30 in', { terms: [word('http://x'), word('note:this'), word('12:30'), word('in')] }],
    ['from:me', { from: [{ text: 'me', at: 1 }] }],
    ['x FROM:"Ana Silva" from:+1555', { terms: [word('x')], from: [at('Ana Silva', 3), at('+1555', 20)] }],
    ['in:iMessage;+;chat42 in:"Book club"', { in: [at('iMessage;+;chat42', 1), at('Book club', 22)] }],
    ['has:attachment', { hasAttachment: true }],
    ['after:2026-01-31', { afterNs: MIDNIGHT_NS }],
    ['x after:2026-01-31', { terms: [word('x')], afterNs: MIDNIGHT_NS }],
    ['before:2026-01-31 x', { terms: [word('x')], beforeNs: MIDNIGHT_NS }],
    // NUL and unpaired surrogates count as blanks.
    ['a\0b \ud800c', { terms: [word('a'), word('b'), word('c')] }],
    // Positions are counted in characters, not in UTF-16 units.
    ['😀😀 from:me', { terms: [word('😀😀')], from: [at('me', 4)] }],
    ['שלום from:me', { terms: [word('שלום')], from: [at('me', 6)] }],
  ])('%s', (text, expected) => {
    expect(parseSearch(text)).toMatchObject({ ...NOTHING, ...expected });
  });

  test('consecutive groups of digits may be one number, and are words too', () => {
    const number = '(555) 010 0100';
    const group = (text: string) => ({ kind: 'word', text, number });
    expect(parseSearch(`call ${number} now`).terms).toEqual([
      word('call'),
      group('(555)'),
      group('010'),
      group('0100'),
      word('now'),
    ]);
    expect(parseSearch('"555" 010 from:me 0100').terms).toEqual([phrase('555'), word('010'), word('0100')]);
  });

  test.each([
    ['UTC', '2026-11-01', '2026-11-01T00:00:00Z'],
    ['America/New_York', '2026-03-08', '2026-03-08T05:00:00Z'],
    ['America/New_York', '2026-03-09', '2026-03-09T04:00:00Z'],
    ['America/New_York', '2026-11-01', '2026-11-01T04:00:00Z'],
    ['America/New_York', '2026-11-02', '2026-11-02T05:00:00Z'],
    ['Asia/Kathmandu', '2026-01-31', '2026-01-30T18:15:00Z'],
    // Skips this midnight, has it twice, and goes back to the day before at midnight.
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00Z'],
    ['America/Havana', '2026-11-01', '2026-11-01T04:00:00Z'],
    ['America/Asuncion', '2023-03-26', '2023-03-26T04:00:00Z'],
  ])('in %s, %s begins at %s', (timeZone, day, instant) => {
    const ns = BigInt(Date.parse(instant)) * 1_000_000n;
    expect(parseSearch(`after:${day}`, { timeZone }).afterNs).toBe(ns);
    expect(parseSearch(`before:${day}`, { timeZone }).beforeNs).toBe(ns);
  });

  test.each(['note:this', 'alter:ego', 'form://x', '"form:ana"', 'form:', 'C++ $5 hi :) C#', 'his:own', 'since:ever'])(
    '%s is a text',
    (text) => {
      expect(messages(text)).toEqual([]);
    },
  );

  test('in one conversation, exclusions are enough', () => {
    expect(messages('-work', true)).toEqual([]);
  });
});

function at(text: string, place: number) {
  return { text, at: place };
}

describe('every mistake is named with its place', () => {
  test.each<[string, readonly string[]]>([
    ['x "see you', ['At character 3: the quotation mark is not closed.']],
    ['x from:"Ana', ['At character 3: the quotation mark is not closed.']],
    ['-work -', ['The query contains only exclusions. Add a word, from:, in: or has:attachment.']],
    ['-x before:2026-01-31', ['The query contains only exclusions. Add a word, from:, in: or has:attachment.']],
    ['', ['The query is empty: there is no word, number or symbol in it to search for.']],
    ['"" !', ['The query is empty: there is no word, number or symbol in it to search for.']],
    ['x he*', ['At character 3: he* is too short: at least 3 letters must precede the *.']],
    ['x *', ['At character 3: * is too short: at least 3 letters must precede the *.']],
    ['has:photo', ['At character 1: has:photo is not a known filter. The only one with has: is has:attachment.']],
    ['x before:2026-02-30', [DATE('before:2026-02-30', 'before')]],
    ['x before:2026-13-40', [DATE('before:2026-13-40', 'before')]],
    ['form:ana', [MEANT('form:ana', 'from')]],
    ['FRM:"Ana', [MEANT('FRM:"Ana', 'from')]],
    ['sender:me', [MEANT('sender:me', 'from')]],
    ['-form:ana', [MEANT('-form:ana', 'from')]],
    ['aftr:2026-01-31', [MEANT('aftr:2026-01-31', 'after')]],
    ['since:yesterday', [MEANT('since:yesterday', 'after')]],
    ['until:2026-01-31', [MEANT('until:2026-01-31', 'before')]],
    ['hsa:attachment', [MEANT('hsa:attachment', 'has')]],
    ['conversation:garden', [MEANT('conversation:garden', 'in')]],
    ['x after:yesterday', [DATE('after:yesterday', 'after')]],
    ['x after:2026-01-31T10:00Z', [DATE('after:2026-01-31T10:00Z', 'after')]],
    [
      'x before:2026-01-31 after:2026-01-31',
      ['At character 21: the date in before: must be later than the date in after:.'],
    ],
    [
      'x after:2026-02-01 before:2026-01-31',
      ['At character 20: the date in before: must be later than the date in after:.'],
    ],
    ['x after:2026-01-01 after:2026-01-02', ['At character 20: after: is given twice.']],
    ['x from: me', ['At character 3: from: has no value. Write it without a space, as in from:me.']],
    ['x in:""', ['At character 3: in: has no value. Write it without a space, as in in:"Book club".']],
    ['x -"see you"', ['At character 3: only single words can be excluded, not -"see you".']],
    ['x -from:me', ['At character 3: only single words can be excluded, not -from:me.']],
    ['x -hel*', ['At character 3: only whole words can be excluded, not -hel*.']],
    ['x '.repeat(17), ['The query has 17 words and filters; at most 16 are allowed.']],
    [`"${'x '.repeat(17)}"`, ['The query has 17 words and filters; at most 16 are allowed.']],
  ])('%s', (text, expected) => {
    expect(messages(text)).toEqual(expected);
  });

  test('all at once, in their order', () => {
    expect(messages('he* has:photo after:never -"a b" "open')).toEqual([
      expect.stringContaining('At character 1: he*'),
      expect.stringContaining('At character 5: has:photo'),
      expect.stringContaining('At character 15: after:never'),
      expect.stringContaining('At character 27: only single words'),
      expect.stringContaining('At character 34: the quotation mark'),
    ]);
  });

  test('one that is too long is not looked at any further', () => {
    expect(messages(`he* ${'😀'.repeat(497)}`)).toEqual(['The query has 501 characters; at most 500 are allowed.']);
  });

  test('a long value is shortened', () => {
    expect(messages(`has:${'x'.repeat(300)}`)[0]).toMatch(/^At character 1: has:x{36}… is not a known filter\./);
  });
});

function MEANT(given: string, key: string): string {
  return `At character 1: ${given} has no known filter. Did you mean ${key}:? To search for the text, put it in quotation marks.`;
}

function DATE(given: string, key: string): string {
  return `At character 3: ${given} has no valid date; write it as in ${key}:2026-01-31.`;
}

const PIECES = [
  ...['from:', 'in:', 'has:', 'after:', 'before:', 'FROM:', 'has:attachment', 'after:2026-01-31', 'before:1999-12-31'],
  ...['"', '“', '”', '-', '*', ' ', '\t', '(', ')', 'AND', 'OR', 'NOT', 'NEAR(', '^', '{', ':', "'", ';', '%', '\\'],
  ...[
    '\0',
    '\ud800',
    '\udc00',
    '\ue000',
    '\u202e',
    '\u0301',
    '\ufeff',
    '\u200d',
    '👩‍👩‍👧',
    '👍🏽',
    'שלום',
    'नमस्ते',
    '学校',
    'สวัสดี',
  ],
  ...['me', 'dinner', 'he', '+15550100', 'ana@example.com', 'iMessage;-;+1', 'http://x', '0', 'é', 'K'],
];
/** Whatever can be typed. */
const anySearch = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join('')),
  anyText(600),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 }).map((units) => String.fromCharCode(...units)),
);

test('30,000 queries of any kind are either taken apart or refused with reasons, and never fail', () => {
  fc.assert(
    fc.property(anySearch, fc.boolean(), (text, isScoped) => {
      const typed = parseSearch(text, { isScoped });
      const { terms, excluded, from, mistakes } = typed;
      if (mistakes.length > 0) return mistakes.every(({ message }) => /^[A-Z].*\.$/su.test(message));
      const parts = [...terms.map((term) => term.text), ...excluded];
      const hasDates = typed.afterNs !== undefined || typed.beforeNs !== undefined;
      const isWanted = terms.length + from.length + typed.in.length > 0 || typed.hasAttachment || hasDates || isScoped;
      return (
        isWanted &&
        parts.length <= 16 &&
        parts.every((part) => /[\p{L}\p{N}\p{So}\p{Extended_Pictographic}]/u.test(part)) &&
        !parts.some((part) => /[\p{Cc}\p{Surrogate}]/u.test(part))
      );
    }),
    { numRuns: isLong ? 30_000 : 5000 },
  );
});
