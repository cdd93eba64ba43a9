import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { problem } from '../../src/core/model/problems.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { appleNs } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { bodies, ids, searchFixture } from '../support/search-fixture.ts';

const { create } = searchFixture();
const DAY_MS = 86_400_000;

/** Creates a complete index of these texts, the oldest first. */
async function indexed(...texts: readonly string[]) {
  const all = create();
  const chat = all.fixture.chat('iMessage;-;+15550100', ['+15550100']);
  const rows = texts.map((text, n) =>
    all.fixture.message({ chat, text, date: appleNs('2026-01-01T00:00:00Z') + BigInt(n) * 60_000_000_000n }),
  );
  await all.start();
  await all.complete();
  const [row = 0] = rows;
  const edit = (text: string): void =>
    void all.fixture.sqlite.exec(`UPDATE message SET text = '${text}' WHERE ROWID = ${row}`);
  const remove = (one = row): void =>
    void all.fixture.sqlite.exec(
      `DELETE FROM chat_message_join WHERE message_id = ${one}; DELETE FROM message WHERE ROWID = ${one}`,
    );
  return { ...all, chat, rows, row, edit, remove };
}

/** Inspects the file of an index from outside. */
function inside<Result>(path: string, look: (count: (sql: string) => number) => Result): Result {
  const sqlite = openSqlite(path, { readonly: true });
  try {
    return look((sql) => Number(sqlite.prepare(sql).get()?.[0]));
  } finally {
    sqlite.close();
  }
}
const having = (word: string): string => `SELECT count(*) FROM ft WHERE ft MATCH '"${word}"'`;

describe('what changes in chat.db', () => {
  test('a new message is found after its event', async () => {
    const { fixture, chat, feed, find } = await indexed('old');
    const row = fixture.message({ chat, text: 'fresh word' });
    const [message] = (await find('')).slice(-1);
    const data = {
      ...(message?.message ?? never()),
      id: String(row),
      body: 'fresh word',
      timestamp: '2026-01-01T00:00:00Z',
    };
    await feed.add({ rowId: row, offset: { rowId: row, change: 0 }, event: { type: 'message.received', data } });
    await eventually(async () => expect(ids(await find('fresh'))).toEqual([row]));
  });

  test('every message is indexed by the writer, whatever its length, and again after a change', async () => {
    const { fixture, chat, feed, find, put } = await indexed('old');
    const arrive = async (text: string): Promise<number> => {
      const row = fixture.message({ chat, text, date: appleNs('2026-03-01T00:00:00Z') });
      const known = (await find('old'))[0]?.message ?? never();
      const data = { ...known, id: String(row), body: text, timestamp: '2026-03-01T00:00:00Z' };
      await feed.add({ rowId: row, offset: { rowId: row, change: 0 }, event: { type: 'message.received', data } });
      return row;
    };
    const short = await arrive('lighthouse');
    const long = await arrive(`windmill ${'x '.repeat(100_000)}`);
    const next = await arrive('afterwards');
    await eventually(async () => {
      expect(ids([...(await find('lighthouse')), ...(await find('windmill'))])).toEqual([short, long]);
      expect(ids(await find('afterwards'))).toEqual([next]);
    });
    expect([...new Set(put)]).toEqual([short, long, next]);
    fixture.sqlite.exec(`UPDATE message SET text = replace(text, 'windmill', 'waterwheel') WHERE ROWID = ${long}`);
    const data = (await find('afterwards'))[0]?.message ?? never();
    await feed.changed(1, long, { type: 'message.updated', data, changes: ['edited'] });
    await eventually(async () => expect(ids(await find('waterwheel'))).toEqual([long]));
    expect(await find('windmill')).toEqual([]);
    expect(put.at(-1)).toBe(long);
  });

  test('a long message that is gone before it is indexed leaves the index, and what follows is indexed', async () => {
    const { fixture, chat, feed, path, find, remove } = await indexed('old');
    const row = fixture.message({ chat, text: 'gone', date: appleNs('2026-03-01T00:00:00Z') });
    const known = (await find('old'))[0]?.message ?? never();
    remove(row);
    const body = 'long '.repeat(2000);
    const data = { ...known, id: String(row), body, timestamp: '2026-03-01T00:00:00Z' };
    await feed.add({ rowId: row, offset: { rowId: row, change: 0 }, event: { type: 'message.received', data } });
    await eventually(() => expect(inside(path, (count) => count('SELECT row_id FROM about'))).toBe(row));
    expect(inside(path, (count) => count(having('long')))).toBe(0);
  });

  test('a word of more than 64 units is found, by itself and by its first 64', async () => {
    const word = 'donaudampfschiff'.repeat(8);
    const { rows, find, path } = await indexed(word, `${word.slice(0, 64)} in one`, `${word}é`);
    const newest = rows.toReversed();
    for (const asked of [word, word.slice(0, 64), `${word.slice(0, 70)}*`]) {
      expect(ids(await find(asked))).toEqual(newest);
    }
    expect(ids(await find(`"${word} in"`))).toEqual([rows[1]]);
    expect(await find(word.slice(0, 63))).toEqual([]);
    expect(inside(path, (count) => count(having(word.slice(0, 64))))).toBe(3);
  });

  test('an edited message is never found by what it said, and soon by what it says', async () => {
    const { row, edit, feed, path, find, found } = await indexed('apples', 'other');
    edit('oranges');
    expect(await find('apples')).toEqual([]);
    expect(found.stale).toBe(1);
    // A search that no longer finds the old text repairs the index, even without an event.
    await eventually(async () => expect(ids(await find('oranges'))).toEqual([row]));
    edit('pears');
    const data = (await find(''))[0]?.message ?? never();
    await feed.changed(1, row, { type: 'message.updated', data, changes: ['edited'] });
    await eventually(async () => expect(ids(await find('pears'))).toEqual([row]));
    expect(inside(path, (count) => [count(having('apples')), count(having('oranges'))])).toEqual([0, 0]);
  });

  test('a removed message is never found, and leaves the index with its event', async () => {
    const { row, remove, feed, path, find } = await indexed('secret plan', 'other');
    remove();
    expect(await find('secret')).toEqual([]);
    await feed.removed(1, row);
    await eventually(() => {
      expect(inside(path, (count) => [count(having('secret')), count('SELECT docs FROM about')])).toEqual([0, 1]);
    });
  });

  test('a message that the person deleted, which Messages keeps for a month, is not found', async () => {
    const { fixture, chat, row, feed, path, find } = await indexed('regretted', 'other');
    fixture.insert('chat_recoverable_message_join', { chat_id: chat, message_id: row, delete_date: 1 });
    fixture.sqlite.exec(`DELETE FROM chat_message_join WHERE message_id = ${row}`);
    expect(await find('regretted')).toEqual([]);
    const data = (await find(''))[0]?.message ?? never();
    await feed.changed(1, row, { type: 'message.updated', data, changes: ['deleted'] });
    await eventually(() => expect(inside(path, (count) => count(having('regretted')))).toBe(0));
    // And restored.
    fixture.join(chat, row, appleNs('2026-01-01T00:00:00Z'));
    fixture.sqlite.exec(`DELETE FROM chat_recoverable_message_join`);
    await feed.changed(2, row, { type: 'message.updated', data, changes: ['restored'] });
    await eventually(async () => expect(ids(await find('regretted'))).toEqual([row]));
  });

  test('a message whose date changes is found once, at its new place', async () => {
    const { fixture, row, rows, feed, find } = await indexed('word one', 'word two', 'word three');
    fixture.sqlite.exec(`UPDATE message SET date = ${appleNs('2026-02-01T00:00:00Z')} WHERE ROWID = ${row};
      UPDATE chat_message_join SET message_date = ${appleNs('2026-02-01T00:00:00Z')} WHERE message_id = ${row}`);
    const data = (await find('two'))[0]?.message ?? never();
    await feed.changed(1, row, { type: 'message.updated', data, changes: ['sent'] });
    await eventually(async () => expect(ids(await find('word'))).toEqual([row, rows[2], rows[1]]));
  });

  test('a flood of changes is worked off in the background', async () => {
    const { fixture, rows, feed, find } = await indexed(...Array.from({ length: 300 }, (_, n) => `before ${n}`));
    fixture.sqlite.exec(`UPDATE message SET text = replace(text, 'before', 'after')`);
    const [first, last] = [String(rows[0]), String(rows.at(-1))];
    await feed.changed(300, rows.at(-1) ?? 0, {
      type: 'messages.changed',
      data: { first_id: first, last_id: last, count: 300 },
    });
    await eventually(async () => expect(await find('after')).toHaveLength(200));
    expect(await find('"after 7"')).toHaveLength(1);
  });

  test('the daily comparison finds changes that no event reported', async () => {
    const { fixture, chat, rows, remove, path, clock, close, start, find } = await indexed('gone today', 'stays');
    remove();
    const late = fixture.message({ chat, text: 'came unnoticed', date: appleNs('2019-05-05T00:00:00Z') });
    expect(await find('unnoticed')).toEqual([]);
    await clock.advance(2 * DAY_MS);
    await close();
    await start();
    await eventually(async () => expect(ids(await find('unnoticed'))).toEqual([late]));
    await eventually(() =>
      expect(inside(path, (count) => [count(having('gone')), count('SELECT docs FROM about')])).toEqual([0, 2]),
    );
    expect(ids(await find('stays'))).toEqual([rows[1]]);
  });

  test.each([
    ['between two blocks of the comparison', ['oldest', 'gone today']],
    ['before the last full block', ['gone today', 'gone today']],
  ])('also a removed message %s', async (_, texts) => {
    const block = Array.from({ length: 2000 }, (_, n) => `filler ${n}`);
    const { rows, remove, path, clock, close, start } = await indexed(...texts, ...block);
    for (const [at, text] of texts.entries()) if (text === 'gone today') remove(rows[at]);
    await clock.advance(2 * DAY_MS);
    await close();
    await start();
    await eventually(() => expect(inside(path, (count) => count(having('gone')))).toBe(0));
  });
});

function never(): never {
  throw new Error('the message is not there');
}

describe('the file of the index', () => {
  test('is only the person’s, keeps no text, and deleted words are gone from it after the daily merging', async () => {
    const { path, fixture, remove, feed, row, clock, close, start, complete } = await indexed(
      'xylophonic secrets',
      ...Array.from({ length: 500 }, (_, n) => `filler number ${n}`),
    );
    for (const end of ['', '-wal', '-shm']) expect(statSync(path + end).mode & 0o777).toBe(0o600);
    remove();
    await feed.removed(1, row);
    await eventually(() => expect(inside(path, (count) => count('SELECT docs FROM about'))).toBe(500));
    await close();
    expect(fixture.path).not.toBe(path);
    await clock.advance(2 * DAY_MS);
    await start();
    await complete();
    await eventually(() => expect(inside(path, (count) => count('SELECT removed FROM about'))).toBe(0));
    await close();
    expect(readFileSync(path).includes('xylophonic')).toBe(false);
    expect(readFileSync(path).includes('filler number')).toBe(false);
  });

  test('is merged into one piece when it is complete', async () => {
    const texts = Array.from({ length: 1200 }, (_, n) => `filler number ${n}`);
    const { path } = await indexed(...texts);
    const pieces = 'SELECT count(DISTINCT segid) FROM ft_idx';
    await eventually(() => {
      expect(inside(path, (count) => [count('SELECT removed FROM about'), count(pieces)])).toEqual([0, 1]);
    });
  });

  test('is made again when chat.db is another one', async () => {
    const { path, fixture, close, start, complete, find, log } = await indexed('first database');
    await close();
    fixture.sqlite.exec(
      `DELETE FROM message; DELETE FROM chat_message_join; UPDATE sqlite_sequence SET seq = 0 WHERE name = 'message'`,
    );
    await start();
    await complete();
    expect(await find('database')).toEqual([]);
    expect(inside(path, (count) => count('SELECT docs FROM about'))).toBe(0);
    expect(log.lines.map(({ message }) => message)).toContain(
      'the Messages database was replaced: rebuilding the search index',
    );
  });

  test('is made again when the log is started over while it runs', async () => {
    const { feed, complete, find } = await indexed('word');
    feed.replace();
    await eventually(() => expect(feed.begun).toHaveLength(2));
    await complete();
    expect(await find('word')).toHaveLength(1);
  });

  test.each([
    ['of another version', (path: string) => write(path, 'PRAGMA user_version = 99')],
    ['no database', (path: string) => writeFileSync(path, 'no database '.repeat(1000))],
    ['damaged', (path: string) => damage(path)],
    ['without its tables', (path: string) => write(path, 'DROP TABLE doc')],
    ['empty', (path: string) => writeFileSync(path, '')],
  ])('is made again when it is %s', async (_name, spoil) => {
    const { path, close, start, complete, find } = await indexed('one word', 'two words');
    await close();
    for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
    spoil(path);
    await start();
    await complete();
    await eventually(async () => expect(bodies(await find('word'))).toEqual(['one word']));
  });

  test('that is deleted while it is used is made again', async () => {
    const { path, close, start, complete, find } = await indexed('one word');
    await close();
    rmSync(path);
    await start();
    await complete();
    expect(existsSync(path)).toBe(true);
    expect(await find('word')).toHaveLength(1);
  });

  test('that somebody deletes while it is in use is made again when it is asked', async () => {
    const { path, find } = await indexed('one word');
    for (const end of ['', '-wal', '-shm']) rmSync(path + end);
    await expect(find('word')).rejects.toMatchObject({ code: 'search_unavailable' });
    await eventually(async () => expect(await find('word')).toHaveLength(1));
  });

  test('that cannot be made costs only search, and says why', async () => {
    const all = create();
    all.fixture.message({ text: 'word' });
    await all.start(`${all.fixture.path}/search.db`); // below a file
    await eventually(() => expect(all.status().problem).toContain('cannot be written'));
    await expect(all.find('word')).rejects.toMatchObject({ code: 'search_unavailable', status: 503 });
    expect(all.status()).toMatchObject({ isEnabled: true, isComplete: false, indexedRows: 0 });
  });
});

describe('a start', () => {
  test('continues where the last one stopped, in the log and in the index', async () => {
    const { path, feed, close, start, complete, rows } = await indexed('one', 'two');
    await feed.removed(5, 999);
    await eventually(() => expect(inside(path, (count) => count('SELECT change FROM about'))).toBe(5));
    await close();
    await start();
    await complete();
    expect(feed.begun.at(-1)).toMatchObject({ rowId: rows[1], change: 5 });
  });

  test('indexes everything again, beside the old, when changes were lost', async () => {
    const { feed, edit, close, start, complete, find, row } = await indexed('apples', 'other');
    await close();
    edit('oranges');
    feed.refusal = problem('offset_expired');
    await start();
    await complete();
    await eventually(async () => expect(ids(await find('oranges'))).toEqual([row]));
  });
});

function write(path: string, sql: string): void {
  const sqlite = openSqlite(path);
  sqlite.exec(sql);
  sqlite.close();
}

/** Overwrites everything after the first page with noise. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, 4096);
  writeFileSync(path, bytes);
}
