import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AccessSending, ANA, BEN, codeOf, GARDEN } from '../support/access-sending.ts';
import type { ChatFixture } from '../support/chat-fixture.ts';
import { failed } from '../support/in-memory-messages.ts';
import { temporaryFolder } from '../support/temporary.ts';

const CLEO = '+15550102';
const OLD = 'any;+;chat100';
const NEW = 'any;+;chat200';
const SCOPES = ['read', 'send'] as const;
let service: AccessSending;
let chats: ChatFixture;
beforeEach(() => {
  const folder = temporaryFolder();
  service = new AccessSending(folder);
  chats = service.chats;
  for (const [guid, members] of [
    [OLD, [ANA, BEN, CLEO]],
    [NEW, [ANA, BEN]],
  ] as const) {
    const chat = chats.chat(guid, members);
    chats.message({ chat, text: `in ${guid}`, handle_id: chats.handle(ANA) });
    chats.insert('chat_lookup', { identifier: 'group-1', domain: guid, chat });
  }
});
afterEach(() => service.close());

type Caller = ReturnType<AccessSending['caller']>;

function keyFor(id: string): Caller {
  return service.caller({ scopes: SCOPES, read: [id], send: [id] });
}

/** What a key reads of a conversation, and how a send to it ends. */
async function rights(caller: Caller, id: string): Promise<readonly unknown[]> {
  const { items } = await caller.reader.listMessages({ conversationId: id, order: 'asc', limit: 2, offset: 0 });
  return [items.map(({ body }) => body), await codeOf(service.send(caller, { recipient: id, body: `to ${id}` }))];
}

function part(): void {
  chats.sqlite.exec(`DELETE FROM chat_lookup WHERE domain = '${NEW}'`);
}

const BOTH = [[`in ${OLD}`, `in ${NEW}`], 'none'];
const NOTHING = [[], 'recipient_not_allowed'];

test.each([OLD, NEW])('a key that lists %s reads all of a joined group and sends to it by both ids', async (listed) => {
  const caller = keyFor(listed);
  for (const id of [OLD, NEW]) expect(await rights(caller, id)).toEqual(BOTH);
});

test('a key that lists another conversation neither reads a joined group nor sends to it', async () => {
  for (const other of [GARDEN, ANA]) {
    const caller = keyFor(other);
    for (const id of [OLD, NEW]) expect(await rights(caller, id)).toEqual(NOTHING);
  }
});

test('once chat_lookup no longer joins them, the id that the list does not have is refused', async () => {
  const caller = keyFor(OLD);
  expect(await rights(caller, NEW)).toEqual(BOTH);
  part();
  expect(await rights(caller, NEW)).toEqual(NOTHING);
});

test('a list that was made before the groups were joined opens all of the group, until they part', async () => {
  part();
  const caller = keyFor(NEW);
  expect(await rights(caller, OLD)).toEqual(NOTHING);
  chats.insert('chat_lookup', { identifier: 'group-1', domain: NEW, chat: chatOf(NEW) });
  expect(await rights(caller, OLD)).toEqual(BOTH);
  part();
  expect(await rights(caller, OLD)).toEqual(NOTHING);
});

test('a send never falls back to an older chat of the group, in which there may be others', async () => {
  service.messages.behave = () => failed(-1728);
  for (const id of [OLD, NEW]) await codeOf(service.send(keyFor(NEW), { recipient: id }));
  const tried = service.messages.runs.map(({ chatId }) => chatId);
  expect(tried).toContain(NEW);
  expect(tried.filter((id) => id?.endsWith('chat100'))).toEqual([]);
});

function chatOf(guid: string): number {
  return Number(chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(guid)?.[0]);
}
