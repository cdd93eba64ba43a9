import { expect, test } from '@jest/globals';
import { mayCallBack } from '../../src/core/model/callback-hosts.ts';
import type { AccessList } from '../../src/core/model/key.ts';
import type { ChatDirectory } from '../../src/core/model/ports/directory-ports.ts';
import type { NewWebhook, WebhookRegistry } from '../../src/core/model/ports/webhooks-ports.ts';
import { problem } from '../../src/core/model/problems.ts';
import { OwnListeners } from '../../src/core/runtime/own-listeners.ts';
import { limitedWebhooks } from '../../src/features/access/limited-webhooks.ts';
import { ReadableChats } from '../../src/features/access/readable.ts';
import { codeOf } from '../support/access-sending.ts';
import { FakeClock } from '../support/fake-clock.ts';

const ANA = '+15550100';
const CHAT = `any;-;${ANA}`;
const DIRECTORY = {
  version: () => 1,
  conversationOf: () => CHAT,
  chatsOfRows: (rowIds: readonly number[]) => new Map(rowIds.map((rowId) => [rowId, [CHAT]])),
  chat: (guid: string) => ({ guid, isGroup: false, members: [ANA] }),
} as Partial<ChatDirectory> as ChatDirectory;

/** Returns the webhooks of a key at a service that listens on two ports, and what the key registered. */
function webhooksOf(hosts: readonly string[] = [], read: AccessList = []) {
  const added: (NewWebhook & { readonly id: string; readonly keyId: string })[] = [];
  const registry = {
    list: () => added,
    get: (id: string) => added.find((one) => one.id === id),
    add: (webhook: NewWebhook) => {
      const stored = { ...webhook, id: String(added.length), keyId: 'key' };
      added.push(stored);
      return stored;
    },
    change: () => Promise.reject(new Error('not used')),
    detailedDeliveries: async () => [{ id: '1', message: { id: '7', conversation_id: CHAT, text: 'hello' } }],
  };
  const ownListeners = new OwnListeners({
    addresses: () => [3284, 3285].map((port) => ({ address: '127.0.0.1', family: 'IPv4', port })),
  });
  ownListeners.addHost('messages.example');
  const key = { isAlive: true };
  const webhooks = limitedWebhooks(
    { owner: { webhooks: registry as unknown as WebhookRegistry }, ownListeners, host: { clock: new FakeClock() } },
    new ReadableChats(() => read, DIRECTORY),
    { keyId: 'key', mayCallBack: (url) => mayCallBack(hosts, url), noteCallback: () => {} },
    () => {
      if (!key.isAlive) throw problem('limited_key_refused');
    },
  );
  return { webhooks, added, key };
}

test.each(['http://admin:s3cret@127.0.0.1:3291/x', 'http://admin@localhost/', 'http:///:s3cret@127.0.0.1/'])(
  'a limited key picks an Authorization header by the address %s',
  async (url) => {
    const { webhooks, added } = webhooksOf();
    expect(await codeOf(Promise.resolve(webhooks.add({ url, events: ['message.sent'] })))).toBe(
      'webhook_headers_not_allowed',
    );
    expect(added).toEqual([]);
  },
);

test.each([
  'http://127.0.0.1:3284/api/v1/x',
  'http://127.0.0.1:3285/',
  'http://127.8.9.10:3284/',
  'http://localhost:3284/',
  'http://localhost.:3284/',
  'http://LOCALHOST:3284/',
  'http://[::1]:3284/',
  'http://[::ffff:127.0.0.1]:3284/',
  'http://[::]:3284/',
  'http://0.0.0.0:3284/',
  'http://0:3284/',
  'http://2130706433:3284/',
  'http://0177.0.0.1:3284/',
  'http://0x7f.1:3284/',
  'http://127.1:3284/',
  'http://１２７.0.0.1:3284/',
  'https://messages.example/mcp',
])('a limited key neither registers a webhook at the service itself, %s, nor moves one there', async (url) => {
  const hosts = ['localhost', '[::ffff:7f00:1]', '[::]', '0.0.0.0', 'messages.example'];
  const { webhooks, added } = webhooksOf(hosts);
  const refused = { url, events: ['message.sent'] } as const;
  expect(await codeOf(Promise.resolve(webhooks.add(refused)))).toBe('webhook_not_allowed');
  expect(added).toEqual([]);
  const { id } = await webhooks.add({ ...refused, url: 'http://127.0.0.1:3286/' });
  expect(await codeOf(Promise.resolve(webhooks.change(id, { url })))).toBe('webhook_not_allowed');
});

test('a key that is revoked while the host of its webhook is looked up leaves no webhook', async () => {
  const { webhooks, added, key } = webhooksOf();
  const adding = webhooks.add({ url: 'http://127.0.0.1:3286/', events: ['message.sent'] });
  key.isAlive = false;
  expect(await codeOf(Promise.resolve(adding))).toBe('unauthorized');
  expect(added).toEqual([]);
});

test.each<[AccessList, string | undefined]>([
  [[{ address: ANA }], 'hello'],
  [[], undefined],
])('a delivery shows a key that may read %j the text %j of its message', async (read, text) => {
  const { webhooks } = webhooksOf([], read);
  const { id } = await webhooks.add({ url: 'http://127.0.0.1:3286/', events: ['message.sent'] });
  const [delivery] = await webhooks.detailedDeliveries(id);
  expect(delivery?.message?.text).toBe(text);
});
