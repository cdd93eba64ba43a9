import { describe, expect, test } from '@jest/globals';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import { eventFilter } from '../../src/core/model/event-filter.ts';
import type { HiddenText } from '../../src/core/model/hidden-text.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { wantedBy } from '../../src/core/model/narrowing.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { CANARY_LENGTH, CANARY_START, canaryText } from '../../src/features/canary/text.ts';
import { IndexReader } from '../../src/features/search/index/index-source.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs, MACOS_SCHEMAS } from '../support/chat-fixture.ts';

/** The canaries of this address. */
function hiddenIn(chat: string): readonly HiddenText[] {
  return chat === '' ? [] : [{ chat, start: CANARY_START, length: CANARY_LENGTH }];
}

const databases = chatDatabases();
const ME = "o'hara@example.com";
/** Addresses are the same in capital letters. */
const SELF = "any;-;O'Hara@example.com";
const OTHER = 'any;-;+15550100';
const ALL = { limit: 100, offset: 0, order: 'asc' } as const;
const CANARY = canaryText('0123abcd');

/** Creates a conversation with oneself and another one, both with canaries, which count only in the first. */
function conversations(schema: (typeof MACOS_SCHEMAS)[number] = 'macos-26', canaryAddress = ME) {
  const { fixture, connection } = databases.open(schema, undefined, 'reactions', hiddenIn(canaryAddress));
  const self = fixture.chat(SELF, [ME]);
  const other = fixture.chat(OTHER, ['+15550100']);
  let minute = 10;
  const add = (
    name: string,
    chat: number,
    columns: Readonly<Record<string, string | number | Uint8Array | null>>,
  ): string => {
    minute += 1;
    const date = appleNs(`2026-01-01T10:${minute}:00Z`);
    fixture.message({ chat, guid: name, handle_id: fixture.handle(ME), is_read: 0, date, ...columns });
    return name;
  };
  const hasBody = fixture.hasColumn('message', 'attributedBody');
  const coded = (text: string) => (hasBody ? { text: null, attributedBody: encodeAttributedBody(text) } : { text });
  add('note', self, { text: 'a note', is_from_me: 1 });
  add('from another', other, { text: CANARY });
  add('quoted', self, { text: `${CANARY}!`, is_from_me: 1 });
  add('quoted in a body', self, coded(`I saw ${CANARY}`));
  add('own canary', self, { ...coded(CANARY), is_from_me: 1 });
  add('its copy', self, { text: CANARY });
  const log = new ChatLog(connection);
  return { fixture, connection, reader: new ChatReader(connection), log };
}

const SHOWN = ['note', 'from another', 'quoted', 'quoted in a body'];
const EVERYTHING = [...SHOWN, 'own canary', 'its copy'];

describe('canaries', () => {
  test.each(MACOS_SCHEMAS)('are in no list of %s unless it is asked for', async (schema) => {
    const { reader } = conversations(schema);
    const guids = async (query: object): Promise<readonly string[]> =>
      (await reader.listMessages({ ...ALL, ...query })).items.map(({ guid }) => guid);
    expect(await guids({})).toEqual(SHOWN);
    expect(await guids({ withHidden: false })).toEqual(SHOWN);
    expect(await guids({ withHidden: true })).toEqual(EVERYTHING);
    expect(await guids({ conversationId: SELF })).toEqual(['note', 'quoted', 'quoted in a body']);
    expect(await guids({ conversationId: SELF, withHidden: true })).toEqual([
      'note',
      'quoted',
      'quoted in a body',
      'own canary',
      'its copy',
    ]);
    const ids = { conversationIds: [SELF, OTHER] };
    expect(await guids(ids)).toEqual(SHOWN);
    expect(await guids({ ...ids, withHidden: true })).toEqual(EVERYTHING);
  });

  test('are left out also before Messages has joined them to a chat', async () => {
    const { fixture, reader } = conversations();
    fixture.message({ guid: 'not joined', text: CANARY, is_from_me: 1, date: appleNs('2026-01-01T11:00:00Z') });
    fixture.message({ guid: 'later note', text: `${CANARY}!`, is_from_me: 1, date: appleNs('2026-01-01T11:01:00Z') });
    const { items } = await reader.listMessages({ ...ALL, order: 'desc', limit: 2 });
    expect(items.map(({ guid }) => guid)).toEqual(['later note', 'quoted in a body']);
  });

  test('leave every page of a list full, by offset and by cursor', async () => {
    const { reader } = conversations();
    const desc = { ...ALL, order: 'desc', limit: 2 } as const;
    const first = await reader.listMessages(desc);
    expect(first.items.map(({ guid }) => guid)).toEqual(['quoted in a body', 'quoted']);
    const next = { ...desc, cursor: first.next ?? '' };
    for (const query of [{ ...desc, offset: 2 }, next]) {
      expect((await reader.listMessages(query)).items.map(({ guid }) => guid)).toEqual(['from another', 'note']);
    }
  });

  test('raise no conversation, are not its last message and not unread', async () => {
    const { reader } = conversations();
    const { items } = await reader.listConversations({ limit: 10, offset: 0, include: includeSet(['details']) });
    expect(
      items.map(({ id, last_message_at: at, details }) => [id, at, details?.last_message?.body, details?.unread_count]),
    ).toEqual([
      [SELF, '2026-01-01T10:14:00Z', `I saw ${CANARY}`, 1],
      [OTHER, '2026-01-01T10:12:00Z', CANARY, 1],
    ]);
  });

  test('are not found by search', () => {
    const { connection } = conversations();
    const index = new IndexReader(connection);
    const { rows } = index.listed(undefined, 100);
    expect(rows).toHaveLength(SHOWN.length);
    const all = Array.from({ length: EVERYTHING.length }, (_, place) => place + 1);
    expect(index.messages(all).map((message) => message?.guid)).toEqual([...SHOWN, undefined, undefined]);
  });

  test('are marked in events, which readers skip unless they ask', () => {
    const { log } = conversations();
    const entries = log.entries(rowOffset(0), rowOffset(100), 100);
    expect(entries.filter(({ marks }) => marks?.isHidden).map(({ guid }) => guid)).toEqual(['own canary', 'its copy']);
    expect(log.pendingRows(rowOffset(0), 100).map(({ marks }) => marks)).toEqual(entries.map(({ marks }) => marks));
    const events = ['message.sent', 'message.received'] as const;
    const seen = (wanted: ((entry: (typeof entries)[number]) => boolean) | undefined): readonly string[] =>
      entries.filter(wanted ?? (() => true)).map(({ guid }) => guid);
    expect(seen(wantedBy({}))).toEqual(SHOWN);
    expect(seen(wantedBy({ include_hidden: true }))).toEqual(EVERYTHING);
    expect(seen(wantedBy({}, false))).toEqual(EVERYTHING);
    expect(seen(eventFilter({ events, filter: null }))).toEqual(SHOWN);
    expect(seen(eventFilter({ events, filter: { include_hidden: true } }))).toEqual(EVERYTHING);
  });

  test('are ordinary messages where the canary is off', async () => {
    const { reader, log } = conversations('macos-26', '');
    expect((await reader.listMessages(ALL)).items.map(({ guid }) => guid)).toEqual(EVERYTHING);
    expect(log.entries(rowOffset(0), rowOffset(100), 100).some(({ marks }) => marks !== undefined)).toBe(false);
  });
});
