import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { Fingerprints } from '../../src/core/chatdb/fingerprints.ts';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { idRanges } from '../../src/core/chatdb/read-around.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { ArchiveSource } from '../../src/features/archive/archive-source.ts';
import { IndexReader } from '../../src/features/search/index/index-source.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { damagePage } from '../support/damaged-pages.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROWS = 300;
const CHAT = 'any;-;+15550101';
const folder = temporaryFolder();
const sound = join(folder, 'sound.db');
beforeAll(() => writeSound(sound));
const toClose: (() => void)[] = [];
afterEach(() => {
  for (const close of toClose.splice(0).reverse()) close();
});
let files = 0;
/** What each damage makes unreadable. */
const lostBy = new Map<string, readonly number[]>();

/** Writes the chat.db that every test damages. */
function writeSound(path: string): void {
  const made = new ChatFixture(path);
  const chat = made.chat(CHAT, ['+15550101']);
  const handle_id = made.handle('+15550101');
  made.transaction(() => {
    for (const domain of ['one', 'two']) made.insert('chat_lookup', { identifier: '+15550101', domain, chat });
    for (let n = 1; n <= ROWS; n += 1) {
      const text = `message ${n} ${'x'.repeat(n === 150 ? 40_000 : 100)}`;
      const date = appleNs('2026-01-01T00:00:00Z', n * 1000);
      const thread_originator_guid = n === 1 ? null : made.guid(n - 1);
      const message = made.message({ chat, handle_id, text, date, is_read: n % 2, thread_originator_guid });
      if (n % 3 === 0) made.attach(message, `~/Library/Messages/Attachments/${'f'.repeat(200)}${n}.png`);
    }
  });
  made.close();
}

/** A chat.db in which one page of a table or index is damaged, and a connection to it. */
function damaged(name: string, page: Parameters<typeof damagePage>[2] = {}) {
  files += 1;
  const path = join(folder, `${files}`, 'chat.db');
  mkdirSync(dirname(path));
  copyFileSync(sound, path);
  damagePage(path, name, page);
  const log = collectingLog();
  const connection = new Connection({ path, home: '/Users/ada', log });
  toClose.push(() => connection.close());
  const what = JSON.stringify([name, page]);
  const lost = lostBy.get(what) ?? lostRows(path);
  lostBy.set(what, lost);
  return { path, connection, lost, log };
}

/** The ids of the messages that SQLite cannot read even one by one. */
function lostRows(path: string): readonly number[] {
  const database = new Database(path, { readonly: true });
  const row = database.prepare('SELECT * FROM message WHERE ROWID = ?');
  const ids = Array.from({ length: ROWS }, (_, n) => n + 1).filter((id) => {
    try {
      row.get(id);
      return false;
    } catch {
      return true;
    }
  });
  database.close();
  return ids;
}

const PAGES = [
  ['a leaf of message', 'message', {}, 1],
  ['the first leaf of message', 'message', { at: 0 }, 1],
  ['the last leaf of message', 'message', { at: 1 }, 1],
  ['a page of one long body', 'message', { kind: 'overflow' }, 1],
  ['a leaf of attachment', 'attachment', {}, 0],
  ['a leaf of chat_lookup', 'chat_lookup', {}, 0],
  ['the page of sqlite_sequence', 'sqlite_sequence', {}, 0],
  ['a leaf of chat_message_join', 'chat_message_join', {}, 0],
  ['a leaf of message_attachment_join', 'message_attachment_join', {}, 0],
  ['a leaf of the index by date', 'message_idx_date', {}, 0],
  ['a leaf of the index by GUID', 'sqlite_autoindex_message_1', {}, 0],
  ['a leaf of the index by conversation', 'sqlite_autoindex_chat_message_join_1', {}, 0],
  ['a leaf of the index of unread messages', 'message_idx_isRead_isFromMe_itemType', {}, 0],
] as const;

describe.each(PAGES)('with %s damaged', (_what, name, page, atLeast) => {
  const kept = ({ lost }: { readonly lost: readonly number[] }): readonly number[] =>
    Array.from({ length: ROWS }, (_, n) => n + 1).filter((id) => !lost.includes(id));

  test('lists have every message that can be read', async () => {
    const { connection, ...chat } = damaged(name, page);
    expect(chat.lost.length).toBeGreaterThanOrEqual(atLeast);
    const reader = new ChatReader(connection);
    const include = includeSet(['details']);
    for (const conversationId of [undefined, CHAT]) {
      const found: string[] = [];
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        const query = { conversationId, order: 'desc', limit: 100, offset: 0, include } as const;
        const list = await reader.listMessages({ ...query, ...(cursor !== undefined && { cursor }) });
        found.push(...list.items.map(({ id }) => id));
        cursor = list.next;
      }
      expect(found.map(Number).toReversed()).toEqual(kept(chat));
    }
    const { items } = await reader.listConversations({ limit: 10, offset: 0, include });
    expect(items.map(({ id }) => id)).toEqual([CHAT]);
    expect(items[0]?.details?.last_message?.id).toBe(String(kept(chat).at(-1)));
  });

  test('events, the index of search, prints and the archive have every message that can be read', () => {
    const { connection, ...chat } = damaged(name, page);
    const log = new ChatLog(connection);
    const ids = kept(chat);
    expect(log.entries(rowOffset(0), rowOffset(ROWS), ROWS).map(({ rowId }) => rowId)).toEqual(ids);
    expect(log.pendingRows(rowOffset(0), ROWS, true).map(({ rowId }) => rowId)).toEqual(ids);
    expect(log.newest().offset.rowId).toBe(ids.at(-1));
    const index = new IndexReader(connection);
    expect(index.listed(undefined, ROWS).rows.map(({ rowId }) => rowId)).toEqual(ids.toReversed());
    expect(index.messages(ids).every((message) => message?.conversation_id === CHAT)).toBe(true);
    expect([...new Fingerprints(connection).range(rowOffset(1), 1, ROWS).prints.keys()]).toEqual(ids);
    const source = new ArchiveSource(connection);
    const rows = source.rows(0, source.highestRowId(), ROWS);
    expect(rows.map(({ rowId }) => rowId)).toEqual(ids);
    expect([...source.entries(rows)].flat()).toHaveLength(ids.length);
  });

  test('a row that cannot be read is no message, and every other one is found by its id', async () => {
    const { connection, lost } = damaged(name, page);
    const reader = new ChatReader(connection);
    const missing: number[] = [];
    for (let id = 1; id <= ROWS; id += 1) if ((await reader.message(String(id))) === undefined) missing.push(id);
    expect(missing).toEqual(lost);
    expect(await reader.message(String(ROWS + 50))).toBeUndefined();
  });

  test('a new message is read as it arrives', () => {
    if (name === 'message' && 'at' in page && page.at === 1) return; // SQLite can add no row
    const { path, connection } = damaged(name, page);
    const log = new ChatLog(connection);
    log.entries(rowOffset(0), rowOffset(ROWS), ROWS);
    connection.read((snapshot) => snapshot.dates(undefined));
    const writer = new ChatFixture(path, 'macos-26', { isThere: true });
    toClose.push(() => writer.close());
    const added = (): number => {
      try {
        return writer.message({ text: 'new', handle_id: 1, date: appleNs('2026-02-01T00:00:00Z') });
      } catch {
        return 0; // it belongs into the damaged page
      }
    };
    const id = added();
    if (id === 0) return;
    connection.check();
    expect(log.pendingRows(rowOffset(ROWS), 10).map(({ rowId }) => rowId)).toEqual([id]);
  });
});

describe('the damage of chat.db', () => {
  test('names the table and the ids of the rows that cannot be read', () => {
    const { connection, lost, log } = damaged('message');
    expect(new ListReader(connection).survey().tables).toEqual([{ table: 'message', rowIds: lost, skipped: lost }]);
    const [line] = log.lines.filter(({ message }) => message.startsWith('chat.db is damaged'));
    expect(line?.fields).toMatchObject({ rows: { message: idRanges(lost) } });
    expect(connection.health()).toEqual({
      connected: true,
      message: `chat.db is damaged. These rows cannot be read: ${lost.length} of message (row ids ${idRanges(lost)}).`,
    });
  });

  test('loses no row of a join table that an index still has', () => {
    const { connection } = damaged('chat_message_join');
    const [found] = new ListReader(connection).survey().tables;
    expect(found).toMatchObject({ table: 'chat_message_join', rowIds: [] });
    expect(found?.skipped.length).toBeGreaterThan(10);
  });

  test('of an index is found although Messages continues to write', async () => {
    const { path } = damaged('sqlite_autoindex_message_1');
    const parts = { path, home: '/Users/ada', log: collectingLog() };
    const elsewhere = new Connection(parts);
    const connection = new Connection(parts, async () => elsewhere.survey());
    const writer = new ChatFixture(path, 'macos-26', { isThere: true });
    toClose.push(...[writer, elsewhere, connection].map((one) => () => one.close()));
    const replies = (): number =>
      new ListReader(connection)
        .messages({ order: 'asc', limit: ROWS, offset: 0, include: includeSet(['details']) })
        .items.filter(({ details }) => details?.reply_to !== null).length;
    expect(replies).toThrow(/damaged/);
    await new Promise(setImmediate);
    writer.handle('+15550999');
    expect(replies()).toBe(ROWS - 1);
  });

  test('is nothing in a sound chat.db', () => {
    const path = join(folder, 'sound', 'chat.db');
    const fixture = new ChatFixture(path);
    toClose.push(() => fixture.close());
    fixture.message({ text: 'hello' });
    const connection = new Connection({ path, home: '/Users/ada', log: collectingLog() });
    toClose.push(() => connection.close());
    expect(connection.survey()).toEqual({ tables: [], hasBadIndex: false });
  });

  test.each([
    [[1038, 1039, 1040, 1060], '1038-1040, 1060'],
    [Array.from({ length: 30 }, (_, n) => n * 2), /^0, 2, .*, 38, and 10 more ranges$/],
    [[], ''],
  ])('%j is named in ranges', (ids, named) => {
    expect(idRanges(ids)).toEqual(typeof named === 'string' ? named : expect.stringMatching(named));
  });
});
