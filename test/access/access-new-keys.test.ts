import { expect, test } from '@jest/globals';
import { PosternError } from '../../src/client/postern-client.ts';
import type { Served } from '../../src/core/cli/service-connection.ts';
import { addKey } from '../../src/features/access/cli/keys-commands.ts';

test('no key is made whose secret the command could not print', async () => {
  const made: unknown[] = [];
  const service = {
    environment: { env: {} },
    features: [],
    client: {
      keys: { add: async (key: unknown) => void made.push(key) },
      status: async () => Promise.reject(new PosternError(429, {})),
    },
  } as unknown as Served;
  await expect(addKey('agent', { preset: 'reader', url: 'http://127.0.0.1:9' }, service)).rejects.toMatchObject({
    status: 429,
  });
  expect(made).toEqual([]);
});
