import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import type { Conversation } from '../../src/core/model/conversation.ts';
import type { ListedAttachment } from '../../src/core/model/listed-attachment.ts';
import { AccessFixture, ANA, BEN, GARDEN, WORDS } from '../support/access-fixture.ts';
import { appleNs } from '../support/chat-fixture.ts';
import { nextOf } from '../support/next-page.ts';
import { type Answer, KEY } from '../support/service.ts';

const ANA_CHAT = `any;-;${ANA}`;
const BEN_CHAT = `any;-;${BEN}`;
let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await AccessFixture.start();
});
afterAll(() => fixture.dispose());

const client = () => new PosternClient({ url: fixture.service.url.replace(/\/api\/v1$/, ''), key: KEY });
const ids = (answer: Answer) => (answer.json as Conversation[]).map(({ id }) => id);

/** Writes a message with files, later than all others. */
let second = 0;
function write(chat: string, files: number): number {
  second += 1;
  const date = appleNs(`2026-02-01T00:00:${String(second).padStart(2, '0')}Z`);
  const message = fixture.chats.message({ chat: fixture.chatIds[chat] ?? 0, text: 'later', is_from_me: 1, date });
  for (let n = 0; n < files; n += 1) fixture.chats.attach(message, `/nowhere/${message}-${n}.jpg`);
  return message;
}

describe('conversations page by page', () => {
  const pages = async (get: (path: string) => Promise<Answer>, between: () => void = () => {}) => {
    const seen: string[] = [];
    for (let path: string | undefined = '/conversations?limit=2&cursor='; path !== undefined; ) {
      const answer: Answer = await get(path);
      expect(answer.status).toBe(200);
      seen.push(...ids(answer));
      path = nextOf(answer);
      between();
    }
    return seen;
  };

  test('none comes twice when an old one gets a message between two pages, as it does by offset', async () => {
    const all = ids(await fixture.service.get('/conversations'));
    let isWritten = false;
    const seen = await pages(
      (path) => fixture.service.get(path),
      () => {
        if (!isWritten) write(all.at(-1) ?? '', 0);
        isWritten = true;
      },
    );
    // The one that moved to the beginning is ahead of the cursor.
    expect(seen).toEqual(all.slice(0, -1));
    expect(await pages((path) => fixture.service.get(path))).toEqual([all.at(-1), ...all.slice(0, -1)]);
  });

  test('a limited key gets its own to the last, with a list and with everything', async () => {
    for (const read of ['*', [ANA, BEN, GARDEN]] as const) {
      const agent = await fixture.key({ scopes: ['read'], read });
      const whole = ids(await agent.get('/conversations'));
      expect(whole.length).toBeGreaterThan(2);
      expect(await pages(agent.get)).toEqual(whole);
      expect((await agent.get('/conversations?cursor=x')).json).toMatchObject({ code: 'invalid_cursor' });
    }
  });

  test('the typed client follows the pages by itself', async () => {
    const seen: string[] = [];
    for await (const { id } of client().allConversations()) seen.push(id);
    expect(seen).toEqual(ids(await fixture.service.get('/conversations')));
  });
});

describe('attachments of a conversation', () => {
  const path = `/conversations/${encodeURIComponent(BEN_CHAT)}/attachments`;

  test('come newest first without those of others, those of one message together, page by page', async () => {
    const album = write(BEN_CHAT, 3);
    write(ANA_CHAT, 1);
    write(BEN_CHAT, 0);
    const single = write(BEN_CHAT, 1);
    const first = await fixture.service.get(`${path}?limit=2`);
    const places = (first.json as ListedAttachment[]).map(({ message_id, n }) => [message_id, n]);
    expect(places).toEqual([[String(single), 0], ...[0, 1, 2].map((n) => [String(album), n])]);
    expect((first.json as ListedAttachment[])[0]).toMatchObject({
      sender: expect.any(String),
      is_from_me: true,
      name: `${single}-0.jpg`,
      state: 'missing',
    });
    const last = await fixture.service.get(nextOf(first) ?? '');
    expect((last.json as ListedAttachment[]).map(({ name }) => name)).toEqual([`${WORDS[BEN_CHAT]}.txt`]);
    expect(nextOf(last)).toBeUndefined();
    const names: string[] = [];
    for await (const { name } of client().attachments.inConversation(BEN_CHAT)) names.push(name);
    expect(names).toHaveLength(5);
  });

  test('of a conversation that a key may not read do not exist for it', async () => {
    const agent = await fixture.key({ scopes: ['read'], read: [ANA] });
    const refused = await agent.get(path);
    expect([refused.status, (refused.json as { code: string }).code]).toEqual([404, 'conversation_not_found']);
    const own = await agent.get(path.replace(encodeURIComponent(BEN_CHAT), encodeURIComponent(ANA_CHAT)));
    expect(own.text).toContain(WORDS[ANA_CHAT]);
  });
});
