import { describe, expect, test } from '@jest/globals';
import { conversationsJson } from '../../src/core/http/conversations/json.ts';
import type { Conversation } from '../../src/core/model/conversation.ts';
import { conversationWithNames } from '../../src/core/model/names.ts';

const people = { nameOf: (address: string) => (address === '+15550100' ? 'Ann' : undefined) };
const group: Conversation = {
  id: 'iMessage;+;chat1',
  display_name: 'Walk',
  participants: ['+15550100', '+15550101'],
  last_message_at: '2026-03-01T12:00:00Z',
};
const empty: Conversation = { ...group, id: 'iMessage;+;chat2', display_name: null, participants: [] };

test('the last message says with names who did something to the conversation', () => {
  const said = (members: object): string | undefined => {
    const last = { id: '1', sender: '+15550101', is_from_me: false, body: '', timestamp: '2026-03-01T12:00:00Z' };
    const details = { chat_number: 1, is_group: true, service: null, last_message: { ...last, ...members } };
    return conversationWithNames({ ...group, details }, people).details?.last_message?.sentence;
  };
  expect(said({ sentence: 'x', group_event: { type: 'added', who: '+15550100' } })).toBe('+15550101 added Ann.');
  expect(said({ sentence: 'x', sender: '+15550100', location_share: { action: 'started', by_me: false } })).toBe(
    'Ann started sharing location.',
  );
  expect(said({ sentence: 'Voice message' })).toBe('Voice message');
  expect(said({ body: 'hello' })).toBeUndefined();
});

describe('conversations with names', () => {
  test('are the same text at every request', () => {
    const expected = JSON.stringify([
      { ...group, names: { '+15550100': 'Ann' } },
      { ...empty, names: {} },
    ]);
    const texts = [1, 2].map(() => conversationsJson([group, empty].map((one) => conversationWithNames(one, people))));
    expect(texts).toEqual([expected, expected]);
  });

  test.each<[string, Partial<Conversation>]>([
    ['a new message', { last_message_at: '2026-03-01T12:00:01Z' }],
    ['another title', { display_name: 'Run' }],
  ])('show %s though their names are the same', (_what, change) => {
    conversationsJson([conversationWithNames(group, people)]);
    const text = conversationsJson([conversationWithNames({ ...group, ...change }, people)]);
    expect(JSON.parse(text)).toEqual([{ ...group, ...change, names: { '+15550100': 'Ann' } }]);
  });

  test('show the names of another load of the Address Book', () => {
    conversationsJson([conversationWithNames(group, people)]);
    const text = conversationsJson([conversationWithNames(group, { nameOf: () => 'Bo' })]);
    expect(JSON.parse(text)).toMatchObject([{ names: { '+15550100': 'Bo', '+15550101': 'Bo' } }]);
  });
});

test('conversations without names, or with details, are serialised as they are', () => {
  const details = { unread_count: 2 } as unknown as NonNullable<Conversation['details']>;
  const detailed = conversationWithNames({ ...group, details }, people);
  for (const list of [[], [group], [group, conversationWithNames(empty, people)], [detailed]]) {
    expect(conversationsJson(list)).toBe(JSON.stringify(list));
  }
});
