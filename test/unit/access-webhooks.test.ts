import { expect, test } from '@jest/globals';
import { limitedWebhooks } from '../../src/access/limited-webhooks.ts';
import { ReadableChats } from '../../src/access/readable.ts';
import type { ChatDirectory } from '../../src/domain/ports/access-ports.ts';
import type { NewWebhook, WebhookRegistry } from '../../src/domain/ports/webhooks-ports.ts';
import { codeOf } from '../support/access-sending.ts';
import { FakeClock } from '../support/fake-clock.ts';

test.each(['http://admin:s3cret@127.0.0.1:3291/x', 'http://admin@localhost/', 'http:///:s3cret@127.0.0.1/'])(
  'a limited key picks an Authorization header by the address %s',
  async (url) => {
    const added: NewWebhook[] = [];
    const registry = { list: () => [], add: (webhook: NewWebhook) => added.push(webhook) };
    const webhooks = limitedWebhooks({
      webhooks: registry as unknown as WebhookRegistry,
      keyId: 'key',
      hosts: () => [],
      chats: new ReadableChats(() => [], {} as ChatDirectory),
      clock: new FakeClock(),
      note: () => {},
    });
    expect(await codeOf(Promise.resolve(webhooks.add({ url, events: ['message.sent'] })))).toBe(
      'webhook_headers_not_allowed',
    );
    expect(added).toEqual([]);
  },
);
