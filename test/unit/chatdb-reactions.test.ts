import { describe, expect, test } from '@jest/globals';
import { ListReader } from '../../src/core/chatdb/list-reader.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { includeSet } from '../../src/core/model/include.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { reactionSchema } from '../../src/core/schema/reaction-schema.ts';
import { chatDbOwner } from '../../src/features/self-chat/owner-in-chatdb.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { appleNs } from '../support/chat-fixture.ts';

const databases = chatDatabases();
const [LOVE, HAHA, EMOJI, STICKER] = [2000, 2003, 2006, 1000];
const TAKEN_BACK = 1000;

interface Tapback {
  readonly type: number;
  readonly on?: string;
  readonly by?: number;
  readonly emoji?: string;
  /** Seconds after the message. */
  readonly at?: number;
}

/** Writes a message of three photos, and reactions to it in order; returns the reactions in its details. */
function current(tapbacks: readonly Tapback[], { parts = 3, part_count = null as number | null } = {}) {
  const { fixture, connection } = databases.open();
  const chat = fixture.chat('any;+;chat1', ['+15550101', '+15550102', '+15550102(smsft)']);
  const message = fixture.message({ chat, handle_id: 1, text: '\uFFFC'.repeat(parts), part_count });
  for (let part = 0; part < parts; part += 1) fixture.attach(message, `/photos/${part}.jpg`);
  for (const { type, on = 'p:0/', by = 2, emoji = null, at = 0 } of tapbacks) {
    fixture.message({
      chat,
      handle_id: by,
      is_from_me: by === 0 ? 1 : 0,
      text: 'a tapback',
      date: appleNs('2026-01-01T00:00:00Z', at * 1e9),
      associated_message_type: type,
      associated_message_guid: `${on}${fixture.guid(message)}`,
      associated_message_emoji: emoji,
    });
  }
  const details = new ListReader(connection).message(String(message), { include: includeSet(['details']) })?.details;
  return { message, connection, fixture, reactions: details?.reactions ?? [] };
}

const shown = (...given: Parameters<typeof current>) =>
  current(...given).reactions.map(
    ({ is_from_me: isOwn, sender, emoji, reaction_type: type, part, balloon }) =>
      `${isOwn ? 'me' : sender.slice(-1)} ${emoji ?? type}${part === undefined ? '' : ` ${part}`}${balloon ? ' balloon' : ''}`,
  );

describe('the current tapbacks are one per sender and part', () => {
  test.each<[string, readonly Tapback[], readonly string[]]>([
    ['on two parts', [{ type: LOVE }, { type: HAHA, on: 'p:1/' }], ['2 love 0', '2 haha 1']],
    ['alike on two parts', [{ type: LOVE }, { type: LOVE, on: 'p:2/' }], ['2 love 0', '2 love 2']],
    [
      'taken back on one part',
      [{ type: LOVE }, { type: HAHA, on: 'p:1/' }, { type: HAHA + TAKEN_BACK, on: 'p:1/' }],
      ['2 love 0'],
    ],
    [
      'replaced on the same part',
      [
        { type: LOVE, on: 'p:1/' },
        { type: HAHA, on: 'p:1/' },
      ],
      ['2 haha 1'],
    ],
    [
      'emoji on two parts',
      [
        { type: EMOJI, emoji: '🔥' },
        { type: EMOJI, emoji: '🎉', on: 'p:1/' },
      ],
      ['2 🔥 0', '2 🎉 1'],
    ],
    [
      'an emoji that replaced the one that is taken back',
      [
        { type: EMOJI, emoji: '🔥' },
        { type: EMOJI, emoji: '🎉' },
        { type: EMOJI + TAKEN_BACK, emoji: '🔥' },
      ],
      ['2 🎉 0'],
    ],
    [
      'of the owner',
      [
        { type: LOVE, by: 0 },
        { type: HAHA, by: 0, on: 'p:1/' },
      ],
      ['me love 0', 'me haha 1'],
    ],
    [
      'in the order in which they were last changed',
      [{ type: LOVE }, { type: LOVE, by: 1 }, { type: HAHA }],
      ['1 love 0', '2 haha 0'],
    ],
    ['of two people', [{ type: LOVE }, { type: LOVE, by: 1 }], ['2 love 0', '1 love 0']],
    ['on the message as a whole, which is its first part', [{ type: LOVE }, { type: HAHA, on: '' }], ['2 haha']],
    ['on the message as a whole, in the other form', [{ type: LOVE, on: 'p:-1/' }, { type: HAHA }], ['2 haha 0']],
    [
      'of the address without its filter tag',
      [
        { type: LOVE, at: 1 },
        { type: HAHA, at: 2, by: 3 },
        { type: HAHA + TAKEN_BACK, at: 3 },
      ],
      [],
    ],
    [
      'whose rows came newest first: replaced',
      [
        { type: HAHA, at: 2 },
        { type: LOVE, at: 1 },
      ],
      ['2 haha 0'],
    ],
    [
      'whose rows came newest first: taken back',
      [
        { type: LOVE + TAKEN_BACK, at: 2 },
        { type: LOVE, at: 1 },
      ],
      [],
    ],
    ['on the balloon, which is the first part', [{ type: LOVE, on: 'bp:' }], ['2 love balloon']],
    ['on the balloon and taken back', [{ type: LOVE, on: 'bp:' }, { type: LOVE + TAKEN_BACK }], []],
    [
      'and every sticker',
      [{ type: STICKER }, { type: STICKER }, { type: LOVE }],
      ['2 sticker 0', '2 sticker 0', '2 love 0'],
    ],
  ])('%s', (_, tapbacks, expected) => {
    expect(shown(tapbacks)).toEqual(expected);
  });

  test('on every part of a message with many, in the order of their rows', () => {
    const tapbacks = [
      { type: HAHA, on: 'p:70/' },
      { type: LOVE, on: 'p:2/' },
      { type: LOVE, on: 'p:24/' },
    ];
    expect(shown(tapbacks, { parts: 40 })).toEqual(['2 haha 70', '2 love 2', '2 love 24']);
    expect(shown(tapbacks, { parts: 0, part_count: 71 })).toEqual(['2 haha 70', '2 love 2', '2 love 24']);
  });

  test('and the latest of the owner decides, whatever parts the others are on', () => {
    const { message, connection, fixture } = current([
      { type: LOVE, by: 0 },
      { type: HAHA, by: 0, on: 'p:1/' },
      { type: HAHA + TAKEN_BACK, by: 0, on: 'p:1/' },
    ]);
    const tapback = chatDbOwner(connection).tapbackOn(fixture.guid(message));
    expect(tapback?.tapback).toMatchObject({ type: 'love' });
  });
});

test.each([
  ['p:0/', { part: 0 }],
  ['p:12/', { part: 12 }],
  ['bp:', { balloon: true }],
  ['p:-1/', {}],
  ['', {}],
])('an event says what the reaction is on: %j', (on, expected) => {
  const { connection, message, fixture } = current([
    { type: LOVE, on },
    { type: LOVE + TAKEN_BACK, on },
  ]);
  const events = new ChatLog(connection).entries(rowOffset(message), rowOffset(message + 2), 2);
  expect(events.map(({ event }) => event.type)).toEqual(['reaction.added', 'reaction.removed']);
  for (const { event } of events) {
    const { part, balloon, message_guid: guid } = reactionSchema.parse(event.data);
    expect({ guid, ...(part !== undefined && { part }), ...(balloon && { balloon }) }).toEqual({
      guid: fixture.guid(message),
      ...expected,
    });
  }
});
