import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Message } from '../../src/core/model/message.ts';
import { documentOf } from '../../src/features/search/index/document.ts';
import { SearchedText, toPattern } from '../../src/features/search/index/searched-text.ts';
import { isUnspaced, mergedHighlights, segment, tokensOf } from '../../src/features/search/index/tokens.ts';
import { sequenceOf } from '../../src/features/search/query/expression.ts';
import type { SearchableMessage } from '../../src/features/search/types.ts';
import { anyText } from '../support/any-text.ts';
import { isLong } from '../support/conditions.ts';
import { arrival } from '../support/memory-log.ts';

const WOMAN_AND_GIRL = '👩🏽‍👧';

describe('the tokens of a text', () => {
  test.each([
    ['English', "Don't forget: Dinner at 7pm!", 'don t forget dinner at 7pm'],
    ['accents', 'Café NAÏVE Ångström Łódź straße Øre', 'cafe naive angstrom lodz strasse ore'],
    ['accents as marks of their own', 'Cafe\u0301', 'cafe'],
    ['Vietnamese', 'Đường Nguyễn', 'duong nguyen'],
    ['Turkish', 'İstanbul ılık', 'istanbul ilik'],
    ['Greek', 'Άνθρωπος ΣΊΓΜΑΣ', 'ανθρωποσ σιγμασ'],
    ['Russian', 'Ёлка, мой друг', 'елка мой друг'],
    ['Japanese', '東京駅へ行くパーティー', '東 京 駅 へ 行 く パ ー テ ィ ー'],
    ['halfwidth Japanese', 'ｶﾞｽ', 'ガ ス'],
    ['decomposed Japanese', 'か\u3099', 'が'],
    ['Chinese and English', '我爱TypeScript很多', '我 爱 typescript 很 多'],
    ['Korean', '학교에 가요', '학교에 가요'],
    ['decomposed Korean', '학교'.normalize('NFD'), '학교'],
    ['Thai', 'สวัสดี', 'ส วั ส ดี'],
    ['Arabic with vowel signs', 'مَرْحَبًا بِكَ أحمد', 'مرحبا بك احمد'],
    ['Hebrew with points and final letters', 'שָׁלוֹם ארץ', 'שלומ ארצ'],
    ['Hindi', 'नमस्ते दुनिया', 'नमस्ते दुनिया'],
    ['Persian with a joiner inside', 'می\u200Cخواهم', 'ميخواهم'],
    ['Arabic letters that are written differently', 'مدرسة على کتاب ٱلسلام عـــلى', 'مدرسه علي كتاب السلام علي'],
    ['emoji', 'ok👍🏽👍 ❤️1️⃣', 'ok 👍 👍 ❤ 1'],
    ['a family', WOMAN_AND_GIRL, '👩 👧'],
    ['a flag', '🇩🇪', '🇩 🇪'],
    ['fullwidth', 'ＡＢＣ１２', 'abc12'],
    ['digits of other scripts', '٣٥ ۳۵ ३५ ปี๓๕ 𝟑𝟓', '35 35 35 ปี 35 35'],
    ['a ligature', 'ﬁne', 'fine'],
    ['private use', 'a\uE000me b\uE000att', 'a me b att'],
    ['a NUL and half of a pair', 'a\0b\uD83Dc', 'a b c'],
    ['nothing but signs', '"*()-+^: …', ''],
  ])('%s', (_name, text, expected) => {
    expect(segment(text)).toBe(expected);
  });

  test('tell where they stand, a skin tone included', () => {
    expect(tokensOf('Zoë 👍🏽東')).toEqual([
      { text: 'zoe', start: 0, end: 3 },
      { text: '👍', start: 4, end: 8 },
      { text: '東', start: 8, end: 9 },
    ]);
  });

  test('are the same when they are split again, whatever the text', () => {
    fc.assert(
      fc.property(anyText(40), (text) => {
        const once = segment(text);
        expect(segment(once)).toBe(once);
        expect(once).not.toMatch(/["\uE000\0]| {2}|^ | $/);
        for (const { start, end } of tokensOf(text)) expect(end).toBeGreaterThan(start);
      }),
      { numRuns: isLong ? 2000 : 500 },
    );
  });

  test('are cut at 64 units, and never in the middle of a character', () => {
    const texts = (text: string) => tokensOf(text).map((token) => token.text);
    expect(texts('a'.repeat(100))).toEqual(['a'.repeat(64)]);
    expect(texts('é'.repeat(100))).toEqual(['e'.repeat(64)]);
    expect(texts('ж'.repeat(100))).toEqual(['ж'.repeat(64)]);
    expect(texts(`a${'\u{10400}'.repeat(50)}`)).toEqual([`a${'\u{10428}'.repeat(31)}`]);
    expect(texts(`h${'\u0301'.repeat(500)}e${'\u0301'.repeat(500)}y`)).toEqual(['hey']);
  });

  test('of 20,000 marks on one letter have at most 64 units', () => {
    for (const base of ['а', 'a', 'ا', 'ש', 'ส', '가']) {
      for (const marks of ['\u0301', '\u0301\u0323', '\u064B\u0650', '\u05B0\u05C1']) {
        const [token] = tokensOf(base + marks.repeat(20_000 / marks.length));
        expect(token?.text.length).toBeLessThanOrEqual(64);
      }
    }
  });

  test('know which scripts have no spaces', () => {
    expect(['東', 'ส', 'ー', 'a', '학', '👍'].map(isUnspaced)).toEqual([true, true, true, false, false, false]);
  });
});

test('ranges that touch or overlap become one', () => {
  expect(
    mergedHighlights([
      [5, 7],
      [0, 2],
      [1, 3],
      [3, 4],
    ]),
  ).toEqual([
    [0, 4],
    [5, 7],
  ]);
});

describe('what is looked for in a text', () => {
  const places = (text: string, wanted: string, kind: 'phrase' | 'prefix' = 'phrase') => {
    const sequence = sequenceOf({ kind, text: wanted });
    return sequence === undefined ? [] : new SearchedText(text).highlights(toPattern(sequence));
  };

  test('is found at the same places in a text of ASCII and in one that has other letters too', () => {
    const ascii = fc.string({ unit: fc.constantFrom(...'aAb1 -.\0"'), maxLength: 30 });
    const wanted = fc.string({ unit: fc.constantFrom(...'aB1 -'), maxLength: 5 });
    fc.assert(
      fc.property(ascii, wanted, fc.constantFrom('phrase' as const, 'prefix' as const), (text, words, kind) => {
        expect(places(text, words, kind)).toEqual(places(`${text} é`, words, kind));
      }),
      { numRuns: isLong ? 2000 : 500 },
    );
  });

  test('is found where it overlaps itself', () => {
    expect(places('see see see', 'see see')).toEqual([
      [0, 7],
      [4, 11],
    ]);
    expect(places('Compute a computer', 'comp', 'prefix')).toEqual([
      [0, 7],
      [10, 18],
    ]);
    expect(places('plain text', 'é')).toEqual([]);
  });
});

test('a document has the first 65,536 units of a text, and no phrase over two texts', () => {
  const message: SearchableMessage = { ...(arrival(1).event.data as Message), texts: [['subject', 'you']] };
  expect(documentOf({ ...message, body: 'see' })).not.toMatch(/see\s+you/);
  expect(documentOf({ ...message, body: `${'x '.repeat(32_768)}end` })).not.toContain('end');
});
