import { expect, test } from '@jest/globals';
import type { Conversation } from '../../src/client/postern-client.ts';
import { ImsgChats } from '../../src/features/imsg/imsg-chats.ts';
import { FakeClock } from '../support/fake-clock.ts';

const ANA = 'any;-;+15550100';
const BEN = 'any;-;+15550101';

/** Conversations of a chat.db that can be replaced: the numbers by id. */
function world(numbers: Readonly<Record<string, number>>) {
  let now = numbers;
  const conversationOf = (id: string): Conversation => ({
    id,
    display_name: null,
    participants: [],
    last_message_at: '2026-01-02T03:04:05Z',
    details: { chat_number: now[id] } as Conversation['details'],
  });
  const clock = new FakeClock();
  const client = {
    conversation: async (id: string) => conversationOf(id),
    async *allConversations() {
      yield* Object.keys(now).map(conversationOf);
    },
  };
  const replace = (then: typeof now): void => {
    now = then;
  };
  return { clock, chats: new ImsgChats(client, clock), replace };
}

test('a number means the conversation that was last seen with it', async () => {
  const { chats, replace } = world({ [ANA]: 5, [BEN]: 7 });
  await chats.list(10, false);
  replace({ [BEN]: 5, [ANA]: 6 });
  await chats.list(1, false);
  expect((await chats.withNumber(5)).conversation.id).toBe(BEN);
  expect((await chats.withId(ANA))?.number).toBe(6);
  await expect(chats.withNumber(7)).rejects.toThrow('no chat with chat_id 7');
});

test('a number is looked up again after a minute', async () => {
  const { chats, clock, replace } = world({ [ANA]: 5, [BEN]: 7 });
  await chats.list(10, false);
  replace({ [ANA]: 8, [BEN]: 5 });
  await clock.advance(59_999);
  expect((await chats.withNumber(5)).conversation.id).toBe(ANA);
  await clock.advance(1);
  expect((await chats.withNumber(5)).conversation.id).toBe(BEN);
});
