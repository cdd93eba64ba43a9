import { expect, test } from '@jest/globals';
import type { StoredSubscription, SubscriptionRequest } from '../../src/core/model/subscription.ts';
import { OwnListeners } from '../../src/core/runtime/own-listeners.ts';
import type { LimitedKey } from '../../src/features/access/limited-key.ts';
import { endForbidden, limitedSubscriptions } from '../../src/features/access/limited-subscriptions.ts';
import { codeOf } from '../support/access-sending.ts';
import { ANY_KEY } from '../support/any-key.ts';
import { noSubscriptions, SECRET } from '../support/mcp-events.ts';

const HOSTS = ['hooks.example'];

/** Creates the in-memory subscriptions of a key that may post to one host. */
function subscriptions(ownPorts: readonly number[] = []) {
  const kept: StoredSubscription[] = [];
  const noted: string[] = [];
  const ended: string[] = [];
  const service = {
    ...noSubscriptions,
    of: () => kept,
    subscribe: async (keyId: string, { url, name }: SubscriptionRequest) => {
      const id = `sub_${kept.length + 1}`;
      kept.push({ id, keyId, url, name } as StoredSubscription);
      return { id, refreshBeforeMs: 0, cursor: null, truncated: false, health: undefined };
    },
    remove: (id: string) => void ended.push(id),
    terminate: (keyId: string) => void ended.push(keyId),
  };
  const own = limitedSubscriptions({
    subscriptions: service as never,
    key: () => ({ ...ANY_KEY, callback_hosts: HOSTS }),
    ownListeners: new OwnListeners({
      addresses: () => ownPorts.map((port) => ({ address: '127.0.0.1', family: 'IPv4', port })),
    }),
    note: (target, outcome) => noted.push(`${outcome} ${target}`),
  });
  const subscribe = (url: string) =>
    own.subscribe({
      ...{ name: 'message.received', arguments: {}, url, secret: SECRET },
      ...{ cursor: undefined, maxAgeMs: undefined, ttlMs: undefined },
    });
  return { service, noted, ended, subscribe };
}

test('the first subscription that posts to another machine is in the audit log with its address, and no later one', async () => {
  const { noted, subscribe } = subscriptions();
  await subscribe('http://127.0.0.1:9/own');
  await subscribe('https://hooks.example/a');
  await subscribe('https://hooks.example/b');
  expect(noted).toEqual(['registered sub_1', 'registered sub_2', 'posts_to hooks.example:443', 'registered sub_3']);
});

test('subscriptions to a host end when the owner takes the host away, and all when the key ends', async () => {
  const { service, ended, subscribe } = subscriptions();
  await subscribe('http://127.0.0.1:9/own');
  await subscribe('https://hooks.example/a');
  const key = (hosts: readonly string[], isAlive = true): LimitedKey =>
    ({ stored: { ...ANY_KEY, callback_hosts: hosts }, isAlive: () => isAlive }) as unknown as LimitedKey;
  endForbidden(service as never, key(HOSTS), 0);
  expect(ended).toEqual([]);
  endForbidden(service as never, key([]), 0);
  expect(ended).toEqual(['sub_2']);
  endForbidden(service as never, key(HOSTS, false), 0);
  expect(ended).toEqual(['sub_2', ANY_KEY.id]);
});

test.each(['http://127.0.0.1:3284/mcp', 'http://localhost:3284/', 'http://[::1]:3285/', 'http://127.1:3285/'])(
  'no subscription posts to the service itself at %s',
  async (url) => {
    const { noted, subscribe } = subscriptions([3284, 3285]);
    expect(await codeOf(subscribe(url))).toBe('webhook_not_allowed');
    await subscribe('http://127.0.0.1:9/own');
    expect(noted).toEqual(['registered sub_1']);
  },
);
