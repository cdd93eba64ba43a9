import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogEntry } from '../../src/core/model/event.ts';
import type { StoredApproval } from '../../src/features/access/ports.ts';
import { questionText } from '../../src/features/access/question.ts';
import { selfChatStore } from '../../src/features/self-chat/store.ts';
import { ANA, codeOf, GARDEN, ME, SELF_CHAT } from '../support/access-sending.ts';
import { DOWN, SelfChatFixture } from '../support/self-chat.ts';
import { idle } from '../support/sender-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const MINUTE_MS = 60_000;
let folders = 0;
let folder: string;
let self: SelfChatFixture;
beforeEach(async () => {
  folders += 1;
  folder = join(root, String(folders));
  self = new SelfChatFixture(folder);
  await self.service.access.start();
});
afterEach(() => self.service.close());

const selfChat = () => self.service.selfChat;

describe('the proof', () => {
  test('nothing is written and nothing decided before it', async () => {
    const held = await self.asked();
    expect(self.service.texts()).toEqual([]);
    const text = questionText(held as StoredApproval, 'test') ?? '';
    const row = self.service.chats.message({ chat: self.chatId(SELF_CHAT), is_from_me: 1, text });
    const earlier = self.service.chats.guid(row);
    await self.tapback({ on: earlier });
    await self.service.publish();
    await selfChat().sendCode();
    await self.tapback({ on: earlier });
    expect(await self.stateOf(held.id)).toBe('held');
    selfChat().prove(self.code());
    await self.published();
    // Only what is written from now on counts, including sends that were already held.
    await self.tapback({ on: earlier });
    expect(await self.stateOf(held.id)).toBe('held');
    expect(self.guidOf(held.id)).not.toBe(earlier);
    await self.tapback({ on: self.guidOf(held.id), type: DOWN });
    expect(await self.stateOf(held.id)).toBe('denied');
  });

  test('needs the code, which is good for ten minutes and five attempts', async () => {
    const wrong = (code: string) => (code === '000000' ? '000001' : '000000');
    const tried = async (given: string) => codeOf((async () => selfChat().prove(given))());
    expect(await tried('123456')).toBe('code_wrong');
    await self.service.publish();
    await selfChat().sendCode();
    const first = self.code();
    for (let attempt = 0; attempt < 5; attempt += 1) expect(await tried(wrong(first))).toBe('code_wrong');
    expect(await tried(first)).toBe('code_wrong');
    await selfChat().sendCode();
    const second = self.code();
    await self.service.clock.advance(10 * MINUTE_MS);
    expect(await tried(second)).toBe('code_wrong');
    await selfChat().sendCode();
    const third = self.code();
    expect(selfChat().prove(`${third.slice(0, 3)} ${third.slice(3)}`)).toMatchObject({ conversation_id: SELF_CHAT });
    expect(await tried(third)).toBe('code_wrong');
  });

  test('no other key reads the code before Messages has joined its row to the chat', async () => {
    const caller = self.service.caller({ read: '*' });
    await self.service.publish();
    await selfChat().sendCode();
    const text = self.service.texts().at(-1) ?? '';
    const bodies = async () =>
      (await caller.reader.listMessages({ limit: 5, offset: 0, order: 'desc' })).items.map(({ body }) => body);
    const row = self.service.chats.message({ is_from_me: 1, text: `${text} again` });
    const data = { id: String(row), guid: '', conversation_id: '' };
    const admits = (event: object) => caller.feed.admits({ event } as LogEntry);
    expect(text).toMatch(/\d{6}/);
    expect(await bodies()).not.toContain(`${text} again`);
    expect(admits({ type: 'message.sent', data })).toBe(false);
    expect(admits({ type: 'message.removed', data })).toBe(true);
    self.service.chats.join(self.chatId(SELF_CHAT), row);
    expect(admits({ type: 'message.sent', data })).toBe(false);
    const later = self.service.chats.message({ is_from_me: 1, text: 'joined late' });
    self.service.chats.join(self.chatId(`any;-;${ANA}`), later);
    expect(admits({ type: 'message.sent', data: { ...data, id: String(later) } })).toBe(true);
  });

  test.each([
    ["somebody else's address", ANA],
    ['an address nobody knows', '+15550177'],
  ])('writes nothing to %s', async (_what, selfAddress) => {
    await self.restart({ selfAddress });
    expect(await codeOf(selfChat().sendCode())).toBe('self_chat_unknown');
    expect(self.service.texts()).toEqual([]);
  });

  test('writes nothing to a conversation whose id names the owner and whose member is another', async () => {
    const { chats } = self.service;
    chats.sqlite.exec('DELETE FROM chat_handle_join');
    chats.participant(self.chatId(SELF_CHAT), chats.handle('+15550166'));
    expect(await codeOf(selfChat().sendCode())).toBe('self_chat_unknown');
    chats.participant(self.chatId(SELF_CHAT), chats.handle(ME));
    await self.restart();
    expect(await codeOf(selfChat().sendCode())).toBe('self_chat_unknown');
    expect(self.service.texts()).toEqual([]);
  });

  test('ends when somebody else is in the conversation', async () => {
    await self.prove();
    const held = await self.asked();
    self.service.chats.participant(self.chatId(SELF_CHAT), self.service.chats.handle('+15550166'));
    await self.tapback({ on: self.guidOf(held.id) });
    expect(await self.stateOf(held.id)).toBe('held');
    expect(selfChat().get().proved_at).toBeNull();
  });

  test('is refused when the code was not seen in the self-chat', async () => {
    self.service.messages.behave = () => {
      self.service.chats.message({ chat: self.chatId(GARDEN), is_from_me: 1, text: self.service.texts().at(-1) ?? '' });
      return { kind: 'done' };
    };
    const sending = codeOf(selfChat().sendCode());
    await idle();
    await self.service.clock.advance(5000);
    expect(await sending).toBe('self_chat_unseen');
  });

  test('without self.address there is none', async () => {
    await self.restart({ selfAddress: '' });
    expect(await codeOf(selfChat().sendCode())).toBe('self_chat_disabled');
    expect(() => selfChat().get()).toThrow();
    const caller = self.service.caller({ scopes: ['send'], send: '*' });
    expect(await self.service.send(caller, { recipient: ME })).toMatchObject({ confirmed: true });
  });
});

test('of the messages that ask, the newest 2,000 are remembered', () => {
  const store = selfChatStore(self.service.state);
  self.service.state.transaction(() => {
    for (let number = 0; number < 2001; number += 1) {
      store.addQuestion(`guid-${number}`, { questionId: 'q', textHmac: 'h' });
    }
  });
  expect([store.question('guid-0'), store.question('guid-1')]).toEqual([undefined, { questionId: 'q', textHmac: 'h' }]);
});
