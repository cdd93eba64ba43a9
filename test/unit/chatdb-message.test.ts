import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { ownNumber } from '../../src/core/chatdb/owner.ts';
import { includeSet } from '../../src/core/model/include.ts';
import type { Message } from '../../src/core/model/message.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type ChatFixture, type Schema } from '../support/chat-fixture.ts';

const databases = chatDatabases();

function open(schema?: Schema, path?: string) {
  const { connection, ...parts } = databases.open(schema, path);
  return { ...parts, connection, reader: new ListReader(connection) };
}

test.each(['P:+15550001', 'p:+15550001', '+15550001'])('the number of the owner is read from %s', (account) => {
  const { fixture, connection } = open();
  fixture.message({ is_from_me: 1, account });
  expect(ownNumber(connection)).toBe('+15550001');
});

describe('a message', () => {
  let { fixture, reader, log } = open();
  let chat = 0;
  beforeEach(() => {
    ({ fixture, reader, log } = open());
    chat = fixture.chat('any;-;+15550100', [], { last_addressed_handle: '+15550009' });
  });

  function written(columns: Parameters<ChatFixture['message']>[0]): Message | undefined {
    return reader.message(String(fixture.message({ chat, ...columns })));
  }

  test('has exactly the fields of the contract, in its order', () => {
    const handle = fixture.handle('+15550100');
    const message = written({
      guid: 'A-1',
      text: 'Hi',
      handle_id: handle,
      date: appleNs('2026-02-03T04:05:06Z', 999_999_999),
    });
    expect(JSON.stringify(message)).toBe(
      JSON.stringify({
        id: '1',
        guid: 'A-1',
        conversation_id: 'any;-;+15550100',
        sender: '+15550100',
        body: 'Hi',
        attachments: [],
        timestamp: '2026-02-03T04:05:06Z',
        is_from_me: false,
        status: 'delivered',
      }),
    );
  });

  test.each([
    ['the text', { text: 'plain', attributedBody: encodeAttributedBody('other') }, 'plain'],
    [
      'the attributed body when there is no text',
      { text: null, attributedBody: encodeAttributedBody('from the blob 👋') },
      'from the blob 👋',
    ],
    [
      'the attributed body when the text is empty',
      { text: '', attributedBody: encodeAttributedBody('from the blob') },
      'from the blob',
    ],
    ['nothing when there is neither', {}, ''],
    ['the text without placeholders', { text: 'a\uFFFCb\uFFFDc' }, 'abc'],
    ['the text without a placeholder and its line break at the start', { text: '\uFFFC\nLook' }, 'Look'],
    ['the text without a placeholder and its line break at the end', { text: 'Look\r\n\uFFFC' }, 'Look'],
    [
      'the text without several placeholders at both ends',
      { text: '\uFFFC\n\uFFFD\nLook\n\n\uFFFC\n\uFFFC' },
      'Look\n',
    ],
    ['nothing of placeholders alone', { text: '\uFFFC\n\uFFFC' }, ''],
    ['white space as it is', { text: ' \n Look \n ' }, ' \n Look \n '],
  ])('shows %s', (_, columns, body) => {
    expect(written(columns)?.body).toBe(body);
    expect(log.lines).toEqual([]);
  });

  test('is shown without its text where a page has more large bodies than any person writes', async () => {
    const large = encodeAttributedBody('x'.repeat(1_000_000));
    for (let n = 0; n < 6; n += 1) fixture.message({ chat, attributedBody: large });
    const small = fixture.message({ chat, attributedBody: encodeAttributedBody('small') });
    const { items } = reader.messages({ order: 'asc', limit: 50, offset: 0 });
    expect(items.map(({ body }) => body.length)).toEqual([1e6, 1e6, 1e6, 1e6, 0, 0, 5]);
    // Each one on its own is complete, and so is the next page.
    expect(reader.message(String(small - 1))?.body).toHaveLength(1_000_000);
    const next = reader.messages({ order: 'desc', limit: 4, offset: 0 });
    expect(next.items.map(({ body }) => body.length)).toEqual([5, 1e6, 1e6, 1e6]);
  });

  test('takes placeholders out of a long hostile text at once', () => {
    expect(written({ text: `x${'\uFFFC\n'.repeat(100_000)}x` })?.body).toBe(`x${'\n'.repeat(100_000)}x`);
  });

  test.each([
    ['cut', encodeAttributedBody('a longer text').subarray(0, 90)],
    ['no archive at all', Buffer.from('bplist00')],
    ['too large', Buffer.alloc(1_200_000)],
  ])('has an empty body and one debug line when its blob is %s', (_, attributedBody) => {
    expect(written({ attributedBody })?.body).toBe('');
    expect(log.lines.map(({ level, fields }) => [level, fields])).toEqual([['debug', { rowId: 1 }]]);
  });

  test.each([
    ['the own address of the row', { destination_caller_id: '+15550001', account: 'E:a@example.org' }, '+15550001'],
    ['the account without its prefix', { destination_caller_id: '', account: 'E:a@example.org' }, 'a@example.org'],
    ['the account of a number', { account: 'P:+15550002' }, '+15550002'],
    ['the account in lower case', { account: 'e:a@example.org' }, 'a@example.org'],
    ['the account of a number in lower case', { account: 'p:+15550002' }, '+15550002'],
    ['what the chat was last addressed from', { account: 'E:' }, '+15550009'],
  ])('of my own is sent by %s', (_, columns, sender) => {
    expect(written({ is_from_me: 1, ...columns })?.sender).toBe(sender);
  });

  test('of my own is sent by me when nothing is known', () => {
    fixture.sqlite.exec('UPDATE chat SET last_addressed_handle = NULL');
    expect(written({ is_from_me: 1 })).toMatchObject({ sender: 'me', is_from_me: true });
  });

  test('without a handle is from the one participant of a one-to-one chat, or from the one that its guid names', () => {
    const handle = fixture.handle('+15550100');
    fixture.participant(chat, handle);
    expect(written({ handle_id: 0 })?.sender).toBe('+15550100');
    expect(written({ handle_id: 77 })?.sender).toBe('+15550100');
    const ada = fixture.handle('ada@example.org');
    fixture.participant(chat, ada);
    expect(written({ handle_id: 0 })?.sender).toBe('+15550100');
    const renamed = fixture.chat('any;-;+15550199');
    for (const member of [handle, ada]) fixture.participant(renamed, member);
    expect(written({ handle_id: 0, chat: renamed })?.sender).toBe('');
    const group = fixture.chat('any;+;chat1');
    fixture.participant(group, handle);
    expect(written({ handle_id: 0, chat: group })?.sender).toBe('');
  });

  test.each([
    ['failed', { is_from_me: 1, error: 22, is_sent: 1 }],
    ['read', { is_from_me: 1, is_read: 1, is_delivered: 1 }],
    ['read', { is_from_me: 1, date_read: 5 }],
    ['delivered', { is_from_me: 1, is_delivered: 1, is_sent: 1 }],
    ['delivered', { is_from_me: 1, date_delivered: 5 }],
    ['sent', { is_from_me: 1, is_sent: 1 }],
    ['pending', { is_from_me: 1 }],
    ['pending', { is_from_me: 1, is_sent: 0, schedule_type: 2, schedule_state: 1 }],
    ['pending', { is_from_me: 1, is_sent: 0, schedule_type: 2, schedule_state: 2 }],
    // Messages keeps the type of a message that Send Later has sent.
    ['sent', { is_from_me: 1, is_sent: 1, schedule_type: 2, schedule_state: 2 }],
    ['delivered', { is_from_me: 1, is_sent: 1, is_delivered: 1, schedule_type: 2, schedule_state: 3 }],
    ['failed', { is_from_me: 1, is_sent: 0, error: 22, schedule_type: 2, schedule_state: 3 }],
    ['delivered', { is_from_me: 0 }],
    ['read', { is_from_me: 0, is_read: 1 }],
    ['read', { is_from_me: 0, date_read: 5 }],
    ['delivered', { is_from_me: 0, error: 22 }],
  ] as const)('is %s when its row says %j', (status, columns) => {
    expect(written({ is_sent: 0, is_delivered: 0, ...columns })?.status).toBe(status);
  });

  test.each([
    [null, '2001-01-01T00:00:00Z'],
    [0, '2001-01-01T00:00:00Z'],
    ['no date', '2001-01-01T00:00:00Z'],
    [Buffer.from('blob'), '2001-01-01T00:00:00Z'],
    [10_000_000_000n, '2317-11-21T17:46:40Z'],
    [10_000_000_001n, '2001-01-01T00:00:10Z'],
    [788_918_400n, '2026-01-01T00:00:00Z'],
    [788_918_400_999_999_999n, '2026-01-01T00:00:00Z'],
    [-1n, '2000-12-31T23:59:59Z'],
    [-10_000_000_001n, '2000-12-31T23:59:49Z'],
    [9_223_372_036_854_775_807n, '2293-04-11T23:47:16Z'],
    [-9_223_372_036_854_775_808n, '1708-09-22T00:12:43Z'],
    [1e300, '9999-12-31T23:59:59Z'],
    [-1e300, '0001-01-01T00:00:00Z'],
    [5.5, '2001-01-01T00:00:05Z'],
  ])('dated %p is of %s', (date, timestamp) => {
    expect(written({ date })?.timestamp).toBe(timestamp);
  });

  test('names its attachments by absolute paths, in stored order, hidden and unnamed ones left out', () => {
    const rowId = fixture.message({ chat });
    fixture.attach(rowId, '~/Library/Messages/Attachments/b.heic');
    fixture.attach(rowId, '~/hidden', { hide_attachment: 1 });
    fixture.attach(rowId, null);
    fixture.attach(rowId, ' ');
    fixture.attach(rowId, '/var/folders/a.png');
    fixture.attach(rowId, 'relative.txt');
    expect(reader.message(String(rowId))?.attachments).toEqual([
      join(databases.folder, 'Attachments/b.heic'),
      '/var/folders/a.png',
      join(databases.folder, 'relative.txt'),
    ]);
  });

  test('is absent when it is unknown or a reaction', () => {
    const reaction = fixture.message({ chat, associated_message_type: 2000, associated_message_guid: 'p:0/A-1' });
    expect(reader.message(String(reaction))).toBeUndefined();
    expect(reader.message('4711')).toBeUndefined();
  });

  test('of the system is a message with an empty body', () => {
    expect(written({ item_type: 1, group_action_type: 0 })).toMatchObject({
      body: '',
      conversation_id: 'any;-;+15550100',
    });
  });

  test('in several chats belongs to the lowest, in none to ""', async () => {
    const other = fixture.chat('any;-;+15550101');
    const both = fixture.message({ date: appleNs('2026-01-02T00:00:00Z') });
    fixture.join(other, both, appleNs('2026-01-02T00:00:00Z'));
    fixture.join(chat, both, appleNs('2026-01-02T00:00:00Z'));
    const loose = fixture.message();
    const page = reader.messages({ order: 'desc', limit: 10, offset: 0 });
    expect(page.items.map(({ id, conversation_id }) => [id, conversation_id])).toEqual([
      [String(both), 'any;-;+15550100'],
      [String(loose), ''],
    ]);
    const others = reader.messages({
      conversationId: 'any;-;+15550101',
      order: 'desc',
      limit: 10,
      offset: 0,
    });
    expect(others.items).toEqual([]);
  });

  test('that the person deleted keeps its chat and is in no list', async () => {
    const kept = fixture.message({ chat });
    const deleted = fixture.message();
    fixture.insert('chat_recoverable_message_join', { chat_id: chat, message_id: deleted, delete_date: 5 });
    expect(reader.message(String(deleted))?.conversation_id).toBe('any;-;+15550100');
    const page = reader.messages({ order: 'desc', limit: 10, offset: 0 });
    expect(page.items.map(({ id }) => id)).toEqual([String(kept)]);
  });

  test('of a row of empty values is still a message', () => {
    const names = fixture.sqlite
      .prepare('SELECT name FROM pragma_table_info(\'message\') WHERE "notnull" = 0 AND pk = 0')
      .all()
      .flat();
    const nothing = Object.fromEntries(names.map((name) => [String(name), null]));
    const rowId = fixture.message({ ...nothing, guid: 'N' });
    expect(reader.message(String(rowId))).toEqual({
      id: String(rowId),
      guid: 'N',
      conversation_id: '',
      sender: '',
      body: '',
      attachments: [],
      timestamp: '2001-01-01T00:00:00Z',
      is_from_me: false,
      status: 'delivered',
    });
  });
});

describe('attachments', () => {
  test('are under the home that holds the database', () => {
    const path = join(databases.folder, 'Library', 'Messages');
    const { fixture, reader } = open('macos-26', makeFolder(path));
    const rowId = fixture.message();
    fixture.attach(rowId, '~/Library/Messages/Attachments/a.heic');
    expect(reader.message(String(rowId))?.attachments).toEqual([
      join(databases.folder, 'Library/Messages/Attachments/a.heic'),
    ]);
  });
});

function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  return join(path, 'chat.db');
}

describe('a message to oneself', () => {
  const ME = 'me@example.com';
  type Columns = Parameters<ChatFixture['message']>[0];
  function pair(own: Columns, copy: Columns) {
    const { fixture, reader } = open();
    const chat = fixture.chat(`any;-;${ME}`, [ME], { last_addressed_handle: ME });
    fixture.message({ chat, is_from_me: 1, text: 'note', ...own });
    const rowId = fixture.message({ chat, handle_id: fixture.handle(ME), text: 'note', ...copy });
    return reader.message(String(rowId), { include: includeSet(['details']) })?.details;
  }

  test.each([
    ['with the same text', {}, {}],
    ['whose own row is empty', { text: null }, {}],
    ['to an address in capitals', {}, { destination_caller_id: 'Me@Example.com' }],
  ] as const)('that Messages wrote twice, %s, is marked in the incoming row', (_name, own, copy) => {
    expect(pair(own, copy)).toMatchObject({ mirror: true });
  });

  test.each([
    ['another text', { text: 'else' }, {}],
    ['another time', {}, { date: appleNs('2026-01-01T00:11:00Z') }],
    ['another person', {}, { is_from_me: 1 }],
  ] as const)('is no copy of one with %s', (_name, own, copy) => {
    expect(pair(own, copy)).not.toHaveProperty('mirror');
  });
});
