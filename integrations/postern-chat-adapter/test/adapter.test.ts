import { createHmac } from 'node:crypto';
import { connectWebhookContract, createMockChatInstance } from '@chat-adapter/tests';
import { expect, test, vi } from 'vitest';
import { createPosternAdapter, type PosternMessage } from '../src/index.ts';

const SECRET = 'a secret of these tests';
const CONVERSATION = 'any;-;+15550100';
const MESSAGE: PosternMessage = {
  ...{ id: '7', conversation_id: CONVERSATION, sender: '+15550100', body: 'Kettle?\ufffc', attachments: ['/a/b.jpg'] },
  ...{ timestamp: '2026-11-22T10:00:00Z', is_from_me: false },
};
const options = { url: 'http://127.0.0.1:9', key: 'k' };

function posted(body: string, secret = SECRET, timestamp = Math.floor(Date.now() / 1000)): Request {
  const signature = createHmac('sha256', secret).update(`1.${timestamp}.${body}`).digest('base64');
  const headers = { 'webhook-id': '1', 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` };
  return new Request('http://localhost/', { method: 'POST', headers, body });
}

const event = (data: PosternMessage = MESSAGE): string => JSON.stringify({ type: 'message.received', data });

connectWebhookContract({
  name: 'postern',
  createAdapter: ({ webhookVerifier }) => createPosternAdapter({ ...options, webhookVerifier }),
  createAdapterWithSecretAndVerifier: ({ webhookVerifier }) =>
    createPosternAdapter({ ...options, webhookSecret: SECRET, webhookVerifier }),
  makeWebhookRequest: () => new Request('http://localhost/', { method: 'POST', body: event() }),
});

test('a signed message is handed to the bot, once', async () => {
  const adapter = createPosternAdapter({ ...options, webhookSecret: SECRET });
  const chat = createMockChatInstance();
  await adapter.initialize(chat);
  expect((await adapter.handleWebhook(posted(event()))).status).toBe(200);
  const [, threadId, message] = vi.mocked(chat.processMessage).mock.calls[0] ?? [];
  expect([threadId, message]).toMatchObject([
    adapter.encodeThreadId(CONVERSATION),
    { id: '7', text: 'Kettle?', author: { userId: '+15550100', isMe: false }, attachments: [{ name: 'b.jpg' }] },
  ]);
});

test('nothing else is', async () => {
  const adapter = createPosternAdapter({ ...options, webhookSecret: SECRET });
  const chat = createMockChatInstance();
  await adapter.initialize(chat);
  for (const wrong of [
    posted(event(), 'another'),
    posted(event(), SECRET, 1),
    new Request('http://x/', { method: 'POST' }),
  ]) {
    expect((await adapter.handleWebhook(wrong)).status).toBe(401);
  }
  await adapter.handleWebhook(posted(JSON.stringify({ type: 'message.sent', data: MESSAGE })));
  expect(chat.processMessage).not.toHaveBeenCalled();
});

test('an id of a conversation survives as a thread, whatever is in it', () => {
  const adapter = createPosternAdapter({ ...options, webhookSecret: SECRET });
  for (const id of [CONVERSATION, 'any;+;chat831204427719003214', 'iMessage;-;ana@example.com', 'any;-;:é']) {
    expect(adapter.decodeThreadId(adapter.encodeThreadId(id))).toBe(id);
  }
  expect(adapter.isDM(adapter.encodeThreadId(CONVERSATION))).toBe(true);
  expect(adapter.isDM(adapter.encodeThreadId('any;+;chat1'))).toBe(false);
});

test('an adapter without a secret is refused', () => {
  expect(() => createPosternAdapter(options)).toThrow('webhookSecret');
});
