import { expect, test } from '@jest/globals';
import { mayCallBack } from '../../src/core/model/callback-hosts.ts';
import type { ChangedKey } from '../../src/core/model/guests.ts';
import { OwnListeners } from '../../src/core/runtime/own-listeners.ts';
import { endForbidden, limitedSubscriptions } from '../../src/features/mcp/subscriptions/limited-subscriptions.ts';
import type { SubscriptionService } from '../../src/features/mcp/subscriptions/ports.ts';
import type { StoredSubscription } from '../../src/features/mcp/subscriptions/subscription.ts';
import { codeOf } from '../support/access-sending.ts';
import { ANY_KEY } from '../support/any-key.ts';
import { noSubscriptions, SECRET } from '../support/mcp-events.ts';

const HOSTS = ['hooks.example'];

type Subscribing = Parameters<SubscriptionService['subscribe']>;

/** Creates the in-memory subscriptions of a key that may post to one host. */
function subscriptions(ownPorts: readonly number[] = []) {
  const kept: StoredSubscription[] = [];
  const noted: string[] = [];
  const ended: string[] = [];
  const asked: (() => boolean)[] = [];
  let hosts: readonly string[] = HOSTS;
  const service = {
    ...noSubscriptions,
    of: () => kept,
    subscribe: async (...[keyId, { url, name }, , mayPost]: Subscribing) => {
      asked.push(mayPost);
      const id = `sub_${kept.length + 1}`;
      kept.push({ id, keyId, url, name } as StoredSubscription);
      return { id, refreshBeforeMs: 0, cursor: null, truncated: false, health: undefined };
    },
    remove: (id: string) => void ended.push(id),
    terminate: (keyId: string) => void ended.push(keyId),
  };
  const ownListeners = new OwnListeners({
    addresses: () => ownPorts.map((port) => ({ address: '127.0.0.1', family: 'IPv4', port })),
  });
  const own = limitedSubscriptions(
    { subscriptions: service as never, ownListeners },
    {
      keyId: ANY_KEY.id,
      has: (scope) => ANY_KEY.scopes.includes(scope),
      mayCallBack: (url) => mayCallBack(hosts, url),
      noteCallback: (target, outcome) => void noted.push(`${outcome} ${target}`),
    },
  );
  const subscribe = (url: string) =>
    own.subscribe({
      ...{ name: 'message.received', arguments: {}, url, secret: SECRET },
      ...{ cursor: undefined, maxAgeMs: undefined, ttlMs: undefined },
    });
  const forbid = (): void => {
    hosts = [];
  };
  return { service, noted, ended, asked, forbid, subscribe };
}

test('the first subscription that posts to another machine is in the audit log with its address, and no later one', async () => {
  const { noted, subscribe } = subscriptions();
  await subscribe('http://127.0.0.1:9/own');
  await subscribe('https://hooks.example/a');
  await subscribe('https://hooks.example/b');
  expect(noted).toEqual(['registered sub_1', 'registered sub_2', 'posts_to hooks.example:443', 'registered sub_3']);
});

test('a subscription posts to no host that the key may not use, not even to verify it', async () => {
  const { noted, subscribe } = subscriptions();
  expect(await codeOf(subscribe('https://elsewhere.example/a'))).toBe('webhook_not_allowed');
  expect(noted).toEqual([]);
});

test('a host that is taken away while a subscription is verified may not be posted to', async () => {
  const { asked, forbid, subscribe } = subscriptions();
  await subscribe('https://hooks.example/a');
  expect(asked.map((mayPost) => mayPost())).toEqual([true]);
  forbid();
  expect(asked.map((mayPost) => mayPost())).toEqual([false]);
});

test('subscriptions to a host end when the owner takes the host away, and all when the key ends', async () => {
  const { service, ended, subscribe } = subscriptions();
  await subscribe('http://127.0.0.1:9/own');
  await subscribe('https://hooks.example/a');
  const key = (hosts: readonly string[], isAlive = true): ChangedKey => ({
    keyId: ANY_KEY.id,
    isAlive,
    mayCallBack: (url) => mayCallBack(hosts, url),
  });
  endForbidden(service as never, key(HOSTS));
  expect(ended).toEqual([]);
  endForbidden(service as never, key([]));
  expect(ended).toEqual(['sub_2']);
  endForbidden(service as never, key(HOSTS, false));
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
