import { describe, expect, test } from '@jest/globals';
import type { Connection } from '../../src/core/chatdb/connection.ts';
import { Fingerprints } from '../../src/core/chatdb/fingerprints.ts';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { chatDbNames, chatSendLookup, MessagesDirectory } from '../../src/core/chatdb/lookups.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { eventFilter } from '../../src/core/model/event-filter.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { namedReader } from '../../src/core/model/named-reader.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { plan } from '../../src/core/sender/attempts.ts';
import { ReadableChats } from '../../src/features/access/readable.ts';
import { IndexReader } from '../../src/features/search/index/index-source.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import type { ChatFixture, Schema } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const include = includeSet(['details']);
const ANA = '+15550100';
const BEN = '+15550101';
const CLEO = '+15550102';
const OLD = 'any;+;chat100';
const NEW = 'any;+;chat200';
const date = (minute: number) => BigInt(minute) * 60_000_000_000n + 700_000_000_000_000_000n;

function look(fixture: ChatFixture, identifier: string, chat: number, domain: string): void {
  fixture.insert('chat_lookup', { identifier, domain, chat });
}

/** One group that was MMS and became RCS (imessage-exporter #581), and a row of each minute, 1 to 6, in turn. */
function group({
  schema = 'macos-26',
  isJoined = true,
}: {
  readonly schema?: Schema;
  readonly isJoined?: boolean;
} = {}) {
  const { fixture, connection } = databases.open(schema);
  const old = fixture.chat(OLD, [ANA, BEN], { display_name: 'Trip' });
  const person = fixture.chat(`any;-;${ANA}`, [ANA]);
  const recent = fixture.chat(NEW, [ANA, BEN], { display_name: 'Trip' });
  if (isJoined) {
    look(fixture, 'group-1', old, 'SMS');
    look(fixture, 'group-1', recent, 'RCS');
  }
  const rows = [1, 2, 3, 4, 5, 6].map((minute) =>
    fixture.message({
      chat: minute % 2 === 1 ? old : recent,
      text: `row ${minute}`,
      handle_id: fixture.handle(ANA),
      date: date(minute),
    }),
  );
  fixture.message({ chat: person, text: 'hello', handle_id: fixture.handle(ANA), date: date(0) });
  return { fixture, connection, old, recent, person, rows, reader: new ChatReader(connection) };
}

async function idsOf(reader: ChatReader, query: object): Promise<readonly string[]> {
  const { items } = await reader.listMessages({ order: 'asc', limit: 50, offset: 0, ...query });
  return items.map(({ body }) => body);
}

async function conversationsOf(reader: ChatReader) {
  const { items } = await reader.listConversations({ limit: 50, offset: 0, include });
  return items;
}

function entriesOf(connection: Connection) {
  return new ChatLog(connection).entries(rowOffset(0), rowOffset(1000), 1000);
}

describe('groups that chat_lookup joins are one conversation', () => {
  test('with the id of the oldest, the other ids and the counts of all', async () => {
    const { reader } = group();
    const [trip, ...others] = await conversationsOf(reader);
    expect(others.map(({ id }) => id)).toEqual([`any;-;${ANA}`]);
    expect(trip).toMatchObject({ id: OLD, display_name: 'Trip', participants: [ANA, BEN] });
    expect(trip?.details).toMatchObject({ other_ids: [NEW], unread_count: 6, last_message: { body: 'row 6' } });
    expect(others[0]?.details).not.toHaveProperty('other_ids');
    expect(await reader.conversation(NEW, { include })).toEqual(trip);
    expect(await reader.conversation('chat200')).toMatchObject({ id: OLD, last_message_at: trip?.last_message_at });
  });

  test('whose thread has the rows of all in order, under every id, page by page', async () => {
    const { reader } = group();
    const all = ['row 1', 'row 2', 'row 3', 'row 4', 'row 5', 'row 6'];
    for (const conversationId of [OLD, NEW, 'RCS;+;chat200', 'chat100']) {
      expect(await idsOf(reader, { conversationId })).toEqual(all);
      expect(await idsOf(reader, { conversationId, order: 'desc', limit: 2, offset: 1 })).toEqual(['row 5', 'row 4']);
    }
    const first = await reader.listMessages({ conversationId: NEW, order: 'desc', limit: 4, offset: 0 });
    const second = await reader.listMessages({
      conversationId: NEW,
      order: 'desc',
      limit: 4,
      offset: 0,
      cursor: first.next ?? '',
    });
    expect([...first.items, ...second.items].map(({ body }) => body)).toEqual(all.toReversed());
    expect(new Set([...first.items, ...second.items].map((one) => one.conversation_id))).toEqual(new Set([OLD]));
    expect(await idsOf(reader, { conversationIds: [OLD, NEW] })).toEqual(all);
  });

  test('and the list of its files', async () => {
    const { fixture, connection, rows } = group();
    for (const row of rows.slice(1, 3)) {
      fixture.sqlite.prepare('UPDATE message SET cache_has_attachments = 1 WHERE ROWID = ?').run(row);
      fixture.attach(row, `~/Library/Messages/Attachments/${row}.jpg`);
    }
    const page = new ListReader(connection).messages({
      conversationId: NEW,
      order: 'desc',
      limit: 10,
      offset: 0,
      hasFiles: true,
    });
    expect(page.items.map(({ body }) => body)).toEqual(['row 3', 'row 2']);
  });

  test('in events, and filters may name any of its ids', () => {
    const { connection } = group();
    const entries = entriesOf(connection);
    expect(new Set(entries.slice(0, 6).map(({ event }) => event.data.conversation_id))).toEqual(new Set([OLD]));
    for (const id of [OLD, NEW, 'SMS;+;chat200']) {
      const isWanted = eventFilter({ events: ['message.received'], filter: { conversation_ids: [id] } });
      expect(entries.map(isWanted)).toEqual([true, true, true, true, true, true, false]);
    }
  });

  test('in the list of conversations after each commit', async () => {
    const { fixture, reader, recent, old } = group({ isJoined: false });
    expect((await conversationsOf(reader)).map(({ id }) => id)).toEqual([NEW, OLD, `any;-;${ANA}`]);
    look(fixture, 'group-1', old, 'SMS');
    look(fixture, 'group-1', recent, 'RCS');
    expect((await conversationsOf(reader)).map(({ id }) => id)).toEqual([OLD, `any;-;${ANA}`]);
    fixture.message({ chat: old, text: 'late', date: date(9), handle_id: fixture.handle(BEN) });
    const [first] = await conversationsOf(reader);
    expect(first?.details?.last_message?.body).toBe('late');
    const pages = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page = await reader.listConversations({ limit: 1, offset: 0, cursor });
      pages.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    }
    expect(pages).toEqual([OLD, `any;-;${ANA}`]);
  });

  test('in a search for conversations, by each id, name and member', async () => {
    const { fixture, reader, old } = group();
    fixture.sqlite.exec("UPDATE chat SET display_name = 'Journey' WHERE guid = 'any;+;chat200'");
    fixture.participant(old, fixture.handle(CLEO));
    const named = namedReader(reader, {
      ready: async () => {},
      names: { nameOf: () => undefined },
      named: async () => [],
    });
    for (const q of ['chat100', 'chat200', 'Trip', 'Journey', CLEO, 'any;+']) {
      const { items } = await named.listConversations({ limit: 5, offset: 0, q });
      expect([q, items.map(({ id }) => id)]).toEqual([q, [OLD]]);
    }
  });

  test('in search, also for rows that were indexed before', () => {
    const { connection, rows } = group();
    const names = chatDbNames(connection);
    expect(names.conversations(NEW)).toEqual([OLD, NEW]);
    expect(names.conversations('chat200')).toEqual([OLD, NEW]);
    expect(names.named('trip')).toEqual([[OLD, NEW]]);
    expect(new IndexReader(connection).conversations(rows)).toEqual(rows.map(() => OLD));
  });

  test('for removed rows', () => {
    const { connection, rows } = group();
    const found = new Fingerprints(connection).origins(0, Number(rows.at(-1)));
    expect(new Set(found.map(({ conversationId }) => conversationId))).toEqual(new Set([OLD]));
  });

  test('to which sends go by the newest chat, and whose row is found there', () => {
    const { fixture, connection, recent, old } = group();
    const lookup = chatSendLookup(connection);
    for (const id of [OLD, NEW, 'chat100']) {
      expect(plan(id, lookup.chats(id)).attempts[0]).toMatchObject({ chatId: NEW });
    }
    const row = fixture.message({ chat: recent, text: 'mine', is_from_me: 1, date: date(9) });
    expect(lookup.ownRowsAbove(row - 1, 0)).toMatchObject([{ address: plan(OLD, lookup.chats(OLD)).address }]);
    // iCloud adds an old message under a new row id.
    fixture.message({ chat: old, text: 'old SMS', handle_id: fixture.handle(ANA), date: date(1) });
    expect(plan(OLD, lookup.chats(OLD)).attempts[0]).toMatchObject({ chatId: NEW });
    fixture.message({ chat: old, text: 'again SMS', handle_id: fixture.handle(ANA), date: date(10) });
    expect(plan(OLD, lookup.chats(OLD)).attempts[0]).toMatchObject({ chatId: OLD });
    const inSeconds = 'UPDATE chat_message_join SET message_date = (message_date + 120000000000) / 1000000000';
    fixture.sqlite.exec(`${inSeconds} WHERE chat_id = ${recent}`);
    expect(plan(OLD, lookup.chats(OLD)).attempts[0]).toMatchObject({ chatId: NEW });
  });

  test('a key that lists one id reads the whole group', () => {
    const { connection, rows } = group();
    const directory = new MessagesDirectory(connection);
    const members = [ANA, BEN];
    for (const listed of [OLD, NEW]) {
      const chats = new ReadableChats(() => [{ group: listed, members }], directory);
      expect(chats.guids()).toEqual([OLD, NEW]);
      expect([chats.has(OLD), chats.has(NEW), chats.has(`any;-;${ANA}`)]).toEqual([true, true, false]);
      expect(rows.every((row) => chats.hasMessage(String(row)))).toBe(true);
    }
  });

  test('also through a third identifier, and never a person', async () => {
    const { fixture, reader, old, recent, person } = group({ isJoined: false });
    const third = fixture.chat('any;+;chat300', [ANA, BEN, CLEO]);
    look(fixture, 'b', recent, 'RCS');
    look(fixture, 'b', third, 'iMessage');
    look(fixture, 'a', old, 'SMS');
    look(fixture, 'a', third, 'iMessage');
    look(fixture, 'a', person, 'RCS');
    look(fixture, '', person, 'SMS');
    const found = await conversationsOf(reader);
    expect(found.map(({ id, details }) => [id, details?.other_ids])).toEqual([
      [OLD, [NEW, 'any;+;chat300']],
      [`any;-;${ANA}`, undefined],
    ]);
  });
});

test.each([
  ['no entry of chat_lookup joins them', 'macos-26'],
  ['there is no chat_lookup', 'macos-13'],
  ['there is nothing but the minimum', 'macos-12'],
] as const)('two groups stay two conversations if %s', async (_, schema) => {
  const { connection, reader } = group({ schema, isJoined: false });
  expect((await conversationsOf(reader)).map(({ id }) => id)).toEqual([NEW, OLD, `any;-;${ANA}`]);
  expect(await idsOf(reader, { conversationId: NEW })).toEqual(['row 2', 'row 4', 'row 6']);
  const chats = new ReadableChats(() => [{ group: NEW, members: [ANA, BEN] }], new MessagesDirectory(connection));
  expect([chats.has(OLD), chats.has(NEW)]).toEqual([false, true]);
});
