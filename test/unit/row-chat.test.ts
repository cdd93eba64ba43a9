import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { IndexReader } from '../../src/features/search/index/index-source.ts';
import { AccessSending, ANA, BEN, codeOf, GARDEN } from '../support/access-sending.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { type ChatFixture, isSince13, MACOS_SCHEMAS, type Schema } from '../support/chat-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const databases = chatDatabases();
const PERSON = `any;-;${ANA}`;
const GROUP = 'any;+;chat9';

type Columns = Parameters<ChatFixture['message']>[0] & object;

function name(fixture: ChatFixture, row: number, named: Columns[string] = null): void {
  fixture.sqlite.prepare('UPDATE message SET cache_roomnames = ? WHERE ROWID = ?').run(named ?? null, row);
}

/** A person's chat, then a group with that person and Ben, and rows that are in both (imessage-exporter #243). */
function bothChats(schema: Schema) {
  const { fixture, connection } = databases.open(schema);
  const person = fixture.chat(PERSON, [ANA]);
  const group = fixture.chat(GROUP, [ANA, BEN]);
  const both = ({ cache_roomnames: named = null, ...columns }: Columns): number => {
    const row = fixture.message({ chat: person, ...columns });
    fixture.join(group, row, columns.date);
    // A trigger of Messages has just written the names of the row's groups.
    name(fixture, row, named);
    return row;
  };
  const date = (minute: number) => BigInt(minute) * 60_000_000_000n + 700_000_000_000_000_000n;
  return { fixture, connection, person, group, both, date };
}

describe('a row in several chats is in one conversation', () => {
  test.each(MACOS_SCHEMAS)(
    'the one that it names, else that of its sender, a group first, else a group, else the lowest (%s)',
    async (schema) => {
      const { fixture, connection, both, date } = bothChats(schema);
      const expected: Record<number, string> = {
        [both({ text: 'Ben in the group', handle_id: fixture.handle(BEN), date: date(1) })]: GROUP,
        [both({ text: 'Ana in either', handle_id: fixture.handle(ANA), date: date(2) })]: GROUP,
        [both({ text: 'Ana by SMS', handle_id: fixture.handle(ANA, 'SMS'), date: date(3) })]: GROUP,
        [both({ text: 'mine, unnamed', is_from_me: 1, date: date(4) })]: PERSON,
        [both({ text: 'who has left', handle_id: fixture.handle('+15550199'), date: date(5) })]: GROUP,
        [both({ text: 'no handle', handle_id: 0, date: date(5) })]: PERSON,
        [both({ text: 'named', is_from_me: 1, cache_roomnames: 'chat9', date: date(6) })]: GROUP,
        [both({ text: 'named', handle_id: fixture.handle('+15550199'), cache_roomnames: 'chat9', date: date(7) })]:
          GROUP,
      };
      const ids = Object.keys(expected);
      const reader = new ChatReader(connection);
      const log = new ChatLog(connection);
      const index = new IndexReader(connection);
      for (const id of ids) {
        expect([id, (await reader.message(id))?.conversation_id]).toEqual([id, expected[Number(id)]]);
      }
      expect(index.conversations(ids.map(Number))).toEqual(ids.map((id) => expected[Number(id)]));
      const { items: all } = await reader.listMessages({
        order: 'asc',
        limit: 50,
        offset: 0,
        conversationId: undefined,
      });
      expect(all.map(({ conversation_id }) => conversation_id)).toEqual(Object.values(expected));
      for (const conversationId of [PERSON, GROUP]) {
        const { items } = await reader.listMessages({ conversationId, order: 'asc', limit: 50, offset: 0 });
        expect(items.map(({ id }) => id)).toEqual(ids.filter((id) => expected[Number(id)] === conversationId));
      }
      const events = log.pendingRows({ rowId: 0, change: 0 }, 50).map(({ event }) => event.data);
      expect(events.map(({ conversation_id }) => conversation_id)).toEqual(Object.values(expected));
      const { items: listed } = await reader.listConversations({
        limit: 5,
        offset: 0,
        include: includeSet(['details']),
      });
      expect(listed.map(({ id, details }) => [id, details?.last_message?.body])).toEqual([
        [GROUP, 'named'],
        [PERSON, 'no handle'],
      ]);
    },
  );

  test('of a deleted row, and of one without facts, it is decided alike', async () => {
    const { fixture, connection, person, group } = bothChats('macos-26');
    const row = fixture.message({ text: 'deleted', handle_id: fixture.handle(BEN) });
    for (const chat of [person, group]) {
      fixture.insert('chat_recoverable_message_join', { chat_id: chat, message_id: row, delete_date: 1 });
    }
    expect((await new ChatReader(connection).message(String(row)))?.conversation_id).toBe(GROUP);
    const bare = databases.open('bare');
    const chats = [bare.fixture.chat('any;-;b'), bare.fixture.chat('any;+;a')];
    const other = bare.fixture.message({ chat: chats[1] ?? 0, text: 'x' });
    bare.fixture.join(chats[0] ?? 0, other);
    expect((await new ChatReader(bare.connection).message(String(other)))?.conversation_id).toBe('any;-;b');
  });
});

test('a limited key reads a row only if it may read every chat that the row is in', async () => {
  const service = new AccessSending(join(temporaryFolder(), 'keys'));
  const [person] = service.chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(PERSON) ?? [];
  const [group] = service.chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(GARDEN) ?? [];
  const row = service.chats.message({
    chat: Number(person),
    text: 'mine to all',
    is_from_me: 1,
    date: 800_000_000_000_000_000n,
  });
  service.chats.join(Number(group), row, 800_000_000_000_000_000n);
  name(service.chats, row);
  const read = async (list: readonly string[]) => {
    const { reader } = service.caller({ scopes: ['read', 'events'], read: list });
    const { items } = await reader.listMessages({ conversationId: PERSON, order: 'desc', limit: 5, offset: 0 });
    const conversation = await reader.conversation(PERSON, { include: includeSet(['details']) });
    return {
      bodies: items.map(({ body }) => body),
      one: (await reader.message(String(row)))?.body,
      last: conversation?.details?.last_message?.body,
    };
  };
  expect(await read([ANA])).toEqual({ bodies: ['earlier'], one: undefined, last: undefined });
  expect(await read([ANA, GARDEN])).toEqual({
    bodies: ['mine to all', 'earlier'],
    one: 'mine to all',
    last: 'mine to all',
  });
  await service.close();
});

describe('the owner among the members of a one-to-one chat', () => {
  test('is not a member: the other person is who wrote, and who may be written to', async () => {
    const service = new AccessSending(join(temporaryFolder(), 'owner'));
    const { chats } = service;
    const guid = 'any;-;+15550188';
    const chat = chats.chat(guid, ['me@example.com', '+15550188'], { last_addressed_handle: 'me@example.com' });
    const row = chats.message({ chat, text: 'from her', handle_id: 0 });
    const caller = service.caller({ scopes: ['read', 'send'], read: ['+15550188'], send: ['+15550188'] });
    expect(await caller.reader.message(String(row))).toMatchObject({ sender: '+15550188', conversation_id: guid });
    expect((await caller.reader.conversation(guid))?.participants).toEqual(['+15550188']);
    expect(await codeOf(service.send(caller, { recipient: guid }))).toBe('none');
    await service.close();
  });

  test('is the only one in a chat with oneself, and no member of a group is left out', async () => {
    const { fixture, connection } = databases.open('macos-26');
    const mine = ['me@example.com', '+15550190'];
    fixture.chat('any;-;me@example.com', mine, { last_addressed_handle: 'me@example.com' });
    fixture.chat('any;-;+15550188', ['+15550188', '+15550190'], { last_addressed_handle: '+15550190' });
    fixture.chat(GROUP, [ANA, '+15550190']);
    const reader = new ChatReader(connection);
    const members = async (id: string) => (await reader.conversation(id))?.participants;
    expect(await members('any;-;me@example.com')).toEqual(mine);
    expect(await members('any;-;+15550188')).toEqual(['+15550188']);
    expect(await members(GROUP)).toEqual([ANA, '+15550190']);
    const direct = (await reader.chats()).filter(({ isGroup }) => !isGroup);
    expect(direct.map(({ participants }) => participants)).toEqual([mine, ['+15550188']]);
  });
});

test.each(MACOS_SCHEMAS.filter(isSince13))(
  'a row without a join is in the group that it names, in events and lists alike (%s)',
  async (schema) => {
    const { fixture, connection } = bothChats(schema);
    const row = fixture.message({
      item_type: 3,
      group_action_type: 1,
      cache_roomnames: 'chat9',
      handle_id: fixture.handle(BEN),
    });
    const plain = fixture.message({
      text: 'its join follows',
      cache_roomnames: 'chat9',
      handle_id: fixture.handle(BEN),
    });
    const pending = new ChatLog(connection).pendingRows({ rowId: 0, change: 0 }, 10);
    expect(pending.map(({ rowId, isIncomplete }) => [rowId, isIncomplete])).toEqual([
      [row, false],
      [plain, true],
    ]);
    expect(pending.map(({ event }) => event.data.conversation_id)).toEqual([GROUP, GROUP]);
    const reader = new ChatReader(connection);
    expect((await reader.message(String(row)))?.conversation_id).toBe(GROUP);
    const { items } = await reader.listMessages({ conversationId: undefined, order: 'asc', limit: 9, offset: 0 });
    expect(items.map(({ conversation_id }) => conversation_id)).toEqual([GROUP, GROUP]);
    expect(new IndexReader(connection).conversations([row, plain])).toEqual([GROUP, GROUP]);
    const first = fixture.message({ text: 'perhaps of a new group', handle_id: fixture.handle(ANA) });
    expect((await reader.message(String(first)))?.conversation_id).toBe('');
  },
);
