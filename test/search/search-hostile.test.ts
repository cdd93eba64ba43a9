import { describe, expect, test } from '@jest/globals';
import type { Message } from '../../src/core/model/message.ts';
import { IndexReader } from '../../src/features/search/index/index-source.ts';
import { parseSearch } from '../../src/features/search/language/search-text.ts';
import { Finder, matcherOf } from '../../src/features/search/query/finder.ts';
import type { SearchQuery } from '../../src/features/search/types.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { appleNs } from '../support/chat-fixture.ts';
import { isLong } from '../support/conditions.ts';
import { ANYTHING, bodies, ids, searchFixture } from '../support/search-fixture.ts';
import { seededChance } from '../support/seed.ts';

const { create } = searchFixture();
const QUERIES = isLong ? 30_000 : 700;

const WORDS: readonly [string, ...string[]] = [
  'dinner',
  'café',
  "don't",
  'the',
  'Ёлка',
  'мой',
  '東京駅',
  '学校',
  'สวัสดี',
  'مَرْحَبًا',
  'नमस्ते',
  '학교',
  '👍🏽',
  '👨‍👩‍👧',
  '🇩🇪',
];
const PIECES: readonly [string, ...string[]] = [
  ...WORDS,
  ...['"', '“', '*', '-', '(', ')', ':', '^', '+', 'AND', 'OR', 'NOT', 'NEAR(', '{body}', 'ft', "'", ';', '--', '\\'],
  ...['from:me', 'from:', 'in:x', 'has:attachment', 'has:', 'before:2026-01-31', 'after:', 'd*', 'din*', 'caf*', '東*'],
  ...['\0', '\uD83D', '\uDC4D', '\uE000me', '\uFE0F', '\u200D', '%', '_', ' ', ' ', ' '],
];

test(`${QUERIES} random queries: no error, and exactly the messages that a look at each one finds`, async () => {
  const chance = seededChance('random queries');
  const { fixture, connection, path, start, complete } = create();
  const chat = fixture.chat('any;-;1', ['+15550100']);
  for (let n = 0; n < 60; n += 1) {
    const text = Array.from({ length: 1 + chance.below(5) }, () => chance.of(WORDS)).join(
      chance.of([' ', ' ', ', ', '']),
    );
    const row = fixture.message({ chat, text, date: appleNs('2026-01-01T00:00:00Z', n), is_from_me: n % 2 });
    if (n % 7 === 0) fixture.attach(row, `~/${chance.of(WORDS)} ${chance.of(WORDS)}.pdf`);
  }
  await start();
  await complete();
  const source = new IndexReader(connection);
  const rows = fixture.sqlite
    .prepare('SELECT ROWID FROM message')
    .all()
    .map(([row]) => row as number);
  const notes = { isSkipped: () => false, begin: () => undefined };
  const messages = source.searchable(rows, notes).filter((message): message is Message => message !== undefined);
  const finder = new Finder(source);
  let asked = 0;
  for (let n = 0; n < QUERIES; n += 1) {
    const text = Array.from({ length: 1 + chance.below(8) }, () => chance.of(PIECES)).join(chance.of(['', ' ', ' ']));
    const { mistakes, terms, excluded, hasAttachment, from } = parseSearch(text, { isScoped: chance.in(0.5) });
    if (mistakes.length > 0) continue;
    asked += 1;
    const query: SearchQuery = {
      ...ANYTHING,
      terms,
      excluded,
      hasAttachment,
      senders: from.length > 0 ? [{ isMe: true }] : [],
    };
    const page = finder.find(path, query, { limit: 100 });
    if (n % 10 !== 0) continue;
    const matches = matcherOf(query);
    const expected = messages.filter((message) => typeof matches(message) === 'object').map(({ id }) => Number(id));
    const found = { text, found: ids(page.items).toSorted((a, b) => a - b), stale: page.stale };
    expect(found).toEqual({ text, found: expected, stale: [] });
  }
  finder.close();
  expect(asked).toBeGreaterThan(QUERIES / 10);
});

describe('rows as no Messages writes them', () => {
  test('neither stop the index nor hide the others', async () => {
    const { fixture, start, complete, find, status } = create();
    const chat = fixture.chat('any;-;1', ['+15550100']);
    const good = [fixture.message({ chat, text: 'a good one' })];
    const blob = Buffer.from('blob');
    const wrong = [
      'text',
      'attributedBody',
      'date',
      'is_from_me',
      'handle_id',
      'account',
      'error',
      'date_read',
      'is_read',
    ];
    for (const column of wrong) {
      for (const value of [null, -1, 1e308, 9_223_372_036_854_775_807n, 'words', blob]) {
        fixture.message({ chat, text: 'odd but readable', [column]: value });
      }
    }
    for (const date of [
      0,
      -1e18,
      1e18,
      'never',
      10_000_000_000,
      -9_223_372_036_854_775_808n,
      Number.POSITIVE_INFINITY,
    ]) {
      fixture.message({ chat, text: 'dated oddly', date });
    }
    for (const rowId of [-5n, 9_007_199_254_740_993n, 9_223_372_036_854_775_807n]) {
      fixture.insert('message', { ROWID: rowId, guid: `odd ${rowId}`, text: 'numbered oddly', date: 1n });
    }
    fixture.sqlite.exec(`UPDATE message SET guid = x'00ff' WHERE ROWID = ${good[0]}`);
    await start();
    await complete();
    expect(ids(await find('good'))).toEqual(good);
    expect((await find('"dated oddly"')).length).toBe(7);
    expect((await find('numbered')).map(({ message }) => message.id)).toEqual(['-5']);
    expect((await find('readable')).length).toBeGreaterThan(40);
    expect(status().problem).toBeUndefined();
  });

  test('are indexed if they have a million equal words, bodies of a megabyte and more, or no text', async () => {
    const { fixture, start, complete, find } = create();
    const chat = fixture.chat('any;-;1');
    const body = (text: string) => encodeAttributedBody(text, [{ length: text.length, attributes: {} }]);
    const rows = {
      words: fixture.message({ chat, text: 'word '.repeat(1_000_000) }),
      one: fixture.message({ chat, text: `${'x'.repeat(1_000_000)} after` }),
      body: fixture.message({ chat, text: null, attributedBody: body(`start ${'y '.repeat(200_000)}`) }),
      japanese: fixture.message({ chat, text: `東京${'字'.repeat(300_000)}` }),
      signs: fixture.message({ chat, text: '.'.repeat(1_000_000) }),
      noise: fixture.message({ chat, text: null, attributedBody: Buffer.alloc(1_000_000, 0x84) }),
    };
    for (let n = 0; n < 50; n += 1) fixture.message({ chat, text: `usual ${'z'.repeat(n)}` });
    await start();
    await complete();
    expect((await find('usual')).length).toBe(50);
    expect(ids(await find('start'))).toEqual([rows.body]);
    expect(ids(await find('東京'))).toEqual([rows.japanese]);
    // Text of more than 4 MB is ignored.
    expect(await find('word')).toEqual([]);
    expect(ids(await find('xxx*'))).toEqual([rows.one]);
    expect(bodies(await find('')).length).toBe(56 - 1);
  });

  test('are found once each, page by page, if they all have one date', async () => {
    const { fixture, start, complete, page, ask } = create();
    const chat = fixture.chat('any;-;1');
    for (let n = 0; n < 1200; n += 1) fixture.message({ chat, text: 'same', date: n % 2 === 0 ? 0 : null });
    await start();
    await complete();
    const got = new Set<number>();
    let cursor: string | undefined;
    do {
      const found = await page(ask('same'), 100, cursor);
      for (const row of ids(found.items)) got.add(row);
      cursor = found.next;
    } while (cursor !== undefined);
    expect(got.size).toBe(1200);
  });
});
