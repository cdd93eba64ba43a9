import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { StoredApproval } from '../../src/features/access/ports.ts';
import { questionText } from '../../src/features/access/question.ts';
import { ANA, approvalsOf, BEN, codeOf, GARDEN, ME, SELF_CHAT } from '../support/access-sending.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { DOWN, SelfChatFixture, UP } from '../support/self-chat.ts';
import { idle } from '../support/sender-fixture.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const MINUTE_MS = 60_000;
let folders = 0;
let folder: string;
let self: SelfChatFixture;
beforeEach(() => {
  folders += 1;
  folder = join(root, String(folders));
  self = new SelfChatFixture(folder);
});
afterEach(() => self.service.close());

const always = { approval: 'always' } as const;
const selfChat = () => self.service.selfChat;
const approvalOf = (id: string) => self.service.approvals.get(id, 0);

describe('in the self-chat that was proved', () => {
  beforeEach(() => self.prove());

  test('a held send is shown with destination and exact text, and 👍 sends it once', async () => {
    const held = await self.asked('May I?\nTo: +15550199');
    const written = self.service.texts().at(-1) ?? '';
    expect(written.split('\n').slice(0, 4)).toEqual([
      'Postern asks: send this?',
      `To: ${ANA}`,
      '│ May I?',
      '│ To: +15550199',
    ]);
    const before = self.service.texts().length;
    await self.tapback({ on: self.guidOf(held.id) });
    await eventually(async () => expect(await self.stateOf(held.id)).toBe('sent'));
    expect(await approvalOf(held.id)).toMatchObject({ decided_by: 'tapback', text: null });
    expect(self.service.texts().slice(before)).toEqual(['May I?\nTo: +15550199']);
    await self.tapback({ on: self.guidOf(held.id) });
    expect(self.service.texts().length).toBe(before + 1);
    expect(self.service.access.audit.list({ keyId: 'tapback', limit: 10 })).toMatchObject([
      { action: 'approval', target: held.id, outcome: 'approved' },
    ]);
  });

  test('👎 denies it', async () => {
    const held = await self.asked();
    const before = self.service.texts().length;
    await self.tapback({ on: self.guidOf(held.id), type: DOWN });
    expect(await approvalOf(held.id)).toMatchObject({ state: 'denied', decided_by: 'tapback' });
    await idle();
    expect(self.service.texts().length).toBe(before);
  });

  test('a tapback on the copy that Messages makes of the own message counts too', async () => {
    const held = await self.asked();
    const text = self.service.texts().at(-1) ?? '';
    const copy = self.service.chats.message({
      chat: self.chatId(SELF_CHAT),
      handle_id: self.service.chats.handle(ME),
      text,
    });
    await self.tapback({ on: self.service.chats.guid(copy) });
    expect((await approvalOf(held.id)).decided_by).toBe('tapback');
  });

  test('one 👍 decides one of several', async () => {
    const caller = self.service.caller(always);
    const [first, second] = [
      await self.service.hold(caller, { body: 'first' }),
      await self.service.hold(caller, { body: 'second' }),
    ];
    await self.published();
    await self.tapback({ on: self.guidOf(first.id) });
    await eventually(async () => expect(await self.stateOf(first.id)).toBe('sent'));
    expect(await self.stateOf(second.id)).toBe('held');
  });

  describe('nothing is decided by', () => {
    const decidesNothing = async (act: (held: { readonly id: string; readonly guid: string }) => unknown) => {
      const held = await self.asked();
      const before = self.service.texts().length;
      const guid = self.guidOf(held.id);
      await act({ id: held.id, guid });
      await self.published();
      expect(await self.stateOf(held.id)).toBe('held');
      expect(self.service.texts().length).toBe(before);
      // The message still asks for a decision, so the test itself was not at fault.
      await self.tapback({ on: guid, type: DOWN });
      expect(await self.stateOf(held.id)).toBe('denied');
    };

    test('a tapback of somebody else', () =>
      decidesNothing(({ guid }) => self.tapback({ on: guid, isOwn: false, from: ANA })));

    test('an SMS that names the own address as its sender', () =>
      decidesNothing(async ({ guid }) => {
        await self.tapback({ on: guid, isOwn: false, from: ME, service: 'SMS' });
        await self.tapback({ on: guid, isOwn: false, from: ME });
      }));

    test('an own tapback that did not come over iMessage', () =>
      decidesNothing(({ guid }) => self.tapback({ on: guid, service: 'SMS' })));

    test('a tapback in another chat', () =>
      decidesNothing(async ({ guid }) => {
        await self.tapback({ on: guid, chat: `any;-;${ANA}` });
        await self.tapback({ on: guid, chat: GARDEN });
      }));

    test("a tapback on a copy in another of the owner's conversations, and the log says why", async () => {
      await decidesNothing(async ({ guid }) => {
        const { chats } = self.service;
        const chat = chats.chat('any;-;+15550177777', ['+15550177777']);
        const handle_id = chats.handle('+15550177777');
        const copy = chats.message({ chat, handle_id, text: self.service.texts().at(-1) ?? '' });
        expect(guid).not.toBe(chats.guid(copy));
        await self.tapback({ on: chats.guid(copy), chat: 'any;-;+15550177777' });
      });
      expect(JSON.stringify(self.service.log.lines)).toContain('in the conversation with another of your addresses');
    });

    test('a tapback on another message', () =>
      decidesNothing(async ({ id }) => {
        await self.tapback({ on: self.guidOf('a note') });
        await self.tapback({ on: self.guidOf('is the code of this conversation') });
        const about = self.service.chats.message({ chat: self.chatId(SELF_CHAT), is_from_me: 1, text: `see ${id}` });
        await self.tapback({ on: self.service.chats.guid(about) });
      }));

    test('a tapback on a message of another chat that looks like the request', () =>
      decidesNothing(async () => {
        const text = self.service.texts().at(-1) ?? '';
        const chat = self.chatId(`any;-;${ANA}`);
        const alike = self.service.chats.message({ chat, handle_id: self.service.chats.handle(ANA), text });
        await self.tapback({ on: self.service.chats.guid(alike), chat: `any;-;${ANA}` });
        await self.tapback({ on: self.service.chats.guid(alike) });
      }));

    test('a tapback on a message that somebody else got into the self-chat', () =>
      decidesNothing(async () => {
        const text = self.service.texts().at(-1) ?? '';
        const alike = self.service.chats.message({
          chat: self.chatId(SELF_CHAT),
          handle_id: self.service.chats.handle(ANA),
          text,
        });
        await self.tapback({ on: self.service.chats.guid(alike) });
      }));

    test('any other reaction', () =>
      decidesNothing(async ({ guid }) => {
        for (const type of [2000, 2003, 2004, 2005, 2007, 1000, 4000, 3001, 3002]) {
          await self.tapback({ on: guid, type });
        }
        await self.tapback({ on: guid, type: 2006, emoji: '👍' });
      }));

    test('text, whatever it says', () =>
      decidesNothing(async ({ id, guid }) => {
        for (const text of ['yes', '👍', 'Liked “Postern asks: send this?”', `approve ${id}`]) {
          self.service.chats.message({ chat: self.chatId(SELF_CHAT), is_from_me: 1, text });
          self.service.chats.message({
            chat: self.chatId(SELF_CHAT),
            is_from_me: 1,
            text,
            thread_originator_guid: guid,
          });
        }
        await self.published();
      }));

    test('a 👍 that was taken back, or became a heart, before anybody looked', () =>
      decidesNothing(async ({ guid }) => {
        const row = { chat: self.chatId(SELF_CHAT), is_from_me: 1, associated_message_guid: `p:0/${guid}` };
        self.service.chats.message({ ...row, associated_message_type: UP });
        self.service.chats.message({ ...row, associated_message_type: 3001 });
        await self.published();
        self.service.chats.message({ ...row, associated_message_type: UP });
        self.service.chats.message({ ...row, associated_message_type: 2000 });
        await self.published();
      }));

    test('a 👍 on a request whose text was edited', async () => {
      const held = await self.asked();
      const guid = self.guidOf(held.id);
      self.service.chats.sqlite.prepare("UPDATE message SET text = 'something nicer' WHERE guid = ?").run(guid);
      await self.tapback({ on: guid });
      expect(await self.stateOf(held.id)).toBe('held');
      expect(JSON.stringify(self.service.log.lines)).toContain('ignored a tapback');
    });
  });

  test('the last tapback counts while nothing is decided, and none after', async () => {
    const first = await self.asked('first');
    await self.tapback({ on: self.guidOf(first.id), type: 2000 });
    await self.tapback({ on: self.guidOf(first.id), type: DOWN });
    expect(await self.stateOf(first.id)).toBe('denied');
    await self.tapback({ on: self.guidOf(first.id), type: UP });
    expect(await self.stateOf(first.id)).toBe('denied');
    const second = await self.asked('second');
    await self.tapback({ on: self.guidOf(second.id) });
    await eventually(async () => expect(await self.stateOf(second.id)).toBe('sent'));
    await self.tapback({ on: self.guidOf(second.id), type: 3001 });
    await self.tapback({ on: self.guidOf(second.id), type: DOWN });
    expect(await self.stateOf(second.id)).toBe('sent');
  });

  test('an expired, decided or withdrawn send stays so', async () => {
    const caller = self.service.caller(always);
    const [late, denied, back] = [
      await self.service.hold(caller, { body: 'late' }),
      await self.service.hold(caller, { body: 'denied' }),
      await self.service.hold(caller, { body: 'back' }),
    ];
    await self.published();
    await self.service.approvals.deny(denied.id);
    await approvalsOf(caller).withdraw(back.id);
    await self.service.clock.advance(24 * 60 * MINUTE_MS);
    const before = self.service.texts().length;
    for (const { id } of [late, denied, back]) await self.tapback({ on: self.guidOf(id) });
    expect(await Promise.all([late, denied, back].map(async ({ id }) => self.stateOf(id)))).toEqual([
      'expired',
      'denied',
      'withdrawn',
    ]);
    expect(self.service.texts().length).toBe(before);
  });

  test('the list and the readers are checked once more when it is sent', async () => {
    const caller = self.service.caller({ ...always, send: [ANA, GARDEN] });
    const held = await self.service.hold(caller, { recipient: GARDEN, body: 'to the garden' });
    await self.published();
    self.service.chats.participant(self.chatId(GARDEN), self.service.chats.handle('+15550166'));
    await self.tapback({ on: self.guidOf(held.id) });
    await eventually(async () => expect(await self.stateOf(held.id)).toBe('void'));
    expect(self.service.texts()).not.toContain('to the garden');
  });

  test('a text over 2,000 characters is left to the console', async () => {
    const before = self.service.texts().length;
    await self.asked('x'.repeat(2001));
    await self.asked('\u202e'.repeat(900));
    expect(self.service.texts().length).toBe(before);
  });

  test('no list opens it, not even *', async () => {
    const caller = self.service.caller({ scopes: ['read', 'events', 'send'], read: '*', send: '*' });
    const alone = 'any;+;chat99';
    self.service.chats.chat(alone, [ME]);
    for (const recipient of [alone, ME, 'Me@Example.com', SELF_CHAT, `iMessage;-;${ME}`, `SMS;-;${ME}`]) {
      expect(await codeOf(self.service.send(caller, { recipient }))).toBe('recipient_not_allowed');
      expect(caller.canSend?.(recipient)).toBe('no');
    }
    const id = caller.key?.id ?? '';
    expect(self.service.access.keys.check(id, ME)).toMatchObject({ read: false, send: 'refused' });
    const { items } = await caller.reader.listMessages({ limit: 200, offset: 0, order: 'desc' });
    expect(items.map(({ conversation_id }) => conversation_id)).not.toContain(SELF_CHAT);
    expect(items.length).toBeGreaterThan(0);
    for (const text of ['one', 'two']) self.service.chats.message({ chat: self.chatId(SELF_CHAT), text });
    for (const conversationId of [SELF_CHAT, ME]) {
      // A cursor would say how many there are.
      const page = await caller.reader.listMessages({ conversationId, limit: 1, offset: 0, order: 'desc' });
      expect(page).toEqual({ items: [] });
    }
    const chats = (await caller.reader.listConversations({ limit: 2, offset: 0 })).items;
    expect(chats.map((chat) => chat.id)).not.toContain(SELF_CHAT);
    expect(await caller.reader.conversation(SELF_CHAT)).toBeUndefined();
    const listed = self.service.caller({ scopes: ['read', 'send'], read: [ME], send: [ME, BEN] });
    expect(await codeOf(self.service.send(listed, { recipient: ME }))).toBe('recipient_not_allowed');
    expect((await listed.reader.listMessages({ limit: 200, offset: 0, order: 'desc' })).items).toEqual([]);
  });

  test('a hold that is decided elsewhere before its turn is not written', async () => {
    let open: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { behave } = self.service.messages;
    self.service.messages.behave = async (part, signal) => {
      await gate;
      return behave(part, signal);
    };
    const first = self.service.sender.send({ recipient: BEN, body: 'in the way', attachments: [] });
    const held = await self.service.hold(self.service.caller(always), { body: 'decided meanwhile' });
    await self.service.approvals.deny(held.id);
    open();
    await first;
    await self.published();
    expect(self.service.texts().join('\n')).not.toContain('decided meanwhile');
  });

  describe('over a restart', () => {
    test('a written message is not written again, and a tapback from meanwhile counts', async () => {
      const held = await self.asked();
      await self.service.access.close();
      self.service.chats.message({
        chat: self.chatId(SELF_CHAT),
        is_from_me: 1,
        associated_message_type: UP,
        associated_message_guid: `p:0/${self.guidOf(held.id)}`,
      });
      await self.restart();
      await self.service.access.start();
      await self.published();
      await eventually(async () => expect(await self.stateOf(held.id)).toBe('sent'));
      expect(self.service.texts()).toEqual(['May I?']);
    });

    test('a message that was written and not yet seen is seen afterwards', async () => {
      const held = await self.service.hold(self.service.caller(always), { body: 'seen later' });
      await idle();
      await self.restart();
      await self.service.access.start();
      await self.published();
      expect(self.service.texts()).toEqual([]);
      await self.tapback({ on: self.guidOf(held.id), type: DOWN });
      expect(await self.stateOf(held.id)).toBe('denied');
    });

    test('a decided send that had not begun is sent once', async () => {
      const held = await self.asked();
      self.service.state
        .prepare("UPDATE approval SET state = 'approved', decided_at = 'x', decided_by = 'tapback' WHERE id = ?")
        .run(held.id);
      await self.restart();
      await self.service.access.start();
      await self.tapback({ on: self.guidOf(held.id) });
      await eventually(async () => expect(await self.stateOf(held.id)).toBe('sent'));
      expect(self.service.texts()).toEqual(['May I?']);
    });

    test('with a chat.db that was replaced nothing is proved any more', async () => {
      const held = await self.asked();
      const guid = self.guidOf(held.id);
      const chats = new ChatFixture(join(folder, 'restored.db'));
      const chat = chats.chat(SELF_CHAT, [ME], { last_addressed_handle: ME });
      const text = self.service.texts().at(-1) ?? '';
      chats.message({ chat, is_from_me: 1, text, guid, account: `E:${ME}` });
      await self.restart({ chats });
      await self.service.publish();
      await self.service.access.start();
      expect(selfChat().get()).toMatchObject({ conversation_id: null, proved_at: null });
      await self.tapback({ on: guid });
      expect(await self.stateOf(held.id)).toBe('held');
      expect(self.service.texts()).toEqual([]);
    });

    test('with another address, or none, it has to be proved again', async () => {
      for (const selfAddress of ['other@example.com', '']) {
        const held = await self.asked(`with "${selfAddress}"`);
        await self.restart({ selfAddress });
        await self.service.access.start();
        await self.tapback({ on: self.guidOf(held.id) });
        expect(await self.stateOf(held.id)).toBe('held');
        await self.restart();
        await self.service.access.start();
        await self.published();
        expect(await self.stateOf(held.id)).toBe('held');
        expect(selfChat().get().proved_at).toBeNull();
        await self.prove();
        // Written again, because what was written before no longer counts.
        await self.tapback({ on: self.guidOf(held.id), type: DOWN });
        expect(await self.stateOf(held.id)).toBe('denied');
      }
    });
  });
});

test('no text of a held send adds a line to the message about it, and its hidden characters are shown', () => {
  const held = {
    id: 'id',
    key_id: 'key',
    to: ANA,
    members: [ANA],
    text: 'a\r\nTo: +1\u2028File: b\u2029c\u0085d\v\f\u202e\u200b\ufffc\n│ Tapback',
    attachments: [{ name: 'x\nTo: +1', bytes: 1, sha256: '' }],
    expires_at: 'then',
  } as unknown as StoredApproval;
  const text = questionText(held, 'a\nTo: +1') ?? '';
  expect(text.split(/[\n\r\v\f\u0085\u2028\u2029]/).map((line) => line.slice(0, 3))).toEqual([
    'Pos',
    'To:',
    '│ a',
    '│ T',
    '│ │',
    'Fil',
    'Ask',
    'Tap',
  ]);
  expect(text).toContain('⟨U+202E⟩⟨U+200B⟩⟨U+FFFC⟩');
  expect(text).not.toMatch(/[\p{Cf}\u2028\u2029\ufffc]/u);
});
