import { describe, expect, test } from '@jest/globals';
import { isPublicAddress } from '../../src/core/runtime/public-address.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { Poster } from '../../src/core/webhooks/poster.ts';
import { mcp } from '../../src/features/mcp/feature.ts';
import { eventually } from '../support/eventually.ts';
import { type Callback, OTHER_SECRET, SECRET, signatureOf } from '../support/mcp-events.ts';
import { arrival } from '../support/memory-log.ts';
import { SubscriptionFixture } from '../support/subscription-fixture.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const rowsAt = ({ events }: Callback): number[] => events.map(({ data }) => Number(data?.id));

/**
 * Advances the clock in steps of `ms` until the assertions hold. Stops it while a post is unanswered: otherwise the
 * post's time would be up before its answer is read, and it would be posted again.
 */
function passing(fixture: SubscriptionFixture, ms: number, assertions: () => void): Promise<void> {
  return eventually(async () => {
    const stepMs = Math.min(ms, 1000);
    for (let passedMs = 0; passedMs < ms && fixture.unanswered === 0; passedMs += stepMs) {
      await fixture.clock.advance(stepMs);
    }
    assertions();
  });
}

describe('a receiver that is not there', () => {
  test.each([429, 502, 503, 504])('is tried until it is, and loses nothing: %d', async (status) => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback((response) => void response.writeHead(status).end());
    await fixture.subscribe(callback);
    fixture.publish(1, 3);
    // More than a refused subscription gets.
    await passing(fixture, 5 * MINUTE, () => expect(callback.events.length).toBeGreaterThan(7));
    expect(new Set(rowsAt(callback))).toEqual(new Set([1]));
    callback.answerWith((response) => void response.writeHead(204).end());
    await passing(fixture, MINUTE, () => expect(rowsAt(callback).slice(-3)).toEqual([1, 2, 3]));
    expect((await fixture.subscribe(callback)).truncated).toBe(false);
  });

  test('is tried at once after a refresh, which says since when it has failed', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback((response) => void response.writeHead(503).end());
    await fixture.subscribe(callback);
    fixture.publish(1);
    await eventually(() => expect([callback.events.length, fixture.unanswered]).toEqual([1, 0]));
    callback.answerWith((response) => void response.writeHead(200).end());
    await fixture.clock.advance(1000);
    expect(callback.events).toHaveLength(1);
    const failing = await fixture.subscribe(callback);
    expect(failing.health).toMatchObject({ lastError: 'http_5xx', failedSinceMs: expect.any(Number) });
    await eventually(() => expect(callback.events).toHaveLength(2));
    await eventually(async () =>
      expect((await fixture.subscribe(callback)).health).toMatchObject({ lastError: null, failedSinceMs: null }),
    );
  });
});

test('events that waited for their receiver are posted as they are by then, and deleted ones never', async () => {
  const fixture = await SubscriptionFixture.start();
  const callback = await fixture.callback((response) => void response.writeHead(503).end());
  await fixture.subscribe(callback);
  fixture.publish(1, 4);
  await eventually(() => expect([callback.events.length, fixture.unanswered]).toEqual([1, 0]));
  for (const rowId of [1, 2]) fixture.messages.rows.delete(rowId);
  fixture.messages.add({ ...arrival(3), event: arrival(33).event });
  callback.answerWith((response) => void response.writeHead(200).end());
  await passing(fixture, MINUTE, () => expect(rowsAt(callback)).toEqual([1, 33, 4]));
});

describe('an event that its receiver refuses', () => {
  test.each([400, 401, 404, 500])(
    'is abandoned after five attempts, and the next refresh says so: %d',
    async (status) => {
      const fixture = await SubscriptionFixture.start();
      const callback = await fixture.callback((response, { data }) =>
        response.writeHead(data?.id === '1' ? status : 200).end(),
      );
      await fixture.subscribe(callback);
      fixture.publish(1, 2);
      await passing(fixture, MINUTE, () => expect(rowsAt(callback)).toEqual([1, 1, 1, 1, 1, 2]));
      expect((await fixture.subscribe(callback)).truncated).toBe(true);
      expect((await fixture.subscribe(callback)).truncated).toBe(false);
    },
  );

  test('is abandoned after five refusals, no matter how long the receiver was away before', async () => {
    const fixture = await SubscriptionFixture.start();
    let posts = 0;
    const callback = await fixture.callback((response, { data }) => {
      posts += 1;
      response.writeHead(data?.id === '2' ? 200 : posts <= 6 ? 503 : 400).end();
    });
    await fixture.subscribe(callback);
    fixture.publish(1, 2);
    await passing(fixture, MINUTE, () => expect(rowsAt(callback).at(-1)).toBe(2));
    expect(rowsAt(callback)).toEqual([...Array.from({ length: 11 }, () => 1), 2]);
  });

  test.each([410, 413])('for good is not posted again, and the subscription stays: %d', async (status) => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback((response, { data }) =>
      response.writeHead(data?.id === '1' ? status : 200).end(),
    );
    await fixture.subscribe(callback);
    fixture.publish(1, 2);
    await eventually(() => expect(rowsAt(callback)).toEqual([1, 2]));
    expect((await fixture.subscribe(callback)).truncated).toBe(true);
  });
});

describe('progress', () => {
  test('survives a restart, which posts only what the receiver had not accepted', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback();
    const { id } = await fixture.subscribe(callback);
    fixture.publish(1, 2);
    await eventually(() => expect(rowsAt(callback)).toEqual([1, 2]));
    await fixture.close();
    fixture.publish(3, 4);
    await fixture.restart();
    await eventually(() => expect(rowsAt(callback)).toEqual([1, 2, 3, 4]));
    // It is already confirmed, and remains the same subscription.
    expect((await fixture.subscribe(callback)).id).toBe(id);
    expect(callback.posted.filter(({ type }) => type === 'verification')).toHaveLength(1);
  });

  test('is the cursor of each body, and a new subscription continues after one', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback();
    await fixture.subscribe(callback);
    fixture.publish(1, 3);
    await eventually(() => expect(callback.events.map(({ cursor }) => cursor)).toEqual(['1', '2', '3']));
    const other = await fixture.callback();
    await fixture.subscribe(other, { cursor: '1' });
    await eventually(() => expect(rowsAt(other)).toEqual([2, 3]));
  });

  test('past messages that the key may not read is made without a post', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback();
    fixture.hidden.add(1);
    await fixture.subscribe(callback);
    fixture.publish(1, 2);
    await eventually(() => expect(rowsAt(callback)).toEqual([2]));
  });

  test('that is lost with a replaced chat.db is reported as a gap', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback();
    await fixture.subscribe(callback);
    fixture.publish(1);
    await eventually(() => expect(rowsAt(callback)).toEqual([1]));
    await fixture.clock.advance(1000);
    cursorStore(fixture.state, [mcp]).restart({ offset: { rowId: 50, change: 0 }, guid: null, inode: '2' });
    fixture.channel.restart({ rowId: 50, change: 0 });
    await eventually(() => expect(callback.posted.at(-1)).toEqual({ type: 'gap', cursor: '50' }));
    const { headers } = callback.receiver.deliveries.at(-1) ?? {};
    expect(headers?.['webhook-id']).toMatch(/^msg_gap_/);
    fixture.publish(51);
    await eventually(() => expect(rowsAt(callback)).toEqual([1, 51]));
  });

  test('that is lost while the service is away is reported too, at the next refresh if the receiver refuses the message', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback((response, { type }) =>
      response.writeHead(type === 'gap' ? 400 : 200).end(),
    );
    await fixture.subscribe(callback);
    await fixture.close();
    cursorStore(fixture.state, [mcp]).restart({ offset: { rowId: 50, change: 0 }, guid: null, inode: '2' });
    await fixture.restart();
    fixture.publish(51);
    await eventually(() => expect(rowsAt(callback)).toEqual([51]));
    expect(callback.posted.filter(({ type }) => type === 'gap')).toHaveLength(1);
    expect((await fixture.subscribe(callback)).truncated).toBe(true);
    expect((await fixture.subscribe(callback)).truncated).toBe(false);
  });
});

describe('the lifetime', () => {
  test.each([
    ['left out', undefined, DAY],
    ['without end', null, DAY],
    ['a week', 7 * DAY, DAY],
    ['a second', 1000, MINUTE],
    ['below zero', -5, MINUTE],
    ['an hour', 60 * MINUTE, 60 * MINUTE],
  ])('%s is granted within a minute and a day', async (_name, ttlMs, granted) => {
    const fixture = await SubscriptionFixture.start();
    const { refreshBeforeMs } = await fixture.subscribe(await fixture.callback(), { ttlMs });
    expect(refreshBeforeMs - fixture.clock.now()).toBe(granted);
  });

  test('over, nothing is posted, and a new subscription is challenged again', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback();
    await fixture.subscribe(callback, { ttlMs: MINUTE });
    await fixture.clock.advance(MINUTE + 1000);
    fixture.publish(1);
    expect(fixture.registry.of('key')).toEqual([]);
    expect(fixture.state.prepare('SELECT count(*) FROM consumer').get()).toEqual([0]);
    const again = await fixture.subscribe(callback, { cursor: '0' });
    expect(again.health).toBeUndefined();
    await eventually(() => expect(rowsAt(callback)).toEqual([1]));
    expect(callback.posted.filter(({ type }) => type === 'verification')).toHaveLength(2);
  });

  test('ends with the key, which is posted once, also to a receiver that does not answer', async () => {
    const fixture = await SubscriptionFixture.start();
    const [callback, silent] = [await fixture.callback(), await fixture.callback(() => {})];
    await fixture.subscribe(callback);
    await fixture.subscribe(silent);
    fixture.registry.terminate('key');
    await eventually(() => expect(callback.posted.at(-1)).toMatchObject({ type: 'terminated' }));
    await eventually(() => expect(silent.posted.at(-1)).toMatchObject({ type: 'terminated' }));
    expect(fixture.registry.of('key')).toEqual([]);
    await fixture.clock.advance(10_000);
    await fixture.close();
    expect(callback.posted.filter(({ type }) => type === 'terminated')).toHaveLength(1);
  });
});

describe('the secret', () => {
  test('before a refresh also signs for an hour', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback();
    await fixture.subscribe(callback);
    await fixture.subscribe(callback, { secret: OTHER_SECRET });
    const signature = () => callback.receiver.deliveries.at(-1)?.headers['webhook-signature'];
    const signed = (...secrets: string[]) => {
      const last = callback.receiver.deliveries.at(-1);
      return last && signatureOf(last, ...secrets);
    };
    fixture.publish(1);
    await eventually(() => expect(callback.events).toHaveLength(1));
    expect(signature()).toBe(signed(OTHER_SECRET, SECRET));
    await passing(fixture, 100, () => expect(fixture.deliveredTo()).toBe(1));
    await fixture.clock.advance(61 * MINUTE);
    fixture.publish(2);
    await eventually(() => expect(callback.events).toHaveLength(2));
    expect(signature()).toBe(signed(OTHER_SECRET));
  });
});

test('more than a key may have are refused before anything is posted', async () => {
  const fixture = await SubscriptionFixture.start();
  const callback = await fixture.callback();
  await fixture.subscribe(callback, {}, 1);
  const more = fixture.subscribe(await fixture.callback(), { arguments: { junk: true } }, 1);
  await expect(more).rejects.toMatchObject({ code: 'too_many_webhooks' });
  // A refresh does not count as another subscription.
  expect((await fixture.subscribe(callback, {}, 1)).health).toBeDefined();
});

test('no subscription begins for a key that lost the right to it while its receiver confirmed', async () => {
  const fixture = await SubscriptionFixture.start();
  const callback = await fixture.callback();
  const url = new URL(callback.url);
  // Leads to this machine, but only if the owner lists it.
  url.hostname = '0.0.0.0';
  const confirming = (lose: () => void): void =>
    callback.receiver.answerWith((response, { body }) => {
      lose();
      response.writeHead(200).end(body);
    });
  fixture.key.callback_hosts = [url.hostname];
  confirming(() => {
    fixture.key.callback_hosts = [];
  });
  await expect(fixture.subscribe({ url: url.href })).rejects.toMatchObject({ code: 'webhook_not_allowed' });
  confirming(() => {
    fixture.isKeyAlive = false;
  });
  await expect(fixture.subscribe(callback)).rejects.toMatchObject({ code: 'unauthorized' });
  fixture.isKeyAlive = true;
  expect(fixture.registry.of('key')).toEqual([]);
});

test('two requests at once for the same subscription make one', async () => {
  const fixture = await SubscriptionFixture.start();
  const callback = await fixture.callback();
  const [one, other] = await Promise.all([fixture.subscribe(callback), fixture.subscribe(callback)]);
  expect(one?.id).toBe(other?.id);
  fixture.publish(1);
  // Another worker would post it a second time.
  fixture.publish(2);
  await eventually(() => expect(rowsAt(callback)).toContain(2));
  expect(rowsAt(callback)).toEqual([1, 2]);
});

describe('an address inside', () => {
  test('of this machine or its network, or reserved, is not public', () => {
    const inside = [
      ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.16.0.1', '192.168.1.1'],
      ...['198.18.0.1', '203.0.113.9', '224.0.0.1', '255.255.255.255', '::', '::1', '::ffff:10.0.0.1', 'fe80::1'],
      ...['fc00::1', 'fd12::1', '64:ff9b::a00:1', '2001:db8::1', '2002:a00:1::', '2001::1', 'not an address'],
    ];
    expect(inside.filter(isPublicAddress)).toEqual([]);
    const outside = ['8.8.8.8', '172.32.0.1', '192.167.1.1', '2606:4700::1111', '2a00:1450::1'];
    expect(outside.filter((address) => !isPublicAddress(address))).toEqual([]);
  });

  test('is not connected to when a name leads there', async () => {
    const fixture = await SubscriptionFixture.start();
    const callback = await fixture.callback();
    const asked: string[] = [];
    const poster = new Poster({
      version: '1',
      clock: fixture.clock,
      isAddressAllowed: (host, address) => {
        asked.push(`${host} ${address}`);
        return false;
      },
    });
    const url = callback.url.replace('127.0.0.1', 'localhost');
    const to = { url, secret: null, previousSecret: null, headers: {}, keyId: null };
    const { result } = poster.send({ to, id: 'a', event: 'b', json: '{}', retry: false });
    expect(await result).toMatchObject({ outcome: 'failed', error: expect.stringContaining('private address') });
    expect(asked[0]).toMatch(/^localhost /);
    expect(callback.posted).toEqual([]);
    poster.close();
  });
});
