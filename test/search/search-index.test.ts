import { rmSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { SqlValue } from '../../src/core/runtime/sqlite.ts';
import { IndexReader } from '../../src/features/search/index/index-source.ts';
import { expressionOf } from '../../src/features/search/query/expression.ts';
import { Finder } from '../../src/features/search/query/finder.ts';
import { appleNs } from '../support/chat-fixture.ts';
import { contentVectors, storedValue } from '../support/content-vectors.ts';
import { bodies, ids, searchFixture } from '../support/search-fixture.ts';

const { create } = searchFixture();

/** Creates a chat.db with these texts, the oldest first, and a complete index of it. */
async function indexed(...texts: readonly string[]) {
  const all = create();
  const chat = all.fixture.chat('iMessage;-;+15550100', ['+15550100']);
  const handle = all.fixture.handle('+15550100');
  const rows = texts.map((text, n) =>
    all.fixture.message({
      chat,
      text,
      handle_id: handle,
      date: appleNs('2026-01-01T00:00:00Z') + BigInt(n) * 60_000_000_000n,
    }),
  );
  await all.start();
  await all.complete();
  return { ...all, chat, handle, rows };
}

describe('a message is found', () => {
  test.each([
    ['English', 'Don’t forget: Dinner at 7pm', ["don't", 'DINNER', '"forget dinner"', 'din*', '7pm']],
    ['accents', 'Un café à Ångström', ['cafe', 'CAFÉ', 'angstrom', 'cafe\u0301']],
    ['Japanese', '明日は東京駅で会いましょう', ['東京', '京駅', '駅', '"東京駅で"', '会いまし']],
    ['Chinese', '我们在学校等你', ['学校', '我们', '校等']],
    ['Thai', 'สวัสดีครับ', ['สวัสดี', 'ครับ']],
    ['Arabic with vowel signs', 'مَرْحَبًا بِكَ', ['مرحبا', 'بك', 'مَرْحَبًا']],
    ['Hindi', 'नमस्ते दुनिया', ['नमस्ते', 'दुनिया']],
    ['Korean', '학교에 가요', ['학교에', '가요', '학교에'.normalize('NFD')]],
    ['Russian', 'Ёлка стоит, мой друг', ['елка', 'ЁЛКА', 'друг']],
    ['emoji', 'See 👍🏽 and 👨‍👩‍👧 and 🇩🇪', ['👍', '👍🏿', '👧', '🇩🇪', '👨‍👩‍👧']],
    ['several languages', 'Meeting 東京 at Café', ['meeting 東京 cafe']],
  ])('in %s', async (_name, text, questions) => {
    const { find } = await indexed('something else entirely', text);
    for (const question of questions) expect([question, bodies(await find(question))]).toEqual([question, [text]]);
  });

  test.each([
    [
      'a phone number',
      [
        '555-010-0100',
        '555 010 0100',
        '(555) 0100100',
        '+1 555 010 0100',
        '+15550100100',
        '5550100100',
        '555.010.0100',
        '٥٥٥-٠١٠-٠١٠٠',
        '５５５０１００１００',
      ],
    ],
    [
      'a number with its country code',
      ['+44 20 7946 0958', '0044 2079460958', '+44 (0)20 7946 0958', '020 7946 0958', '02079460958', '+442079460958'],
    ],
    ['a number by thousands', ['1,000,000', '1.000.000', '1 000 000', "1'000'000", '1000000', '1\u202F000\u202F000']],
    ['a small number by thousands', ['12,500', '12500', '12.500', '12 500']],
    ['a code', ['123-456', '123 456', '123456']],
    ['a card', ['4111 1111 1111 1111', '4111-1111-1111-1111', '4111111111111111']],
    ['a Greek word', ['σίγμας', 'σιγμασ', 'ΣΊΓΜΑΣ', 'σιγμας']],
    ['a Hebrew word', ['שלום', 'שלומ']],
    ['an Arabic word', ['مدرسة', 'مدرسه', 'مـدرسة']],
    ['a German word', ['Straße', 'strasse', 'STRASSE']],
    ['a Turkish word', ['ISPARTA', 'ısparta', 'isparta', 'İsparta']],
  ])('by %s, however it is written in the text and in the query', async (_name, spellings) => {
    const texts = spellings.map((spelling, n) => `at 8 ${spelling} (${'x'.repeat(n + 1)})`);
    const { find, found } = await indexed('8 something else', ...texts);
    for (const spelling of spellings) {
      for (const query of [spelling, `"${spelling}"`]) {
        const hits = await find(query);
        expect([query, bodies(hits)]).toEqual([query, texts.toReversed()]);
        for (const { message, highlights } of hits) {
          const [start, end] = highlights.at(-1) ?? [];
          expect(message.body.slice(start, end)).not.toMatch(/^ |x| $/);
        }
      }
      if (!/\s/u.test(spelling)) expect(bodies(await find(`8 -${spelling}`))).toEqual(['8 something else']);
    }
    expect(found.stale).toBe(0);
  });

  test.each([
    ['3.14', ['pi is 3.14', 'pi is 3.14159', 'Pi: 3,1415', 'π ≈ ٣٫١٤١٥', '$3.149'], ['pi is 3.15', '3141 of 3']],
    ['1000.5', ['it costs 1,000.50'], ['1000 and 5']],
    ['pi -3.14', ['pi is 3.14159'], ['pi is 3.14']],
    ['555010*', ['555-010-0100', '5550100'], ['55-501']],
    ['$5', ['it is $5', 'take 5'], ['55']],
    ['C++', ['C++ is fun'], ['css']],
    ['2025 2026', ['2026 after 2025', '2025-2026'], ['2025']],
  ])('%s finds %j and not %j', async (query, wanted, others) => {
    const { find, found } = await indexed(...others, ...wanted);
    expect(bodies(await find(query))).toEqual(wanted.toReversed());
    expect(found.stale).toBe(0);
  });

  test.each([
    ['digits that are not the whole number', '1555-010-01004', '5550100100'],
    ['numbers that belong to different sentences', 'in 555. 010 0100', '5550100100'],
    ['short numbers side by side', '10 20', '1020'],
    ['five digits in two groups', '1234 5', '12345'],
    ['a zero outside of parentheses left out', '+44 0 20 7946 0958', '442079460958'],
    ['digits of a word', 'A123 456', '123456'],
    ['a decimal as an exclusion only as a whole', '3.14159', '3.14159 -3.14159'],
    ['part of a word', 'dinner', 'din'],
    ['words in another order', 'you see', '"see you"'],
    ['another letter', 'ガス', 'カス'],
    ['another Russian letter', 'мои', 'мой'],
    ['characters that are not next to each other', '学习学校', '习校'],
    ['an excluded word', 'dinner work', 'dinner -work'],
  ])('but not by %s', async (_name, text, question) => {
    const { find } = await indexed(text);
    expect(await find(question)).toEqual([]);
  });

  test('with the place of each thing that was asked for', async () => {
    const { find } = await indexed('👍🏽 Café, see you at the CAFÉ 東京駅');
    const [hit] = await find('cafe "see you" 京駅 👍');
    const text = hit?.message.body ?? '';
    expect(hit?.highlights.map(([start, end]) => text.slice(start, end))).toEqual([
      '👍🏽',
      'Café',
      'see you',
      'CAFÉ',
      '京駅',
    ]);
  });

  test('by the name of a file, without a place in the text', async () => {
    const { fixture, chat, start, complete, find } = prepared();
    const row = fixture.message({ chat, text: '\uFFFC' });
    fixture.attach(row, '~/Library/Messages/Attachments/ab/Boarding pass.pdf');
    await start();
    await complete();
    const [hit] = await find('boarding');
    expect(hit).toMatchObject({ message: { id: String(row) }, highlights: [] });
    expect(ids(await find('has:attachment'))).toEqual([row]);
    expect(await find('"pdf boarding"')).toEqual([]);
  });

  test('by the name of a file that has no path, and by a name that differs from that on disk', async () => {
    const { fixture, chat, start, complete, find } = prepared();
    const [absent, nameless, renamed, none] = ['', '', '', 'plain text'].map((text) =>
      fixture.message({ chat, text: text || '\uFFFC' }),
    );
    fixture.attach(absent ?? 0, null, { transfer_name: 'Boarding pass.pdf' });
    fixture.attach(nameless ?? 0, ' ');
    fixture.attach(renamed ?? 0, '~/Library/Messages/Attachments/ab/IMG_0001.heic', { transfer_name: 'Kitten.heic' });
    await start();
    await complete();
    expect(ids(await find('boarding'))).toEqual([absent]);
    expect(ids(await find('kitten'))).toEqual([renamed]);
    expect(ids(await find('img_0001'))).toEqual([renamed]);
    expect(ids(await find('has:attachment')).toSorted()).toEqual([absent, nameless, renamed].toSorted());
    expect(ids(await find('plain'))).toEqual([none]);
  });

  test('by the name of a file whose path comes later, both before and after', async () => {
    const { fixture, chat, start, complete, find } = prepared();
    const row = fixture.message({ chat, text: '\uFFFC' });
    const attachment = fixture.attach(row, null, { transfer_name: 'Boarding pass.pdf' });
    await start();
    await complete();
    expect(ids(await find('boarding'))).toEqual([row]);
    fixture.sqlite
      .prepare('UPDATE attachment SET filename = ? WHERE ROWID = ?')
      .run('~/Library/Messages/Attachments/ab/Boarding pass.pdf', attachment);
    expect(ids(await find('boarding has:attachment'))).toEqual([row]);
  });

  test.each([
    ['page', 'about', 'link'],
    ['poll', 'soup', 'poll'],
    ['poll with a title', 'dinner pizza', 'poll'],
    ['turn of a game', '"your move"', 'app'],
    ['subject', 'plans', 'subject'],
    ['voice message with transcript', 'way', 'transcript'],
  ])('by what a message contains beside its text: %s', async (name, question, place) => {
    const { fixture, chat, start, complete, find } = prepared();
    const columns = contentVectors.find((vector) => vector.name === name)?.columns ?? {};
    const stored = Object.entries(columns).map(([column, value]) => [column, storedValue(value)] as const);
    const row = fixture.message({ chat, ...Object.fromEntries<SqlValue>(stored) });
    await start();
    await complete();
    const [hit] = await find(question);
    expect(hit).toMatchObject({ message: { id: String(row) }, highlights: [], in: place });
    expect(hit?.message).not.toHaveProperty('texts');
    expect(await find(`${question} -${question.replaceAll('"', '').split(' ')[0]}`)).toEqual([]);
    expect((await find('text'))[0]?.in).toBeUndefined();
  });
});

function prepared() {
  const all = create();
  return { ...all, chat: all.fixture.chat('iMessage;-;+15550100', ['+15550100']) };
}

describe('the answer', () => {
  test('is filtered by sender, conversation and time', async () => {
    const { fixture, start, complete, find } = create();
    const [ana, ben] = [fixture.handle('+15550100'), fixture.handle('Ben@Example.com')];
    const one = fixture.chat('iMessage;-;+15550100', ['+15550100']);
    const group = fixture.chat('iMessage;+;chat7', ['+15550100', 'Ben@Example.com']);
    const said = (chat: number, handle_id: number, day: string, more = {}): number =>
      fixture.message({ chat, handle_id, text: 'the same', date: appleNs(`${day}T12:00:00Z`), ...more });
    const rows = [
      said(one, ana, '2026-01-01'),
      said(group, ana, '2026-01-02'),
      said(group, ben, '2026-01-03'),
      said(group, 0, '2026-01-04', { is_from_me: 1, account: 'E:me@example.com' }),
    ];
    await start();
    await complete();
    const by = (...addresses: string[]) => ({ senders: [{ isMe: false as const, addresses }] });
    const asked = async (more: Parameters<typeof find>[1]) =>
      ids(await find('same', more)).map((id) => rows.indexOf(id));
    expect(await asked({})).toEqual([3, 2, 1, 0]);
    expect(await asked(by('+1 555-0100'))).toEqual([1, 0]);
    expect(await asked(by('ben@example.com'))).toEqual([2]);
    expect(await asked({ senders: [{ isMe: true }, ...by('ben@example.com').senders] })).toEqual([3, 2]);
    expect(await asked(by())).toEqual([]);
    expect(await asked({ conversations: [['iMessage;-;+15550100']] })).toEqual([0]);
    expect(await asked({ conversations: [['iMessage;+;chat7'], ['iMessage;+;chat7', 'x']] })).toEqual([3, 2, 1]);
    expect(await asked({ conversations: [['SMS;+;chat7']] })).toEqual([]);
    const at = (day: string): number => Date.parse(`2026-01-${day}T00:00:00Z`);
    expect(await asked({ fromMs: at('02'), beforeMs: at('04') })).toEqual([2, 1]);
    expect(await asked({ beforeMs: Date.parse('2026-01-03T12:00:00Z') })).toEqual([1, 0]);
    expect(await asked({ fromMs: Date.parse('2026-01-03T12:00:00Z') })).toEqual([3, 2]);
    // Without any word.
    expect(ids(await find('', { fromMs: at('03') }))).toEqual([rows[3], rows[2]]);
    expect(ids(await find('', by('+15550100')))).toEqual([rows[1], rows[0]]);
    expect(ids(await find('-same', { fromMs: at('03') }))).toEqual([]);
  });

  test('comes newest first by date, in pages that join, also where many have the same second', async () => {
    const { fixture, start, complete, page, ask } = create();
    const chat = fixture.chat('any;-;1');
    const dated = (second: number): bigint => appleNs('2026-01-01T00:00:00Z') + BigInt(second) * 1_000_000_000n;
    const rows: { row: number; second: number }[] = [];
    for (let n = 0; n < 300; n += 1) {
      // iCloud delivers old messages late; a third of all share the same second.
      const second = n % 3 === 0 ? 1000 : (n * 7919) % 2000;
      rows.push({ row: fixture.message({ chat, text: `word ${n}`, date: dated(second) }), second });
    }
    await start();
    await complete();
    const got: number[] = [];
    let cursor: string | undefined;
    do {
      const found = await page(ask('word'), 7, cursor);
      got.push(...ids(found.items));
      cursor = found.next;
    } while (cursor !== undefined);
    expect(new Set(got).size).toBe(300);
    const seconds = got.map((row) => rows.find((one) => one.row === row)?.second ?? 0);
    // Those of a second with more than 32 are numbered a little later, and so are the ones whose numbers they have.
    const early = seconds.map((second, place) => Math.max(...seconds.slice(place)) - second);
    expect(Math.max(...early)).toBeLessThan(600);
    const apart = seconds.filter((second) => second < 1000);
    expect(apart).toEqual(apart.toSorted((a, b) => b - a));
  });

  test('of thousands of conversations is as quick as of all, and joins its pages', async () => {
    const { fixture, start, complete, page, ask, find, found } = create();
    const [mine, other] = ['any;-;1', 'any;-;2'].map((guid) => fixture.chat(guid)) as [number, number];
    const rows = Array.from({ length: 60 }, (_none, n) =>
      fixture.message({
        chat: n % 3 === 0 ? mine : other,
        text: `word ${n}`,
        date: appleNs('2026-01-01T00:00:00Z') + BigInt(n) * 60_000_000_000n,
      }),
    );
    await start();
    await complete();
    const conversations = [['any;-;1', ...Array.from({ length: 5000 }, (_none, n) => `any;-;nobody${n}`)]];
    expect(expressionOf({ ...ask('word'), conversations })).toBe('"word"');
    const wanted = rows.filter((_row, n) => n % 3 === 0).toReversed();
    expect(ids(await find('word', { conversations }))).toEqual(wanted);
    expect(ids(await find('', { conversations }))).toEqual(wanted);
    expect(ids(await find('word', { conversations: [...conversations, ['any;-;2']] }))).toEqual([]);
    const first = await page(ask('word', { conversations }), 7);
    const second = await page(ask('word', { conversations }), 50, first.next);
    expect([...ids(first.items), ...ids(second.items)]).toEqual(wanted);
    expect(found.stale).toBe(0);
  });

  test.each([3, 900, 1100])('to a beginning that %i words share has every message with one of them', async (count) => {
    const words = Array.from({ length: count }, (_none, n) => `wal${n}x`);
    const texts = [words.join(' '), 'wall', 'dinner', `dinner ${words[1]}`, 'wam'];
    const { find, rows } = await indexed(...texts);
    expect(ids(await find('wal*'))).toEqual([rows[3], rows[1], rows[0]]);
    expect(ids(await find('dinner wal*'))).toEqual([rows[3]]);
    expect(await find('walx*')).toEqual([]);
  });

  test('refuses a cursor that no answer gave', async () => {
    const { page, ask } = await indexed('word');
    await expect(page(ask('word'), 5, 'x')).rejects.toMatchObject({ status: 400, code: 'invalid_cursor' });
  });
});

test('each file of the index is made known when it is opened, also one that takes the place of another', async () => {
  const { opened, path, start, close, complete } = await indexed('words that Time Machine would keep');
  expect(opened).toEqual([path]);
  await close();
  rmSync(path);
  await start();
  await complete();
  expect(opened).toEqual([path, path]);
});

test('a page of one hit needs few reads, however many documents do not match', async () => {
  const { connection, path, fixture, ask } = await indexed(...Array.from({ length: 600 }, (_, n) => `word ${n}`));
  const source = new IndexReader(connection);
  let reads = 0;
  const finder = new Finder({
    conversations: (rows) => source.conversations(rows),
    searchable: (...asked) => {
      reads += 1;
      return source.searchable(...asked);
    },
  });
  const [conversation] = source.conversations([1]);
  const query = ask('word', { without: [conversation ?? ''] });
  expect(finder.find(path, query, { limit: 1 })).toEqual({ items: [], stale: [] });
  expect(reads).toBeLessThan(10);
  finder.close();
  fixture.close();
});
