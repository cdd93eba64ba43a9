import { expect, test } from '@jest/globals';
import { PosternError } from '../../src/client/postern-client.ts';
import type { Served } from '../../src/core/cli/service-connection.ts';
import { addWebhook } from '../../src/features/client-commands/webhook-settings-commands.ts';

test('a webhook that was registered counts, although the service cannot send the test event', async () => {
  const printed: string[] = [];
  const service = {
    environment: { platform: 'darwin' },
    client: {
      addWebhook: async () => ({ id: 'w1' }),
      testWebhook: async () => Promise.reject(new PosternError(429, { detail: 'Too many requests.' })),
    },
    answer: (_value: unknown, ...lines: readonly string[]) => void printed.push(...lines),
    stderr: (...lines: readonly string[]) => void printed.push(...lines),
  } as unknown as Served;
  await addWebhook('http://192.168.1.9/', {}, service);
  expect(printed).toContain('Webhook w1 registered. It receives events from now on.');
  expect(printed.at(-1)).toContain('It was not sent: ');
});
