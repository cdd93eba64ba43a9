import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { chatSendLookup } from '../../src/core/chatdb/lookups.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { contentHash } from '../../src/core/sender/content-hash.ts';
import { openSentRows } from '../../src/core/sender/sent-rows.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, type ChatFixture, type Schema } from '../support/chat-fixture.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const databases = chatDatabases();
const ME = 'me@example.com';
const DETAILS = { include: includeSet(['details']) };
type Columns = Parameters<ChatFixture['message']>[0];

/** Creates a conversation with oneself, to which rows are written at a time of 1 January 2026. */
function selfChat(schema: Schema = 'macos-26') {
  const { fixture, connection } = databases.open(schema);
  const isBare = schema === 'bare';
  const chat = fixture.chat(`any;-;${ME}`, isBare ? [] : [ME], isBare ? {} : { last_addressed_handle: ME });
  const handle_id = fixture.handle(ME);
  const reader = new ListReader(connection);
  return {
    fixture,
    reader,
    connection,
    log: new ChatLog(connection),
    incoming: (time: string, columns: Columns = {}) =>
      fixture.message({ chat, handle_id, text: 'note', date: appleNs(`2026-01-01T${time}Z`), ...columns }),
    own: (time: string, columns: Columns = {}) =>
      fixture.message({ chat, is_from_me: 1, text: 'note', date: appleNs(`2026-01-01T${time}Z`), ...columns }),
    isMirror: (row: number) => reader.message(String(row), DETAILS)?.details?.mirror === true,
  };
}

describe('a message to oneself is marked in its incoming copy', () => {
  test('when the incoming one came minutes before', () => {
    const { incoming, own, isMirror } = selfChat();
    const row = incoming('17:32:03');
    expect(isMirror(row)).toBe(false);
    own('17:36:47');
    expect(isMirror(row)).toBe(true);
  });

  test('whatever their date is', () => {
    const { incoming, own, isMirror } = selfChat();
    const date = 9_223_372_036_854_775_807n;
    own('17:36:47', { date });
    expect(isMirror(incoming('17:36:47', { date }))).toBe(true);
  });

  test('when the incoming one came minutes after, with a thousand rows of others between', () => {
    const { fixture, incoming, own, isMirror } = selfChat();
    own('17:32:03');
    const chat = fixture.chat('any;-;+15550100', ['+15550100']);
    for (let count = 0; count < 1000; count += 1) {
      fixture.message({ chat, text: 'note', date: appleNs('2026-01-01T17:33:00Z') });
    }
    expect(isMirror(incoming('17:36:47'))).toBe(true);
  });

  test('in a database with dates in seconds', () => {
    const { incoming, own, isMirror } = selfChat('macos-10.13');
    own('10:00:00', { date: 500_000_000 });
    expect(isMirror(incoming('10:00:00', { date: 500_000_300 }))).toBe(true);
    expect(isMirror(incoming('10:00:00', { date: 500_000_700 }))).toBe(false);
  });

  test('by the names of its files', () => {
    const { fixture, incoming, own, isMirror } = selfChat();
    const [sent, copy, other] = [own('10:00:00'), incoming('10:01:00'), incoming('10:02:00')];
    for (const [row, path] of [
      [sent, '/a/1/photo.jpg'],
      [copy, '/a/2/photo.jpg'],
      [other, '/a/3/else.jpg'],
    ] as const) {
      fixture.attach(row, path);
    }
    expect([copy, other].map(isMirror)).toEqual([true, false]);
  });
});

test.each([
  ['another text', '10:00:00', { text: 'other' }],
  ['a date eleven minutes before', '09:49:00', {}],
  ['no text, a minute before', '09:59:00', { text: null }],
  ['another conversation', '10:00:00', { chat: null }],
] as const)('an own message with %s makes no copy of an incoming one', (_, time, columns) => {
  const { incoming, own, isMirror } = selfChat();
  own(time, columns);
  expect(isMirror(incoming('10:00:00'))).toBe(false);
});

describe('an own message names the incoming copies before it', () => {
  test('that nobody could have known', () => {
    const { log, incoming, own } = selfChat();
    const before = incoming('10:00:00');
    incoming('10:00:01', { text: 'else' });
    const row = own('10:04:00');
    incoming('10:04:01');
    const copies = log.pendingRows(rowOffset(row - 1), 10, true).map(({ rowId, copies }) => [rowId, copies]);
    expect(copies).toEqual([
      [row, [before]],
      [row + 1, []],
    ]);
  });

  test('and none in a conversation with somebody else', () => {
    const { fixture, log } = selfChat();
    const chat = fixture.chat('any;-;+15550100', ['+15550100']);
    fixture.message({ chat, handle_id: fixture.handle('+15550100'), text: 'ok' });
    const row = fixture.message({ chat, is_from_me: 1, text: 'ok' });
    expect(log.pendingRows(rowOffset(row - 1), 10, true)).toMatchObject([{ rowId: row, copies: [] }]);
  });
});

test('a database without an index by date is searched near the row', () => {
  const { fixture, incoming, own, isMirror } = selfChat();
  for (const name of fixture.sqlite.prepare("SELECT name FROM sqlite_schema WHERE sql LIKE '%message(date)%'").all()) {
    fixture.sqlite.exec(`DROP INDEX "${String(name)}"`);
  }
  const near = incoming('10:00:00');
  own('10:04:00');
  for (let count = 0; count < 101; count += 1) fixture.message({ text: 'else' });
  expect([near, incoming('10:04:01')].map(isMirror)).toEqual([true, false]);
});

const NUMBER = '+15550100000';
const ALIAS = 'me@icloud.example';

/** Creates the owner's conversations under two addresses; a third address is known from another conversation only. */
function twoThreads() {
  const self = selfChat();
  const { fixture } = self;
  const other = fixture.chat(`any;-;${NUMBER}`, [NUMBER], { last_addressed_handle: NUMBER });
  fixture.chat('any;-;+15550199999', ['+15550199999'], { last_addressed_handle: ALIAS });
  const third = fixture.chat(`any;-;${ALIAS}`, [ALIAS]);
  return { ...self, other, third, number: fixture.handle(NUMBER), alias: fixture.handle(ALIAS) };
}

describe("a copy under another of one's addresses is marked", () => {
  test('in the same conversation', () => {
    const { incoming, own, isMirror, number } = twoThreads();
    own('10:00:00');
    expect(isMirror(incoming('10:00:01', { handle_id: number }))).toBe(true);
  });

  test("in another of one's conversations, also one whose address only somebody else's names", () => {
    const { incoming, own, isMirror, other, third, number, alias } = twoThreads();
    const first = incoming('10:00:00', { chat: other, handle_id: number });
    own('10:04:44');
    const later = incoming('10:04:45', { chat: third, handle_id: alias });
    expect([first, later].map(isMirror)).toEqual([true, true]);
  });

  test('and reported by the own message if it came first', () => {
    const { log, incoming, own, other, number } = twoThreads();
    const first = incoming('10:00:00', { chat: other, handle_id: number });
    const row = own('10:04:44');
    expect(log.pendingRows(rowOffset(row - 1), 10, true)).toMatchObject([{ copies: [first] }]);
  });
});

test("an echo by somebody else is a message, in their conversation and in one of the owner's", () => {
  const { fixture, incoming, own, isMirror } = twoThreads();
  const handle_id = fixture.handle('+15550199999');
  const chat = fixture.chat('iMessage;-;+15550199999', ['+15550199999']);
  own('10:00:00');
  own('10:00:00', { chat });
  expect(isMirror(incoming('10:00:01', { chat, handle_id }))).toBe(false);
  expect(isMirror(incoming('10:00:02', { handle_id }))).toBe(false);
});

test('each message to oneself accounts for one incoming row of a conversation: the next with its text is a message', () => {
  const { fixture, incoming, own, isMirror } = selfChat();
  const photo = (row: number, folder: string): number => {
    fixture.attach(row, `/${folder}/image.jpg`);
    return row;
  };
  own('10:00:00');
  photo(own('10:20:00', { text: null }), 'a');
  const texts = [incoming('10:00:01'), incoming('10:00:30')];
  const photos = [photo(incoming('10:20:01', { text: null }), 'b'), photo(incoming('10:21:00', { text: null }), 'c')];
  expect([...texts, ...photos].map(isMirror)).toEqual([true, false, true, false]);
});

test.each(['\ufffc', null])('an own file without a name (text %j) has no copy with text, and one without', (text) => {
  const { incoming, own, isMirror } = selfChat();
  own('10:00:00', { text, cache_has_attachments: 1 });
  const rows = [
    incoming('10:00:08', { text: 'status' }),
    incoming('10:00:09', { text: '\ufffc', cache_has_attachments: 1 }),
    incoming('10:00:10', { text: '\ufffc', cache_has_attachments: 1 }),
    incoming('10:00:25', { text: 'off' }),
  ];
  expect(rows.map(isMirror)).toEqual([false, true, false, false]);
});

describe('a text that Postern sent to oneself, and whose own row never came, is known in its copy', () => {
  function sentTo(chat: string, time = '10:00:00') {
    const self = selfChat();
    const store = sentPartStore(openStateDatabase(join(temporaryFolder(), 'state.db')));
    const { origins } = openSentRows({
      lookup: chatSendLookup(self.connection),
      sentParts: store,
      clock: new FakeClock(),
      log: collectingLog(),
      confirmMs: 0,
    });
    const atMs = Date.parse(`2026-01-01T${time}Z`);
    const content = contentHash({ body: 'on' });
    store.record({ atMs, requestId: 'r', idempotencyKey: undefined, afterRowId: 0, chat: { address: chat }, content });
    const isMirror = (row: number): boolean => {
      const message = self.reader.message(String(row), DETAILS);
      if (message?.details === undefined) throw new Error('there is no such row');
      return origins.added(message, message.details).mirror === true;
    };
    return { ...self, isMirror };
  }

  test('once, so that the second "on" is the owner\'s', () => {
    const { incoming, isMirror } = sentTo(`-;${ME}`);
    const rows = ['10:00:02', '10:00:30', '10:00:31'].map((time) => incoming(time, { text: 'on' }));
    const other = incoming('10:00:32', { text: 'off' });
    expect([...rows, other].map(isMirror)).toEqual([true, false, false, false]);
  });

  test('for ten minutes', () => {
    const { incoming, isMirror } = sentTo(`-;${ME}`);
    expect(isMirror(incoming('10:10:01', { text: 'on' }))).toBe(false);
  });

  test('and not if it was sent to somebody else, or came from somebody else', () => {
    const { incoming, isMirror } = sentTo('-;+15550199999');
    expect(isMirror(incoming('10:00:02', { text: 'on' }))).toBe(false);
    const other = sentTo(`-;${ME}`);
    expect(
      other.isMirror(other.incoming('10:00:02', { text: 'on', handle_id: other.fixture.handle('+15550199999') })),
    ).toBe(false);
  });
});
