import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { Message } from '../../src/core/model/message.ts';
import { ChatDatabase } from '../../src/features/simulator/chat-database.ts';
import { fillLarge } from '../../src/features/simulator/fill.ts';
import { MACOS_VERSIONS, type MacosVersion } from '../../src/features/simulator/macos-versions.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const FILLING = { messages: 4000, conversations: 60, busiest: 1200, seed: 1 };
let made = 0;

function fill(filling: Partial<typeof FILLING> = {}, version: MacosVersion = '26') {
  made += 1;
  const path = join(folder, `filled-${made}.db`);
  const database = ChatDatabase.open(path, version);
  fillLarge(database, { ...FILLING, ...filling });
  const count = (sql: string): number => Number(database.sqlite.prepare(sql).get()?.[0]);
  return { path, database, count };
}

async function allMessages(path: string): Promise<readonly Message[]> {
  const connection = new Connection({ path, home: '/Users/ada', log: collectingLog() });
  const reader = new ChatReader(connection);
  const items: Message[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { order: 'desc', limit: 200, offset: 0, ...(cursor !== undefined && { cursor }) } as const;
    const page = await reader.listMessages(query);
    items.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  connection.close();
  return items;
}

describe('a filled database', () => {
  test('has as many rows as asked for, and the busiest conversation its share', () => {
    const { count } = fill();
    expect(count('SELECT count(*) FROM message')).toBe(4000);
    expect(count('SELECT count(*) FROM chat')).toBe(60);
    expect(count('SELECT count(DISTINCT chat_id) FROM chat_message_join')).toBe(60);
    const [busiest, second] = [0, 1].map((at) =>
      count(`SELECT count(*) FROM chat_message_join GROUP BY chat_id ORDER BY 1 DESC LIMIT 1 OFFSET ${at}`),
    );
    expect(busiest).toBe(1200);
    expect(second).toBeLessThan(1200);
  });

  test('is read by the service row for row: bodies, senders, files, in the order of their dates', async () => {
    const { path, count } = fill();
    const messages = await allMessages(path);
    expect(messages).toHaveLength(count('SELECT count(*) FROM message WHERE associated_message_type = 0'));
    const written = messages.filter(({ body }) => body !== '');
    expect(written.length).toBeGreaterThan(0.9 * messages.length);
    expect(new Set(written.map(({ body }) => body)).size).toBeGreaterThan(0.9 * written.length);
    expect(messages.every(({ conversation_id: id, sender }) => id !== '' && sender !== '')).toBe(true);
    const files = messages.flatMap(({ attachments }) => attachments);
    expect(files).toHaveLength(count('SELECT count(*) FROM attachment'));
    expect(files.length).toBeGreaterThan(0.04 * messages.length);
    const times = messages.map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort().reverse());
    expect(Number(times[0]?.slice(0, 4)) - Number(times.at(-1)?.slice(0, 4))).toBe(9);
  });

  test('holds four in five bodies in attributedBody alone, and what real ones hold besides', () => {
    const { count } = fill();
    const share = count('SELECT avg(text IS NULL) FROM message');
    expect(share).toBeGreaterThan(0.77);
    expect(share).toBeLessThan(0.83);
    for (const rows of [
      'message WHERE associated_message_type BETWEEN 2000 AND 2006',
      'message WHERE thread_originator_guid IN (SELECT guid FROM message)',
      'message WHERE item_type = 2',
      'message a JOIN message b ON b.ROWID = a.ROWID + 1 WHERE b.date < a.date',
      'chat_message_join WHERE message_date IS NULL',
      'chat_message_join WHERE message_date = 0',
      'chat WHERE style = 43',
    ]) {
      expect([rows, count(`SELECT count(*) > 0 FROM ${rows}`)]).toEqual([rows, 1]);
    }
    expect(count('SELECT avg(message_date > 0) FROM chat_message_join')).toBeGreaterThan(0.9);
  });

  test('has the same rows for the same seed, and others for another', () => {
    const digest = ({ database }: ReturnType<typeof fill>): string => {
      const hash = createHash('sha256');
      for (const table of ['message', 'chat', 'chat_message_join', 'attachment', 'handle']) {
        const dates = table === 'message' ? ', CAST(date AS TEXT)' : '';
        for (const row of database.sqlite.prepare(`SELECT *${dates} FROM ${table}`).all()) hash.update(row.join('\t'));
      }
      return hash.digest('hex');
    };
    const first = digest(fill({ messages: 500, conversations: 20, busiest: 100 }));
    expect(digest(fill({ messages: 500, conversations: 20, busiest: 100 }))).toBe(first);
    expect(digest(fill({ messages: 500, conversations: 20, busiest: 100, seed: 2 }))).not.toBe(first);
  });

  test.each(MACOS_VERSIONS)('has the indexes, triggers and statistics of macOS %s again', (version) => {
    const { database, count } = fill({ messages: 300, conversations: 10, busiest: 60 }, version);
    const schemaOf = (one: ChatDatabase): unknown =>
      one.sqlite
        .prepare(`SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name`)
        .all();
    const empty = ChatDatabase.open(join(folder, `empty-${version}.db`), version);
    expect(schemaOf(database)).toEqual(schemaOf(empty));
    expect(count('SELECT count(*) FROM sqlite_stat1')).toBeGreaterThan(10);
    expect(database.sqlite.prepare('PRAGMA integrity_check').all()).toEqual([['ok']]);
    expect(database.sqlite.prepare('PRAGMA foreign_key_check').all()).toEqual([]);
    expect(database.sqlite.prepare('PRAGMA journal_mode').get()).toEqual(['wal']);
  });

  test('writes into its rows what the triggers would have written', () => {
    const { database } = fill({ messages: 500, conversations: 20, busiest: 100 });
    const said = (): unknown =>
      [
        'SELECT ROWID, cache_roomnames, cache_has_attachments FROM message',
        'SELECT * FROM chat_service ORDER BY 1, 2',
      ].map((sql) => database.sqlite.prepare(sql).all());
    const before = said();
    database.sqlite.exec(`CREATE TEMP TABLE kept AS SELECT * FROM chat_message_join;
      CREATE TEMP TABLE files AS SELECT * FROM message_attachment_join;
      UPDATE message SET cache_roomnames = NULL, cache_has_attachments = 0;
      DELETE FROM chat_service;
      INSERT OR REPLACE INTO chat_message_join SELECT * FROM kept;
      INSERT OR REPLACE INTO message_attachment_join SELECT * FROM files`);
    expect(said()).toEqual(before);
  });
});
