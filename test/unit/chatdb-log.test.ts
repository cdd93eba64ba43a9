import { describe, expect, test } from '@jest/globals';
import { chatSendLookup } from '../../src/core/chatdb/lookups.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, MACOS_SCHEMAS, type Schema } from '../support/chat-fixture.ts';

const databases = chatDatabases();

function open(schema?: Schema) {
  const { fixture, connection } = databases.open(schema);
  return { fixture, log: new ChatLog(connection), lookup: chatSendLookup(connection) };
}

describe.each(MACOS_SCHEMAS)('the log of a %s database', (schema) => {
  test('gives every row after a row id once, in row id order, whatever its date', () => {
    const { fixture, log } = open(schema);
    const chat = fixture.chat('any;-;1');
    for (let n = 0; n < 9; n += 1) fixture.message({ chat, date: appleNs(`2026-01-0${9 - n}T00:00:00Z`) });
    fixture.sqlite.exec('DELETE FROM message WHERE ROWID IN (2, 5)');
    expect(log.entries(rowOffset(0), rowOffset(100), 3).map(({ rowId }) => rowId)).toEqual([1, 3, 4]);
    expect(log.entries(rowOffset(4), rowOffset(8), 100).map(({ rowId }) => rowId)).toEqual([6, 7, 8]);
    expect(log.pendingRows(rowOffset(7), 100).map(({ rowId }) => rowId)).toEqual([8, 9]);
    expect(log.entries(rowOffset(9), rowOffset(9), 100)).toEqual([]);
  });

  test('ends before the row ids that no number holds', () => {
    const { fixture, log } = open(schema);
    for (const rowId of [2n ** 53n - 1n, 2n ** 53n + 1n]) fixture.message({ ROWID: rowId });
    expect(log.pendingRows(rowOffset(0), 9).map(({ rowId }) => rowId)).toEqual([2 ** 53 - 1]);
    expect(log.pendingRows(rowOffset(2 ** 53), 9)).toEqual([]);
  });

  test('distinguishes received, sent and reaction', () => {
    const { fixture, log } = open(schema);
    const chat = fixture.chat('any;-;1');
    fixture.message({ chat, guid: 'A', text: 'in' });
    fixture.message({ chat, is_from_me: 1, is_sent: 1, text: 'out' });
    fixture.message({ chat, associated_message_type: 2001, associated_message_guid: 'p:0/A' });
    fixture.message({ chat, associated_message_type: 3001, associated_message_guid: 'p:0/A', is_from_me: 1 });
    const types = ['message.received', 'message.sent', 'reaction.added', 'reaction.removed'];
    expect(log.entries(rowOffset(0), rowOffset(9), 9).map(({ event }) => event.type)).toEqual(types);
    expect(log.pendingRows(rowOffset(0), 9).map(({ event }) => event)).toEqual(
      log.entries(rowOffset(0), rowOffset(9), 9).map(({ event }) => event),
    );
  });

  test('waits for an announced attachment, its name and the chat', () => {
    const { fixture, log } = open(schema);
    const isIncomplete = () => log.pendingRows(rowOffset(0), 1)[0]?.isIncomplete;
    const row = fixture.message({ cache_has_attachments: 1, attributedBody: encodeAttributedBody('\uFFFC\uFFFC') });
    expect(isIncomplete()).toBe(true);
    fixture.join(fixture.chat('any;-;1'), row, 1);
    expect(isIncomplete()).toBe(true);
    fixture.attach(row, '~/a');
    expect(isIncomplete()).toBe(true);
    const late = fixture.attach(row, null);
    expect(isIncomplete()).toBe(true);
    fixture.sqlite.exec(`UPDATE attachment SET filename = '~/b' WHERE ROWID = ${late}`);
    expect(isIncomplete()).toBe(false);
    fixture.attach(row, null, { hide_attachment: 1 });
    expect(isIncomplete()).toBe(false);
  });
});

test('sees no junk in a row without a number for it, or with one that means nothing', () => {
  const { fixture, log } = open('macos-27');
  const chat = fixture.chat('any;-;1');
  for (const filter of [null, 0, 1, 2, 'two', 2.5]) fixture.message({ chat, filter_action: filter });
  const entries = log.entries(rowOffset(0), rowOffset(9), 9);
  expect(entries.map(({ marks }) => marks?.isJunk ?? false)).toEqual([false, false, false, true, false, false]);
  expect(new Set(entries.map(({ event }) => event.type))).toEqual(new Set(['message.received']));
});

describe('a pending row', () => {
  test.each([
    [true, { is_from_me: 1 }],
    [false, { is_from_me: 1, is_sent: 1 }],
    [false, { is_from_me: 1, is_delivered: 1 }],
    [false, { is_from_me: 1, date_read: 5 }],
    [false, { is_from_me: 1, error: 22 }],
    [false, { is_from_me: 1, schedule_type: 2 }],
    [false, { is_from_me: 0 }],
  ] as const)('lacks its sent flag: %p for %j', (isUnsent, columns) => {
    const { fixture, log } = open();
    fixture.message({ chat: fixture.chat('any;-;1'), is_sent: 0, is_delivered: 0, ...columns });
    expect(log.pendingRows(rowOffset(0), 1)[0]).toMatchObject({ isUnsent, isIncomplete: false });
  });

  test('that failed lacks nothing, even without chat and attachments', () => {
    const { fixture, log } = open();
    fixture.message({ is_from_me: 1, error: 22, cache_has_attachments: 1 });
    expect(log.pendingRows(rowOffset(0), 1)[0]).toMatchObject({ isUnsent: false, isIncomplete: false });
    expect(log.pendingRows(rowOffset(0), 1)[0]?.event).toMatchObject({
      type: 'message.sent',
      data: { status: 'failed' },
    });
  });

  test('that the person deleted at once is complete in its former chat', () => {
    const { fixture, log } = open();
    const chat = fixture.chat('any;-;1');
    const row = fixture.message();
    fixture.insert('chat_recoverable_message_join', { chat_id: chat, message_id: row, delete_date: 5 });
    expect(log.pendingRows(rowOffset(0), 1)[0]).toMatchObject({
      isIncomplete: false,
      event: { data: { conversation_id: 'any;-;1' } },
    });
  });

  test('says when it is dated, to the millisecond', () => {
    const { fixture, log } = open();
    fixture.message({ date: appleNs('2026-01-02T03:04:05Z', 678_999_999) });
    expect(log.pendingRows(rowOffset(0), 1)[0]?.datedMs).toBe(Date.parse('2026-01-02T03:04:05.678Z'));
  });

  test.each([
    [true, {}],
    [true, { handle_id: null }],
    [false, { handle_id: 7 }],
    [false, { is_from_me: 1 }],
    [false, { item_type: 2 }],
    [false, { associated_message_type: 2000, associated_message_guid: 'p:0/A' }],
  ] as const)('may be an own one that is not marked yet: %p for %j', (lacksHandle, columns) => {
    const { fixture, log } = open();
    fixture.message({ chat: fixture.chat('any;-;1'), ...columns });
    expect(log.pendingRows(rowOffset(0), 1)[0]).toMatchObject({ lacksHandle, isIncomplete: false });
  });

  test('with no file but that of a link preview lacks none', () => {
    const { fixture, log } = open();
    const row = fixture.message({
      chat: fixture.chat('any;-;1'),
      text: 'https://example.org',
      cache_has_attachments: 1,
    });
    fixture.attach(row, '~/Library/Messages/Attachments/1/A.pluginPayloadAttachment');
    expect(log.pendingRows(rowOffset(0), 1)[0]).toMatchObject({ isIncomplete: false });
  });

  test('in a bare database lacks at most a chat', () => {
    const { fixture, log } = open('bare');
    fixture.message({ is_from_me: 1, text: '\uFFFC' });
    expect(log.pendingRows(rowOffset(0), 1)[0]).toMatchObject({ isUnsent: false, isIncomplete: true });
    fixture.join(fixture.chat('any;-;1'), 1);
    expect(log.pendingRows(rowOffset(0), 1)[0]).toMatchObject({ isUnsent: false, isIncomplete: false });
  });
});

describe('a reaction', () => {
  test.each([
    [2000, 'p:0/A', 'love', 'reaction.added', { part: 0 }],
    [2001, 'bp:A', 'thumbs_up', 'reaction.added', { balloon: true }],
    [2002, 'A', 'thumbs_down', 'reaction.added', {}],
    [2003, 'p:-1/A', 'haha', 'reaction.added', {}],
    [2004, 'p:12/A', 'exclamation', 'reaction.added', { part: 12 }],
    [2005, 'p:0/A', 'question', 'reaction.added', { part: 0 }],
    [2007, 'p:0/A', 'sticker', 'reaction.added', { part: 0 }],
    [1000, 'p:0/A', 'sticker', 'reaction.added', { part: 0 }],
    [2, 'A', 'other', 'reaction.added', {}],
    [2999, 'A', 'other', 'reaction.added', {}],
    [4000, 'A', 'other', 'reaction.added', {}],
    [-3, 'A', 'other', 'reaction.added', {}],
    [3000, 'p:0/A', 'love', 'reaction.removed', { part: 0 }],
    [3005, 'p:0/A', 'question', 'reaction.removed', { part: 0 }],
    [3999, 'p:0/A', 'other', 'reaction.removed', { part: 0 }],
  ])('of type %i on %s is %s, %s, on %j', (type, target, name, event, place) => {
    const { fixture, log } = open();
    const chat = fixture.chat('any;-;1');
    fixture.message({ chat, guid: 'A' });
    const handle = fixture.handle('a@example.org');
    const date = appleNs('2026-01-02T03:04:05Z');
    const columns = { associated_message_type: type, associated_message_guid: target };
    fixture.message({ chat, guid: 'R', handle_id: handle, date, ...columns });
    expect(log.entries(rowOffset(1), rowOffset(9), 9)[0]?.event).toEqual({
      type: event,
      data: {
        id: '2',
        guid: 'R',
        conversation_id: 'any;-;1',
        sender: 'a@example.org',
        is_from_me: false,
        reaction_type: name,
        emoji: null,
        message_id: '1',
        message_guid: 'A',
        timestamp: '2026-01-02T03:04:05Z',
        associated_message_type: type,
        ...place,
      },
    });
  });

  test('with an emoji names it, on a message that is gone it still arrives', () => {
    const { fixture, log } = open();
    for (const type of [2006, 3006]) {
      fixture.message({
        associated_message_type: type,
        associated_message_guid: 'p:0/GONE',
        associated_message_emoji: '🦊',
      });
    }
    fixture.message({ associated_message_type: 2006, associated_message_guid: null });
    expect(log.entries(rowOffset(0), rowOffset(9), 9).map(({ event }) => event.data)).toEqual([
      expect.objectContaining({ reaction_type: 'emoji', emoji: '🦊', message_id: '', message_guid: 'GONE' }),
      expect.objectContaining({ reaction_type: 'emoji', emoji: '🦊', message_id: '', message_guid: 'GONE' }),
      expect.objectContaining({ reaction_type: 'emoji', emoji: null, message_id: '', message_guid: '' }),
    ]);
  });
});

describe('the identity of the log', () => {
  test('is the newest row, the guid at the cursor and the highest row id there ever was', () => {
    const { fixture, log } = open();
    expect(log.newest()).toMatchObject({ offset: rowOffset(0), guid: null });
    for (const guid of ['A', 'B', 'C']) fixture.message({ guid });
    fixture.sqlite.exec("DELETE FROM message WHERE guid = 'C'");
    const { inode } = log.newest();
    expect(log.newest()).toEqual({ offset: rowOffset(2), guid: 'B', inode });
    expect(log.identity(rowOffset(1))).toEqual({ inode, guidAtCursor: 'A', highestRowId: 3 });
    expect(log.identity(rowOffset(3))).toEqual({ inode, guidAtCursor: null, highestRowId: 3 });
    expect(inode).not.toBe('');
  });

  test('goes by the newest row where the database keeps no count', () => {
    const { fixture, log } = open('bare');
    expect(log.identity(rowOffset(1))).toMatchObject({ guidAtCursor: null, highestRowId: 0 });
    fixture.message({ guid: 'A' });
    expect(log.identity(rowOffset(1))).toMatchObject({ guidAtCursor: 'A', highestRowId: 1 });
  });
});

describe('the lookup for sends', () => {
  test('finds the chat that is meant, newest message first', () => {
    const { fixture, lookup } = open('macos-12');
    const sms = fixture.chat('SMS;-;+15550100', [], { service_name: 'SMS' });
    const iMessage = fixture.chat('iMessage;-;+15550100', [], { service_name: 'iMessage' });
    fixture.chat('iMessage;+;chat1', [], { service_name: 'any' });
    fixture.message({ chat: iMessage, date: appleNs('2026-01-01T00:00:00Z') });
    fixture.message({ chat: sms, date: appleNs('2026-01-02T00:00:00Z') });
    const byTime = [
      { guid: 'SMS;-;+15550100', service: 'SMS' },
      { guid: 'iMessage;-;+15550100', service: 'iMessage' },
    ];
    expect(lookup.chats('+15550100')).toEqual(byTime);
    expect(lookup.chats('any;-;+15550100')).toEqual(byTime);
    expect(lookup.chats('iMessage;-;+15550100')).toEqual(byTime.toReversed());
    const group = [{ guid: 'iMessage;+;chat1', service: null }];
    expect(lookup.chats('chat1')).toEqual(group);
    expect(lookup.chats('any;+;chat1')).toEqual(group);
    expect(lookup.chats('any;-;chat1')).toEqual(group);
    for (const unknown of ['any;-;chat2', '+15550101', '', ';', "x' OR 1"]) expect(lookup.chats(unknown)).toEqual([]);
  });

  test('gives own messages above a mark as a confirmation needs them', () => {
    const { fixture, lookup } = open();
    const chat = fixture.chat('any;+;chat1');
    fixture.message({ chat, is_from_me: 1 });
    expect(lookup.highestRowId()).toBe(1);
    fixture.message({ chat });
    fixture.message({ guid: 'B', chat, is_from_me: 1, attributedBody: encodeAttributedBody('the body') });
    fixture.message({ chat, is_from_me: 1, associated_message_type: 2000 });
    const file = fixture.message({ is_from_me: 1, text: '\uFFFC' });
    fixture.attach(file, '~/Library/Messages/Attachments/x/photo-1.heic', { transfer_name: 'photo.heic' });
    expect(lookup.ownRowsAbove(1, 0)).toMatchObject([
      { rowId: 3, guid: 'B', datedMs: Date.UTC(2026, 0, 1), address: '+;chat1', body: 'the body', attachmentNames: [] },
      { rowId: 5, address: null, body: '', attachmentNames: ['photo-1.heic', 'photo.heic'] },
    ]);
    expect(lookup.message(3)).toMatchObject({ id: '3', status: 'sent' });
    expect(lookup.message(4)).toBeUndefined();
  });

  test('gives own messages of a send behind any number of old ones that iCloud adds', () => {
    const { fixture, lookup } = open();
    const chat = fixture.chat('any;-;+15550100');
    const sentMs = Date.UTC(2026, 0, 1);
    for (let n = 0; n < 1100; n += 1) fixture.message({ chat, is_from_me: 1, date: appleDate(sentMs - 1) });
    const inNanoseconds = fixture.message({ chat, is_from_me: 1, date: appleDate(sentMs) });
    const inSeconds = fixture.message({ chat, is_from_me: 1, date: appleDate(sentMs) / 1_000_000_000n });
    expect(lookup.ownRowsAbove(0, sentMs).map(({ rowId }) => rowId)).toEqual([inNanoseconds, inSeconds]);
  });
});
