import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { OwnListeners } from '../../src/core/runtime/own-listeners.ts';
import { type Post, Poster, type PosterParts, type Target } from '../../src/core/webhooks/poster.ts';
import { Receiver } from '../support/receiver.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function newPoster(options: Partial<PosterParts>): Poster {
  const poster = new Poster({ version: '1.2.3', clock: systemClock, retryWaitsMs: [10, 20], ...options });
  closers.push(() => poster.close());
  return poster;
}

async function newReceiver(answer?: Parameters<Receiver['answerWith']>[0]): Promise<Receiver> {
  const receiver = await Receiver.start(answer);
  closers.push(() => receiver.close());
  return receiver;
}

/** Returns a post for the owner; `to` can name the receiver of a key. */
function post(url: string, options: Partial<Post> & { readonly to?: Target } = {}): Post {
  const to = { url, secret: null, previousSecret: null, headers: {}, keyId: null };
  return { to, id: 'one', event: 'message.received', json: '{}', retry: true, ...options };
}

describe('a post for a limited key', () => {
  const key = { keyId: 'key', secret: null, previousSecret: null, headers: {} };

  test('never connects to the service itself, and one of the owner does', async () => {
    const receiver = await newReceiver();
    const { port } = new URL(receiver.url);
    const ownListeners = new OwnListeners({
      addresses: () => [{ address: '127.0.0.1', family: 'IPv4', port: Number(port) }],
    });
    const poster = newPoster({ ownListeners });
    for (const host of ['127.0.0.1', 'localhost', '0.0.0.0', '[::ffff:127.0.0.1]', '2130706433']) {
      const url = `http://${host}:${port}/hook`;
      const result = await poster.send(post(url, { to: { ...key, url } })).result;
      expect(result).toMatchObject({ outcome: 'failed', status: null, error: expect.stringContaining('itself') });
    }
    expect(receiver.deliveries).toEqual([]);
    expect(await poster.send(post(receiver.url)).result).toMatchObject({ outcome: 'delivered' });
  });

  test('looks a name up again before each attempt, on a connection that it shares with nobody', async () => {
    const receiver = await newReceiver((response) => void response.writeHead(503).end());
    const url = receiver.url.replace('127.0.0.1', 'localhost');
    let isOwn = false;
    const ownListeners = new OwnListeners({ addresses: () => [] });
    const changing = Object.assign(ownListeners, {
      hasPort: () => true,
      isNamed: () => false,
      isOwnAddress: () => isOwn,
    });
    const poster = newPoster({ ownListeners: changing });
    await poster.send(post(url, { retry: false })).result;
    const { result } = poster.send(
      post(url, {
        to: { ...key, url },
        onFailure: () => {
          isOwn = true;
        },
      }),
    );
    expect(await result).toMatchObject({ status: null, error: expect.stringContaining('itself') });
    // One of the owner, and the first attempt of the key.
    expect(receiver.deliveries).toHaveLength(2);
  });
});
