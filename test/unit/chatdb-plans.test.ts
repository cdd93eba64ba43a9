import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { unreadQueriesOf } from '../../src/core/chatdb/conversation-details.ts';
import { joinedSqlOf } from '../../src/core/chatdb/joined-chats.ts';
import { dateQueriesOf, listQueriesOf, MESSAGE_LISTS, orderQueriesOf } from '../../src/core/chatdb/list-queries.ts';
import { pastEventsSqlOf } from '../../src/core/chatdb/past-events.ts';
import { queriesOf } from '../../src/core/chatdb/queries.ts';
import { readSchemaInfo } from '../../src/core/chatdb/schema-info.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { ChatFixture, MACOS_SCHEMAS } from '../support/chat-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

describe.each(MACOS_SCHEMAS)('on the %s schema', (schema) => {
  const fixture = new ChatFixture(join(folder, `plans-${schema}.db`), schema);
  for (let chat = 1; chat <= 30; chat += 1) {
    fixture.chat(`any;-;${chat}`);
    for (let n = 0; n < 20; n += 1) fixture.message({ chat });
  }
  fixture.sqlite.exec('ANALYZE');
  // As in a database that is in use: SQLite may read all of a small table.
  fixture.sqlite.exec(`UPDATE sqlite_stat1 SET stat = '1000000' || substr(stat, instr(stat || ' ', ' '))
    WHERE tbl IN ('message', 'chat_message_join')`);
  const sqlite = openSqlite(fixture.path, { readonly: true });
  const schemaInfo = readSchemaInfo(sqlite);
  const queries = queriesOf(schemaInfo);
  const lists = listQueriesOf(schemaInfo);
  const order = orderQueriesOf(schemaInfo);
  const dates = dateQueriesOf(schemaInfo);
  const unread = unreadQueriesOf({ schema: schemaInfo, get: (sql, ...values) => sqlite.prepare(sql).get(...values) });
  const { all, chat } = MESSAGE_LISTS.shown(schemaInfo).messages;
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

  const hot = [
    ...[all.asc, all.desc, chat.asc, chat.desc, lists.latest, lists.counted, lists.joined].map(
      ({ indexed }) => indexed,
    ),
    queries.message,
    queries.entries,
    queries.pendingRows,
    queries.attachments,
    dates.all,
    dates.chat,
    queries.rowIdOfGuid,
    order.joinsAfter,
    order.chatsAfter,
    order.stillCounts,
  ];

  test.each(hot)('no scan and no sort in %#', (sql) => {
    // On macOS 13 deleted rows have no index by message: the small table is read once, if a row may be in it.
    const steps = plan(sql).filter(
      (step) => !/SCAN (r\b|chat_recoverable_message_join|CONSTANT ROW|\(?subquery)/.test(step),
    );
    expect(steps.filter((step) => /SCAN|TEMP B-TREE/.test(step))).toEqual([]);
    expect(steps.some((step) => step.startsWith('SEARCH'))).toBe(true);
  });

  test('rows without a date are read from an index, and each looked up', () => {
    for (const { mixed } of [all.asc, all.desc, chat.asc, chat.desc, lists.counted, lists.joined]) {
      const steps = plan(mixed);
      // Only the result that is sorted anyway, and the small table of deleted rows, are scanned.
      const scanned = steps.filter(
        (step) => /^SCAN /.test(step) && !/^SCAN (k|\(?subquery|chat_recover|CONSTANT)/.test(step),
      );
      expect(scanned).toEqual([]);
      expect(steps.some((step) => /^SEARCH (m|j) USING (COVERING )?INDEX \w*date/.test(step))).toBe(true);
    }
  });

  test('a page stops reading as soon as it is full', () => {
    const sql = all.desc.indexed;
    expect(plan(sql)[0]).toMatch(/SEARCH m USING INDEX message_idx_date \(date>\? AND date<\?\)/);
    expect(plan(chat.desc.indexed)[0]).toContain(
      'chat_message_join_idx_message_date_id_chat_id (chat_id=? AND message_date>?',
    );
  });

  test('unread messages are counted in an index, and each looked up', () => {
    const [first = '', ...others] = plan(unread?.byChat ?? '');
    // Only the result is grouped by chat.
    expect(first).toMatch(/^SEARCH m USING (?:COVERING )?INDEX message_idx_(?:is_?read|unread)/i);
    expect(others.filter((step) => /^SCAN (?!r\b)/.test(step))).toEqual([]);
  });

  test('only the chats themselves are scanned to order conversations', () => {
    expect(order.isKept).toBe(true);
    for (const sql of [order.latest, order.odd ?? '']) {
      expect(plan(sql).filter((step) => /SCAN (?!c\b|\(?subquery|CONSTANT ROW)/.test(step))).toEqual([]);
    }
  });

  test('groups that are one conversation are found in the index of their identifiers', () => {
    const sql = joinedSqlOf(schemaInfo);
    expect(sql !== undefined).toBe(['macos-26', 'macos-27', 'utf-16'].includes(schema));
    const steps = plan(sql ?? 'SELECT 1');
    // The table has a row for each chat and is read once for each state of chat.db.
    expect(
      steps.filter((step) => /^SCAN (?!shared|\(?subquery|chat_lookup USING INDEX|CONSTANT ROW)/.test(step)),
    ).toEqual([]);
    expect(steps.filter((step) => /TEMP B-TREE FOR GROUP BY|AUTOMATIC/.test(step))).toEqual([]);
  });

  test('the newest rows are read from the index of dates', () => {
    expect(plan(order.newest).filter((step) => /TEMP B-TREE/.test(step))).toEqual([]);
    expect(plan(order.newest).join()).toContain('message_idx_date');
    expect(plan(pastEventsSqlOf(schemaInfo))[0]).toMatch(/message_idx_date \(date>\? AND date<\?\)/);
    expect(plan(pastEventsSqlOf(schemaInfo)).join()).not.toContain('TEMP B-TREE');
  });

  test('no number is bound without a cast where SQLite would plan again at every run', () => {
    const mixed = [all.asc, all.desc, chat.asc, chat.desc, lists.counted].map((sql) => sql.mixed);
    const texts = [...hot, ...mixed, order.newest, pastEventsSqlOf(schemaInfo), queries.participants].join('\n');
    expect(texts).not.toMatch(/LIMIT \?(?! \+ 0)|OFFSET \?(?! \+ 0)|[<>]=? \(?\?(?! \+ 0)/);
  });
});
