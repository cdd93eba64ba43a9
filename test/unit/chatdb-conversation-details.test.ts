import { describe, expect, test } from '@jest/globals';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { Conversation } from '../../src/core/model/conversation.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type ChatFixture, MACOS_SCHEMAS, type Schema } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const include = includeSet(['details']);
const at = (second: number): bigint => appleNs(`2026-01-01T00:00:${String(second).padStart(2, '0')}Z`);

function open(schema?: Schema) {
  const { connection, fixture } = databases.open(schema);
  return { fixture, reader: new ChatReader(connection), connection };
}

/** Writes two people and a group. The first chat has two unread messages, the group one. */
function write(fixture: ChatFixture): void {
  const [ana, cho] = [fixture.handle('+15550100'), fixture.handle('cho@example.com')];
  const one = fixture.chat('any;-;+15550100', ['+15550100']);
  const two = fixture.chat('SMS;-;+15550101', ['+15550101'], { service_name: 'SMS' });
  const group = fixture.chat('any;+;chat1', ['+15550100', 'cho@example.com'], { service_name: 'any' });
  const incoming = (chat: number, second: number, columns = {}): number =>
    fixture.message({ chat, handle_id: ana, date: at(second), text: `text ${second}`, is_read: 0, ...columns });
  incoming(one, 1);
  incoming(one, 2);
  incoming(one, 3, { is_read: 1 });
  incoming(one, 4, { associated_message_type: 2000, associated_message_guid: 'x' });
  incoming(one, 5, { item_type: 2 });
  incoming(one, 6, { is_finished: 0 });
  incoming(one, 7, { date_read: at(8) });
  incoming(one, 8, { is_from_me: 1, handle_id: 0, is_sent: 1, text: 'mine' });
  incoming(one, 9, { associated_message_type: 2001, associated_message_guid: 'x' });
  if (fixture.hasColumn('message', 'is_system_message')) incoming(two, 10, { is_system_message: 1, text: 'system' });
  else incoming(two, 10, { is_read: 1, text: 'system' });
  // It belongs only to the group: its sender is in both chats.
  fixture.join(group, incoming(one, 0), at(0));
  incoming(group, 11, { handle_id: cho, text: '👩‍👩‍👧'.repeat(1000) });
  fixture.chat('any;-;empty');
}

const byId = (conversations: readonly Conversation[]) => new Map(conversations.map((one) => [one.id, one.details]));

describe.each(MACOS_SCHEMAS)('the details of conversations on the %s schema', (schema) => {
  test('are what is unread, the kind, the service and the newest message', async () => {
    const { fixture, reader } = open(schema);
    write(fixture);
    const { items } = await reader.listConversations({ limit: 50, offset: 0, include });
    const details = byId(items);
    expect(details.get('any;-;+15550100')).toEqual({
      chat_number: expect.any(Number),
      unread_count: 2,
      is_group: false,
      service: 'iMessage',
      filter: 'known',
      last_message: expect.objectContaining({
        sender: 'me',
        is_from_me: true,
        body: 'mine',
        timestamp: '2026-01-01T00:00:08Z',
      }),
    });
    expect(details.get('SMS;-;+15550101')).toMatchObject({ unread_count: 0, service: 'SMS', is_group: false });
    const group = details.get('any;+;chat1');
    expect(group).toMatchObject({
      unread_count: 2,
      is_group: true,
      service: null,
      last_message: { sender: 'cho@example.com' },
    });
    const { body = '' } = group?.last_message ?? {};
    expect([...body]).toHaveLength(200);
    expect(Buffer.from(body).toString()).toBe(body);
    expect(details.get('any;-;empty')).toMatchObject({ unread_count: 0, last_message: null });
    for (const conversation of items) {
      expect(await reader.conversation(conversation.id, { include })).toEqual(conversation);
      const { details: _, ...plain } = conversation;
      expect(await reader.conversation(conversation.id)).toEqual(plain);
    }
  });

  test('follow when messages are read', async () => {
    const { fixture, reader, connection } = open(schema);
    write(fixture);
    await reader.listConversations({ limit: 50, offset: 0, include });
    fixture.sqlite.exec('UPDATE message SET is_read = 1');
    connection.check();
    const { items } = await reader.listConversations({ limit: 50, offset: 0, include });
    expect(items.map(({ details }) => details?.unread_count)).toEqual([0, 0, 0, 0]);
  });
});

test('the number of unread messages is left out where only reading all of them would tell', async () => {
  const { fixture, reader } = open('bare');
  const chat = fixture.chat('any;-;+15550100');
  fixture.message({ chat, text: 'Hello', handle_id: fixture.handle('+15550100') });
  const [conversation] = (await reader.listConversations({ limit: 50, offset: 0, include })).items;
  expect(conversation?.details).toEqual({
    chat_number: chat,
    is_group: false,
    service: null,
    last_message: {
      id: '1',
      sender: '+15550100',
      is_from_me: false,
      status: 'delivered',
      body: 'Hello',
      timestamp: '2026-01-01T00:00:00Z',
    },
  });
});

test('the newest message says in a sentence what is no text, and keeps its body', async () => {
  const { fixture, reader } = open();
  const chat = fixture.chat('any;-;+15550100');
  const handle_id = fixture.handle('+15550100');
  const last = async () => (await reader.conversation('any;-;+15550100', { include }))?.details?.last_message;
  fixture.message({
    chat,
    handle_id,
    text: 'https://example.org',
    expressive_send_style_id: 'com.apple.MobileSMS.expressivesend.impact',
  });
  expect(await last()).toMatchObject({
    body: 'https://example.org',
    sentence: 'https://example.org (sent with slam)',
  });
  fixture.message({ chat, handle_id, item_type: 3, group_action_type: 0 });
  expect(await last()).toMatchObject({
    body: '',
    sentence: '+15550100 left the conversation.',
    group_event: { type: 'left' },
  });
});

test('a member’s new address is not reported as a removal, but a removal at another time or elsewhere is', async () => {
  const { fixture, reader } = open();
  const chat = fixture.chat('any;+;chat1', ['+15550100', '+15550101']);
  const other = fixture.chat('any;+;chat2', ['+15550100', '+15550101']);
  const [old, added] = [fixture.handle('+15550100'), fixture.handle('+15550101')];
  const change = (group_action_type: number, other_handle: number, columns = {}): string =>
    String(
      fixture.message({
        ...{ chat, handle_id: added, text: null, item_type: 1, date: at(1) },
        ...{ group_action_type, other_handle, ...columns },
      }),
    );
  const rows = [change(1, old), change(0, added), change(1, old, { date: at(2) }), change(1, old, { chat: other })];
  const told = await Promise.all(rows.map(async (id) => (await reader.message(id, { include }))?.details));
  expect(told.map((details) => [details?.group_event?.type, details?.sentence])).toEqual([
    ['address_changed', '+15550101 no longer uses +15550100.'],
    ['address_changed', '+15550101 changed their phone number.'],
    ['removed', '+15550101 removed +15550100.'],
    ['removed', '+15550101 removed +15550100.'],
  ]);
});

test('what is not newer than the chat’s read mark is read, whatever its rows say', async () => {
  const { fixture, reader } = open();
  const handle_id = fixture.handle('+15550100');
  const unread = async (mark: unknown) => {
    fixture.sqlite.prepare('UPDATE chat SET last_read_message_timestamp = ?').run(mark as bigint);
    return (await reader.conversation('any;-;+15550100', { include }))?.details?.unread_count;
  };
  const chat = fixture.chat('any;-;+15550100', ['+15550100']);
  for (const second of [1, 2, 3]) fixture.message({ chat, handle_id, date: at(second), is_read: 0 });
  for (const none of [0n, null, 'yes']) expect(await unread(none)).toBe(3);
  expect(await unread(at(2))).toBe(1);
  expect(await unread(at(3))).toBe(0);
});

test('values of any kind in the columns that count still give numbers', async () => {
  const { fixture, reader } = open();
  const chat = fixture.chat('any;-;+15550100');
  for (const value of ['no', 1.5, new Uint8Array([1]), null, -1, 2n ** 62n]) {
    fixture.message({ chat, is_read: value, item_type: value, is_system_message: value, date_read: value });
  }
  fixture.message({ chat, is_read: 0, date: 2n ** 62n });
  const { items } = await reader.listConversations({ limit: 50, offset: 0, include });
  expect(items[0]?.details).toMatchObject({ unread_count: 1, last_message: { id: '7' } });
});

describe('what a message replies to', () => {
  const replies = (fixture: ChatFixture, guid: string) =>
    fixture.message({ chat: 1, text: 'Yes', thread_originator_guid: guid, is_from_me: 1 });

  test('is reported with its sender and its beginning', async () => {
    const { fixture, reader } = open();
    const chat = fixture.chat('any;-;+15550100', ['+15550100']);
    const original = fixture.message({
      chat,
      text: 'Dinner? '.repeat(100),
      handle_id: fixture.handle('+15550100'),
      guid: 'G',
    });
    const reply = await reader.message(String(replies(fixture, 'G')), { include });
    expect(reply?.details).toMatchObject({
      reply_to_guid: 'G',
      reply_to: { id: String(original), guid: 'G', sender: '+15550100', body: 'Dinner? '.repeat(25) },
    });
    expect((await reader.message(String(original), { include }))?.details).toMatchObject({
      reply_to_guid: null,
      reply_to: null,
    });
  });

  test('is null when it is gone, or is a reaction', async () => {
    const { fixture, reader } = open();
    fixture.chat('any;-;+15550100');
    fixture.message({ chat: 1, guid: 'R', associated_message_type: 2000, associated_message_guid: 'x' });
    for (const guid of ['GONE', 'R']) {
      expect((await reader.message(String(replies(fixture, guid)), { include }))?.details).toMatchObject({
        reply_to_guid: guid,
        reply_to: null,
      });
    }
  });
});
