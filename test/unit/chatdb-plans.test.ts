import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { messageQueries, type PageQueries } from '../../src/chatdb/queries.ts';
import { chatQueries } from '../../src/chatdb/queries-chats.ts';
import { probe } from '../../src/chatdb/shape.ts';
import { openSqlite } from '../../src/runtime/sqlite.ts';
import { ChatFixture, type Schema } from '../support/chat-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

describe.each<Schema>(['macos-26', 'macos-13', 'macos-12', 'macos-10.13'])('on the %s schema', (schema) => {
  const fixture = new ChatFixture(join(folder, `plans-${schema}.db`), schema);
  for (let chat = 1; chat <= 30; chat += 1) {
    fixture.chat(`any;-;${chat}`);
    for (let n = 0; n < 20; n += 1) fixture.message({ chat });
  }
  fixture.sql('ANALYZE');
  const sqlite = openSqlite(fixture.path, { readonly: true });
  const queries = messageQueries(probe(sqlite));
  const chats = chatQueries(probe(sqlite));
  afterAll(() => {
    sqlite.close();
    fixture.close();
  });

  function plan(sql: string): string[] {
    const parameters = Array<number>(sql.split('?').length - 1).fill(1);
    return sqlite
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...parameters)
      .map((row) => String(row[3]));
  }

  const indexed = (page: PageQueries): string[] => [page.rows, page.keys];
  const hot = [
    ...indexed(queries.pages.all.asc),
    ...indexed(queries.pages.all.desc),
    ...indexed(queries.pages.chat.asc),
    ...indexed(queries.pages.chat.desc),
    queries.message,
    queries.entries,
    queries.arrivals,
    queries.attachments,
    queries.hasOddDates.all,
    queries.hasOddDates.chat,
    queries.rowIdOfGuid,
    chats.last,
  ];

  test.each(hot)('no scan and no sort in %#', (sql) => {
    // On macOS 13 the deleted rows have no index by message: the small table is read, once, when a row may be in it.
    const steps = plan(sql).filter((step) => !/SCAN (r|chat_recoverable_message_join|CONSTANT ROW)\b/.test(step));
    expect(steps.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);
    expect(steps.some((step) => step.startsWith('SEARCH'))).toBe(true);
  });

  test('rows without a date are read from an index, and each looked up', () => {
    for (const sql of [...queries.undated.all, ...queries.undated.chat]) {
      const steps = plan(sql);
      expect(steps.filter((step) => /SCAN (?!j$|chat_recoverable_message_join)|TEMP B-TREE/.test(step))).toEqual([]);
      expect(steps.some((step) => /^SEARCH (message|chat_message_join) USING COVERING INDEX/.test(step))).toBe(true);
      expect(steps.some((step) => step.startsWith('SEARCH m USING INTEGER PRIMARY KEY'))).toBe(true);
    }
  });

  test('a page stops reading as soon as it is full', () => {
    const sql = queries.pages.all.desc.rows;
    expect(plan(sql)[0]).toMatch(/SEARCH m USING INDEX message_idx_date \(date>\? AND date<\?\)/);
    const chat = queries.pages.chat.desc.rows;
    expect(plan(chat)[0]).toContain('chat_message_join_idx_message_date_id_chat_id (chat_id=? AND message_date>?');
  });

  test('only the chats themselves are scanned to rank conversations', () => {
    for (const sql of [chats.heads, chats.oddChats]) {
      expect(plan(sql).filter((step) => /SCAN (?!c\b|heads\b|CONSTANT ROW)/.test(step))).toEqual([]);
    }
    expect(chats.areHeadsExact).toBe(false);
  });

  test('no number is bound bare where SQLite would plan anew at every run', () => {
    const texts = [...hot, ...queries.undated.all, ...queries.undated.chat, chats.heads, chats.participants].join('\n');
    expect(texts).not.toMatch(/LIMIT \?(?! \+ 0)|OFFSET \?(?! \+ 0)|[<>]=? \(?\?(?! \+ 0)/);
  });
});
