import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Connection } from '../../src/chatdb/connection.ts';
import { ChatReader } from '../../src/chatdb/reader.ts';
import type { Message } from '../../src/domain/message.ts';
import { appleNs, ChatFixture, type Schema, typedstream } from '../support/chat-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const opened: (() => void)[] = [];
afterAll(() => {
  for (const close of opened) close();
});
let files = 0;

function open(schema: Schema = 'macos-26', path?: string) {
  files += 1;
  const fixture = new ChatFixture(path ?? join(folder, `reader-${files}.db`), schema);
  const log = collectingLog();
  const connection = new Connection({ path: fixture.path, home: '/Users/ada', log });
  opened.push(() => {
    connection.close();
    fixture.close();
  });
  return { fixture, log, connection, reader: new ChatReader(connection) };
}

describe('a message', () => {
  let { fixture, reader, log } = open();
  let chat = 0;
  beforeEach(() => {
    ({ fixture, reader, log } = open());
    chat = fixture.chat('any;-;+15550100', { last_addressed_handle: '+15550009' });
  });

  function written(columns: Parameters<ChatFixture['message']>[0]): Message | undefined {
    return reader.message(fixture.message({ chat, ...columns }));
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
    ['the text', { text: 'plain', attributedBody: typedstream('other') }, 'plain'],
    [
      'the attributed body when there is no text',
      { text: null, attributedBody: typedstream('from the blob 👋') },
      'from the blob 👋',
    ],
    [
      'the attributed body when the text is empty',
      { text: '', attributedBody: typedstream('from the blob') },
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

  test('takes placeholders out of a long hostile text at once', () => {
    expect(written({ text: `x${'\uFFFC\n'.repeat(100_000)}x` })?.body).toBe(`x${'\n'.repeat(100_000)}x`);
  });

  test.each([
    ['cut', typedstream('a longer text').subarray(0, 90)],
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
    ['what the chat was last addressed from', { account: 'E:' }, '+15550009'],
  ])('of my own is sent by %s', (_, columns, sender) => {
    expect(written({ is_from_me: 1, ...columns })?.sender).toBe(sender);
  });

  test('of my own is sent by me when nothing is known', () => {
    fixture.sql('UPDATE chat SET last_addressed_handle = NULL');
    expect(written({ is_from_me: 1 })).toMatchObject({ sender: 'me', is_from_me: true });
  });

  test('without a handle is from the one participant of a one-to-one chat', () => {
    const handle = fixture.handle('+15550100');
    fixture.participant(chat, handle);
    expect(written({ handle_id: 0 })?.sender).toBe('+15550100');
    expect(written({ handle_id: 77 })?.sender).toBe('+15550100');
    fixture.participant(chat, fixture.handle('ada@example.org'));
    expect(written({ handle_id: 0 })?.sender).toBe('');
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
    ['pending', { is_from_me: 1, is_sent: 1, schedule_type: 2 }],
    ['delivered', { is_from_me: 0 }],
    ['read', { is_from_me: 0, is_read: 1 }],
    ['read', { is_from_me: 0, date_read: 5 }],
    ['delivered', { is_from_me: 0, error: 22 }],
  ] as const)('is %s when its row says %j', (status, columns) => {
    expect(written(columns)?.status).toBe(status);
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
    fixture.attachment(rowId, '~/Library/Messages/Attachments/b.heic');
    fixture.attachment(rowId, '~/hidden', { hide_attachment: 1 });
    fixture.attachment(rowId, null);
    fixture.attachment(rowId, ' ');
    fixture.attachment(rowId, '/var/folders/a.png');
    fixture.attachment(rowId, 'relative.txt');
    expect(reader.message(rowId)?.attachments).toEqual([
      '/Users/ada/Library/Messages/Attachments/b.heic',
      '/var/folders/a.png',
      join(folder, 'relative.txt'),
    ]);
  });

  test('is not there when it is unknown or a reaction', () => {
    const reaction = fixture.message({ chat, associated_message_type: 2000, associated_message_guid: 'p:0/A-1' });
    expect(reader.message(reaction)).toBeUndefined();
    expect(reader.message(4711)).toBeUndefined();
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
    const page = await reader.listMessages({ order: 'desc', limit: 10, offset: 0 });
    expect(page.items.map(({ id, conversation_id }) => [id, conversation_id])).toEqual([
      [String(both), 'any;-;+15550100'],
      [String(loose), ''],
    ]);
    const others = await reader.listMessages({
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
    expect(reader.message(deleted)?.conversation_id).toBe('any;-;+15550100');
    const page = await reader.listMessages({ order: 'desc', limit: 10, offset: 0 });
    expect(page.items.map(({ id }) => id)).toEqual([String(kept)]);
  });

  test('of a row full of nothing is still a message', () => {
    const names = fixture.all('SELECT name FROM pragma_table_info(\'message\') WHERE "notnull" = 0 AND pk = 0').flat();
    const nothing = Object.fromEntries(names.map((name) => [String(name), null]));
    const rowId = fixture.message({ ...nothing, guid: 'N' });
    expect(reader.message(rowId)).toEqual({
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
  test('are under the home that the database lies in', () => {
    const path = join(folder, 'Library', 'Messages');
    const { fixture, reader } = open('macos-26', makeFolder(path));
    const rowId = fixture.message();
    fixture.attachment(rowId, '~/Library/Messages/Attachments/a.heic');
    expect(reader.message(rowId)?.attachments).toEqual([join(folder, 'Library/Messages/Attachments/a.heic')]);
  });
});

describe('a list of messages', () => {
  test('goes on behind its cursor however many rows come in front', async () => {
    const { fixture, reader } = open();
    const chat = fixture.chat('any;-;1');
    for (let n = 0; n < 10; n += 1) fixture.message({ chat, date: appleNs('2026-01-01T00:00:00Z', n) });
    const first = await reader.listMessages({ order: 'desc', limit: 4, offset: 0 });
    for (let n = 0; n < 3; n += 1) fixture.message({ chat, date: appleNs('2026-01-02T00:00:00Z', n) });
    const next = await reader.listMessages({ order: 'desc', limit: 4, offset: 0, cursor: first.next ?? '' });
    expect(next.items.map(({ id }) => id)).toEqual(['6', '5', '4', '3']);
  });

  test.each(['', 'x', '5', '5.', '.5', '1.2.3', "1' OR 1.1", '9'.repeat(40) + '.1'])(
    'refuses the cursor %j',
    (cursor) => {
      const { reader } = open();
      expect(() => reader.listMessages({ order: 'desc', limit: 4, offset: 0, cursor })).toThrow(
        expect.objectContaining({ kind: 'invalid', code: 'invalid_cursor' }),
      );
    },
  );

  test('at an offset is the same as at the cursor, however deep', async () => {
    const { fixture, reader } = open('macos-12');
    const chat = fixture.chat('any;-;1');
    fixture.transaction(() => {
      for (let n = 0; n < 7000; n += 1)
        fixture.message({ chat, date: appleNs('2026-01-01T00:00:00Z', n), text: `${n}` });
    });
    for (const order of ['asc', 'desc'] as const) {
      for (const conversationId of [undefined, 'any;-;1']) {
        const query = { order, limit: 2, ...(conversationId === undefined ? {} : { conversationId }) };
        const pages = [];
        // The last one starts where an earlier page ended, the others do not.
        for (const offset of [0, 2999, 3000, 3001, 6500, 6502]) {
          pages.push((await reader.listMessages({ ...query, offset })).items[0]?.body);
        }
        const bodies = [0, 2999, 3000, 3001, 6500, 6502].map((at) => `${order === 'asc' ? at : 6999 - at}`);
        expect(pages).toEqual(bodies);
        expect(await reader.listMessages({ ...query, offset: 7000 })).toEqual({ items: [] });
        expect(await reader.listMessages({ ...query, offset: 1_000_000 })).toEqual({ items: [] });
      }
    }
  });

  test('sees what was committed a moment ago, in every list', async () => {
    const { fixture, reader } = open();
    const chat = fixture.chat('any;-;1', { display_name: 'Old' });
    const handle = fixture.handle('one@example.org');
    fixture.message({ chat, handle_id: handle });
    expect(reader.listConversations({ limit: 5, offset: 0 }).items[0]?.display_name).toBe('Old');
    fixture.sql("UPDATE chat SET display_name = 'New', guid = 'any;-;2'; UPDATE handle SET id = 'two@example.org'");
    expect(reader.listConversations({ limit: 5, offset: 0 }).items[0]).toMatchObject({
      id: 'any;-;2',
      display_name: 'New',
    });
    const page = await reader.listMessages({ order: 'desc', limit: 5, offset: 0 });
    expect(page.items[0]).toMatchObject({ conversation_id: 'any;-;2', sender: 'two@example.org' });
    expect(reader.conversation('any;-;1')).toBeUndefined();
  });
});

describe('a conversation', () => {
  test('is found under every spelling of its id, and under no other', async () => {
    const { fixture, reader } = open();
    const any = fixture.chat('any;-;+15550100');
    fixture.message({ chat: any });
    fixture.chat('rcs;+;chat7');
    for (const id of [
      'any;-;+15550100',
      'iMessage;-;+15550100',
      'SMS;-;+15550100',
      'RCS;-;+15550100',
      'sms;-;+15550100',
    ]) {
      expect(reader.conversation(id)?.id).toBe('any;-;+15550100');
      const page = await reader.listMessages({ conversationId: id, order: 'desc', limit: 1, offset: 0 });
      expect(page.items).toHaveLength(1);
    }
    expect(reader.conversation('iMessage;+;chat7')?.id).toBe('rcs;+;chat7');
    for (const id of [
      'any;+;+15550100',
      '+15550100',
      'carrier;-;+15550100',
      '',
      ';',
      ';-;+15550100',
      'any;-;+155501000',
    ]) {
      expect(reader.conversation(id)).toBeUndefined();
      expect(await reader.listMessages({ conversationId: id, order: 'desc', limit: 1, offset: 0 })).toEqual({
        items: [],
      });
    }
  });

  test('with several chats is the exact one, else the one with the newest message', () => {
    const { fixture, reader } = open('macos-12');
    const sms = fixture.chat('SMS;-;1');
    const iMessage = fixture.chat('iMessage;-;1');
    fixture.message({ chat: sms, date: appleNs('2026-01-01T00:00:00Z') });
    fixture.message({ chat: iMessage, date: 788_918_399 });
    expect(reader.conversation('any;-;1')?.id).toBe('SMS;-;1');
    expect(reader.conversation('iMessage;-;1')?.id).toBe('iMessage;-;1');
    fixture.message({ chat: iMessage, date: 788_918_401 });
    expect(reader.conversation('any;-;1')?.id).toBe('iMessage;-;1');
  });

  test('has its participants once each in stored order, and no empty name', () => {
    const { fixture, reader } = open();
    const group = fixture.chat('any;+;chat1', { display_name: '' });
    const [b, a, again] = [fixture.handle('b'), fixture.handle('a'), fixture.handle('b', { service: 'SMS' })];
    for (const handle of [b, a, again]) fixture.participant(group, handle);
    expect(reader.conversation('any;+;chat1')).toEqual({
      id: 'any;+;chat1',
      display_name: null,
      participants: ['b', 'a'],
      last_message_at: '2001-01-01T00:00:00Z',
    });
  });

  test('stands by what counts: reactions do, Send Later and rows of another chat do not', () => {
    const { fixture, reader } = open();
    const [one, two, three, empty] = ['1', '2', '3', '4'].map((id) => fixture.chat(`any;-;${id}`));
    fixture.message({ chat: one ?? 0, date: appleNs('2026-01-01T00:00:01Z') });
    fixture.message({ chat: two ?? 0, date: appleNs('2026-01-01T00:00:02Z') });
    fixture.message({ chat: two ?? 0, date: appleNs('2030-01-01T00:00:02Z'), is_from_me: 1, schedule_type: 2 });
    const reaction = appleNs('2026-01-01T00:00:03Z');
    const shared = fixture.message({ chat: one ?? 0, date: reaction, associated_message_type: 2001 });
    fixture.join(three ?? 0, shared, reaction);
    expect(empty).toBe(4);
    expect(
      reader.listConversations({ limit: 9, offset: 0 }).items.map(({ id, last_message_at }) => [id, last_message_at]),
    ).toEqual([
      ['any;-;1', '2026-01-01T00:00:03Z'],
      ['any;-;2', '2026-01-01T00:00:02Z'],
      ['any;-;4', '2001-01-01T00:00:00Z'],
      ['any;-;3', '2001-01-01T00:00:00Z'],
    ]);
  });

  test.each([true, false])(
    'is in its place also when there are more than one reading brings (joins dated: %p)',
    (isDated) => {
      const { fixture, reader } = open();
      fixture.transaction(() => {
        for (let n = 1; n <= 600; n += 1) {
          const chat = fixture.chat(`any;-;${n}`);
          fixture.message({ chat, date: appleNs('2026-01-01T00:00:00Z', n) });
          // The first 300 seem newest of all, but that is only planned.
          if (n <= 300)
            fixture.message({ chat, date: appleNs('2030-01-01T00:00:00Z', n), is_from_me: 1, schedule_type: 2 });
        }
        if (!isDated) fixture.sql('UPDATE chat_message_join SET message_date = 0');
      });
      const ids = (limit: number, offset: number) =>
        reader.listConversations({ limit, offset }).items.map(({ id }) => id);
      expect(ids(3, 0)).toEqual(['any;-;600', 'any;-;599', 'any;-;598']);
      expect(ids(200, 400)).toEqual(Array.from({ length: 200 }, (_, n) => `any;-;${200 - n}`));
      expect(ids(200, 599)).toEqual(['any;-;1']);
      expect(ids(200, 600)).toEqual([]);
    },
  );
});

describe('a bare database', () => {
  test('gives conversations and messages as far as it has them', async () => {
    const { fixture, reader } = open('bare');
    const chat = fixture.chat('iMessage;-;a@example.org');
    const handle = fixture.handle('a@example.org');
    fixture.message({ chat, handle_id: handle, text: 'in' });
    fixture.message({ chat, is_from_me: 1, text: 'out', guid: null });
    const page = await reader.listMessages({
      conversationId: 'any;-;a@example.org',
      order: 'asc',
      limit: 9,
      offset: 0,
    });
    expect(page.items.map(({ guid, sender, body, status }) => [guid, sender, body, status])).toEqual([
      ['GUID-1', 'a@example.org', 'in', 'delivered'],
      ['', 'me', 'out', 'sent'],
    ]);
    expect(reader.listConversations({ limit: 9, offset: 0 }).items).toEqual([
      { id: 'iMessage;-;a@example.org', display_name: null, participants: [], last_message_at: '2026-01-01T00:00:00Z' },
    ]);
  });

  test.each(['message', 'chat', 'handle', 'chat_message_join'])('without the table %s says so', (table) => {
    const { fixture, reader } = open('bare');
    fixture.sql(`DROP TABLE ${table}`);
    expect(() => reader.message(1)).toThrow(
      expect.objectContaining({ kind: 'unavailable', message: `The Messages database has no table ${table}.` }),
    );
  });

  test('without a needed column says which', () => {
    const { fixture, reader } = open('bare');
    fixture.sql('ALTER TABLE message DROP COLUMN is_from_me');
    expect(() => reader.listConversations({ limit: 1, offset: 0 })).toThrow('no column message.is_from_me');
  });
});

function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  return join(path, 'chat.db');
}
