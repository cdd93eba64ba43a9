import { describe, expect, test } from '@jest/globals';
import { Fingerprints } from '../../src/core/chatdb/fingerprints.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { AssociatedRows } from '../../src/core/model/associated-rows.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const CHAT = 'any;-;+15550100';
const DETAILS = { include: includeSet(['details']) };
const ALL = { limit: 100, offset: 0, order: 'asc' } as const;
const POLLS = 'com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.messages.Polls';
const GAME = 'com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.example.games.ext';

/** Creates a conversation with a row of each kind, a second apart, all unread and from the other person. */
function conversation(associatedRows: AssociatedRows) {
  const { fixture, connection } = databases.open('macos-26', undefined, associatedRows);
  const handle_id = fixture.handle('+15550100');
  const chat = fixture.chat(CHAT, ['+15550100']);
  const add = (guid: string, columns: object): number =>
    fixture.message({
      chat,
      guid,
      handle_id,
      is_read: 0,
      date: appleNs(`2026-01-01T10:00:0${rows.size}Z`),
      ...columns,
    });
  const rows = new Map<string, number>();
  const kinds = {
    hello: { text: 'hello' },
    love: { text: 'Loved', associated_message_type: 2000, associated_message_guid: 'p:0/hello' },
    // A game's turns: each names the message that began the game.
    turn: { text: 'Your turn', associated_message_type: 2, associated_message_guid: 'hello', balloon_bundle_id: GAME },
    // A payment.
    cash: { text: '$ 5', associated_message_type: 3, associated_message_guid: '', balloon_bundle_id: GAME },
    poll: { text: '\uFFFD', balloon_bundle_id: POLLS },
    own_poll: {
      text: '\uFFFD',
      associated_message_type: 2,
      associated_message_guid: 'own_poll',
      balloon_bundle_id: POLLS,
    },
    vote: { associated_message_type: 4000, associated_message_guid: 'poll', balloon_bundle_id: POLLS },
    option: { associated_message_type: 2, associated_message_guid: 'poll', balloon_bundle_id: POLLS },
    removed: { text: 'Removed', associated_message_type: 3000, associated_message_guid: 'p:0/hello' },
  };
  for (const [guid, columns] of Object.entries(kinds)) rows.set(guid, add(guid, columns));
  const log = new ChatLog(connection);
  const newest = rowOffset([...rows.values()].at(-1) ?? 0);
  return { fixture, connection, rows, reader: new ChatReader(connection), log, newest };
}

describe('by default every row that names another one is a reaction, as the contract says', () => {
  test('in lists and events', async () => {
    const { reader, log, newest } = conversation('reactions');
    const { items } = await reader.listMessages(ALL);
    expect(items.map(({ guid }) => guid)).toEqual(['hello', 'poll']);
    expect(log.entries(rowOffset(0), newest, 100).map(({ guid, event }) => [guid, event.type])).toEqual([
      ['hello', 'message.received'],
      ['love', 'reaction.added'],
      ['turn', 'reaction.added'],
      ['cash', 'reaction.added'],
      ['poll', 'message.received'],
      ['own_poll', 'reaction.added'],
      ['vote', 'reaction.added'],
      ['option', 'reaction.added'],
      ['removed', 'reaction.removed'],
    ]);
  });

  test('and its details say what it is instead', async () => {
    const { reader, log, newest } = conversation('reactions');
    const kinds: unknown[] = [];
    for (const { guid, event } of log.entries(rowOffset(0), newest, 100)) {
      if (!('associated_message_type' in event.data)) continue;
      kinds.push([guid, (await reader.reactionDetails(event.data))?.kind]);
    }
    expect(kinds).toEqual([
      ['love', undefined],
      ['turn', 'app'],
      ['cash', 'app'],
      ['own_poll', 'app'],
      ['vote', 'poll_vote'],
      ['option', 'poll_update'],
      ['removed', undefined],
    ]);
  });
});

describe('by kind, messages of apps are messages everywhere', () => {
  test('in lists, as the last message and in the count of unread ones', async () => {
    const { reader, rows } = conversation('by_kind');
    const { items } = await reader.listMessages(ALL);
    expect(items.map(({ guid }) => guid)).toEqual(['hello', 'turn', 'cash', 'poll', 'own_poll']);
    expect(items.map(({ body }) => body).slice(1, 3)).toEqual(['Your turn', '$ 5']);
    expect(await reader.message(String(rows.get('turn')))).toMatchObject({ body: 'Your turn' });
    const conversations = await reader.listConversations({ limit: 10, offset: 0, ...DETAILS });
    expect(conversations.items[0]?.details).toMatchObject({
      unread_count: 5,
      last_message: { id: String(rows.get('own_poll')) },
    });
  });

  test('in events, where votes and added options are none', () => {
    const { log, newest } = conversation('by_kind');
    expect(log.entries(rowOffset(0), newest, 100).map(({ guid, event }) => [guid, event.type])).toEqual([
      ['hello', 'message.received'],
      ['love', 'reaction.added'],
      ['turn', 'message.received'],
      ['cash', 'message.received'],
      ['poll', 'message.received'],
      ['own_poll', 'message.received'],
      ['removed', 'reaction.removed'],
    ]);
    expect(log.pendingRows(rowOffset(0), 100).filter(({ isSilent }) => isSilent)).toMatchObject([
      { guid: 'vote' },
      { guid: 'option' },
    ]);
    expect([log.silentRows(1, newest.rowId), log.silentRows(1, 1)]).toEqual([2, 0]);
  });

  test('and are no reactions on the message that they name', async () => {
    const { reader, rows } = conversation('by_kind');
    const message = await reader.message(String(rows.get('hello')), DETAILS);
    expect(message?.details?.reactions).toEqual([]);
    const poll = await reader.message(String(rows.get('poll')), DETAILS);
    expect(poll?.details?.reactions).toEqual([]);
  });

  test('and have prints, so that their edits are seen', () => {
    const { connection, fixture, rows, newest } = conversation('by_kind');
    const turn = rows.get('turn') ?? 0;
    const print = () => new Fingerprints(connection).rows(newest, [turn]).prints.get(turn);
    const before = print();
    fixture.sqlite.exec(`UPDATE message SET text = 'Their turn now' WHERE ROWID = ${turn}`);
    expect(print()).not.toBe(before);
  });
});

test('a row of an unknown type stays a reaction by kind', () => {
  const { fixture, connection } = databases.open('macos-26', undefined, 'by_kind');
  fixture.message({ guid: 'known', text: 'hello' });
  fixture.message({ guid: 'new', associated_message_type: 5000, associated_message_guid: 'known' });
  const log = new ChatLog(connection);
  expect(log.entries(rowOffset(0), rowOffset(2), 10).map(({ event }) => event.type)).toEqual([
    'message.received',
    'reaction.added',
  ]);
});

test.each(['bare', 'macos-10.13', 'macos-12'] as const)('a database of %s can be read by kind', async (schema) => {
  const { fixture, connection } = databases.open(schema, undefined, 'by_kind');
  fixture.message({ text: 'hello', chat: fixture.chat(CHAT) });
  const reader = new ChatReader(connection);
  expect((await reader.listMessages(ALL)).items).toMatchObject([{ body: 'hello' }]);
  expect((await reader.message('1', DETAILS))?.details?.kind).toBe('message');
});
