import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ReadAround } from '../../src/core/chatdb/read-around.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { Sqlite, SqlValue } from '../../src/core/runtime/sqlite.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const CHATS = 50;
const PLAN = `SELECT min(j.chat_id) FROM chat_message_join j WHERE j.message_id = 5`;

/** A chat.db as tools rebuild it: the tables of macOS 26, but no index of the joins. */
function withoutIndex(name: string, rows: number): ChatFixture {
  const fixture = new ChatFixture(join(folder, name, 'chat.db'));
  fixture.sqlite.exec(`ALTER TABLE chat_message_join RENAME TO old; DROP TABLE old;
    CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER, message_date INTEGER DEFAULT 0)`);
  const chats = Array.from({ length: CHATS }, (_, n) => fixture.chat(`any;-;+1555010${n}`, [`+1555010${n}`]));
  fixture.transaction(() => {
    for (let n = 0; n < rows; n += 1) {
      fixture.message({ chat: chats[n % CHATS] ?? null, date: appleNs('2026-01-01T00:00:00Z', n) });
    }
  });
  return fixture;
}

function conversations(connection: Connection) {
  return new ChatReader(connection).listConversations({ limit: 5, offset: 0 });
}

function isReadable(connection: Connection): boolean {
  try {
    return connection.read(() => true);
  } catch {
    return false;
  }
}

test('a chat.db whose joins have no index by message is read through a temporary one, which follows commits', async () => {
  const fixture = withoutIndex('small', 500);
  const connection = new Connection({ path: fixture.path, home: '/Users/ada', log: collectingLog() });
  const plan = connection.read(({ database }) => database.all(`EXPLAIN QUERY PLAN ${PLAN}`).map((row) => row[3]));
  expect(plan.join()).toMatch(/SEARCH j USING .*INDEX/);
  const first = await conversations(connection);
  expect(first.items.map(({ id }) => id)).toEqual([49, 48, 47, 46, 45].map((n) => `any;-;+1555010${n}`));

  const added = fixture.message({ chat: 4, date: appleNs('2026-02-01T00:00:00Z') });
  connection.check();
  expect((await conversations(connection)).items[0]?.id).toBe('any;-;+15550103');
  expect(new ChatLog(connection).pendingRows({ rowId: added - 1, change: 0 }, 5)).toMatchObject([
    { rowId: added, isIncomplete: false },
  ]);
  fixture.sqlite.exec(`DELETE FROM chat_message_join WHERE message_id = ${added}`);
  connection.check();
  expect((await conversations(connection)).items[0]?.id).toBe('any;-;+155501049');
  // The next join gets the row id of the removed one.
  const next = fixture.message({ chat: 7, date: appleNs('2026-02-01T00:00:01Z') });
  fixture.sqlite.exec(`DELETE FROM chat_message_join WHERE message_id = ${next}`);
  fixture.message({ chat: 8, date: appleNs('2026-02-01T00:00:02Z') });
  connection.check();
  expect((await conversations(connection)).items[0]?.id).toBe('any;-;+15550107');
  connection.close();
  fixture.close();
});

test('a removed join costs no second copy of the others', () => {
  const fixture = withoutIndex('removed', 500);
  const added: number[] = [];
  const counting: Sqlite = {
    ...fixture.sqlite,
    prepare(sql) {
      const statement = fixture.sqlite.prepare(sql);
      const run = (...parameters: SqlValue[]): number => {
        const changed = statement.run(...parameters);
        added.push(changed);
        return changed;
      };
      return { all: (...given) => statement.all(...given), get: (...given) => statement.get(...given), run };
    },
  };
  const around = new ReadAround(counting);
  around.copyJoins();
  const other = new ChatFixture(fixture.path, 'macos-26', { isThere: true });
  other.sqlite.exec('DELETE FROM chat_message_join WHERE message_id = 5');
  around.refresh();
  expect(added).toEqual([500, 0, 0]);
  other.close();
  fixture.close();
});

test('the event loop turns while a temporary index is made, and reads say so until it is', async () => {
  const fixture = withoutIndex('large', 20_000);
  const survey = () => Promise.reject(new Error('nothing is damaged'));
  const connection = new Connection({ path: fixture.path, home: '/Users/ada', log: collectingLog() }, survey);
  connection.check();
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  });
  expect(() => connection.read(() => undefined)).toThrow(/a temporary one is being made/);
  // Looks in every turn, so that it sees the first one in which a read succeeds.
  while (!isReadable(connection)) await nextTurn();
  clearInterval(counting);
  expect(turns).toBeGreaterThan(0);
  expect(connection.check()).toBe('changed');
  expect((await conversations(connection)).items).toHaveLength(5);
  connection.close();
  fixture.close();
});

test('without room for a temporary index, the answer is 503 index_missing and says what to do', () => {
  const fixture = withoutIndex('full', 100);
  const prepare = fixture.sqlite.prepare.bind(fixture.sqlite);
  const full: Sqlite = {
    ...fixture.sqlite,
    prepare(sql) {
      if (sql.startsWith('INSERT INTO temp.')) throw Object.assign(new Error('full'), { code: 'SQLITE_FULL' });
      return prepare(sql);
    },
  };
  expect(() => new ReadAround(full).copyJoins()).toThrow(
    expect.objectContaining({
      status: 503,
      code: 'index_missing',
      message: expect.stringContaining('chat_message_join(message_id)'),
      hint: expect.stringContaining('Make room'),
    }),
  );
  fixture.close();
});
