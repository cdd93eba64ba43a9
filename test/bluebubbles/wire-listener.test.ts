import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { problem } from '../../src/core/model/problems.ts';
import type { Wire } from '../../src/features/bluebubbles/wire.ts';
import { ANY_KEY, LIMITED_KEY } from '../support/any-key.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { HttpGateway } from '../support/http-gateway.ts';
import { listenForWire } from '../support/wire.ts';

/** A protocol that echoes the request. */
const ECHO: Wire = {
  keyNames: ['password'],
  find: ({ path }) => {
    if (path[0] === 'forbidden') throw problem('scope_missing', { needs: 'the scope send' });
    return {
      takesForm: path[0] === 'form',
      answer: async ({ query, body }) => ({ status: 200, body: { path, query: [...query], body } }),
    };
  },
  failure: ({ status, code }) => ({ status, body: { failed: code } }),
};

const gateways: HttpGateway[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close();
});

async function start(options: Parameters<typeof HttpGateway.start>[0] = {}): Promise<{ readonly url: string }> {
  const gateway = await HttpGateway.start({ limited: ANY_KEY, ...options });
  gateways.push(gateway);
  return { url: await listenForWire(gateway.server, ECHO) };
}

/** Makes a request with exactly these headers. Of those that browsers set, `fetch` replaces some. */
async function ask(url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const sent = httpRequest(url, { agent: false, headers });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

test('wrong keys wait for a second, 32 at once, and the next ones are refused at once', async () => {
  const clock = new FakeClock();
  const { url } = await start({ clock });
  const statuses: number[] = [];
  const asked = Array.from({ length: 40 }, async (_, n) => statuses.push(await ask(`${url}/x?password=wrong${n}`)));
  await eventually(() => expect(statuses).toHaveLength(8));
  await clock.advance(999);
  expect(statuses).toHaveLength(8);
  await clock.advance(1);
  await Promise.all(asked);
  expect(new Set(statuses)).toEqual(new Set([401]));
  expect(statuses).toHaveLength(40);
});

test('wrong keys count in the one limit of the API', async () => {
  const clock = new FakeClock();
  const { url } = await start({ settings: { rateLimitPerMinute: 4 }, clock });
  const right = `${url}/x?password=${LIMITED_KEY}`;
  expect(await ask(right)).toBe(200);
  const wrong = [1, 2, 3].map(() => ask(`${url}/x?password=wrong`));
  await eventually(() => expect(clock.pending).toBeGreaterThanOrEqual(3));
  // The second request of a key that may make two.
  expect(await ask(right)).toBe(429);
  await clock.advance(1000);
  await Promise.all(wrong);
});

test('requests of a key count in its half of the limit', async () => {
  const { url } = await start({ settings: { rateLimitPerMinute: 4 } });
  const right = `${url}/x?password=${LIMITED_KEY}`;
  expect([await ask(right), await ask(right)]).toEqual([200, 200]);
  // The third of four.
  expect(await ask(right)).toBe(429);
});

test('what a web page loads, and where it sends the person, is refused and not counted', async () => {
  const { url } = await start({ settings: { rateLimitPerMinute: 2 } });
  const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  for (const headers of [navigation, { 'sec-fetch-mode': 'no-cors' }]) {
    for (const site of ['cross-site', 'same-site']) {
      expect(await ask(`${url}/x?password=${LIMITED_KEY}`, { 'sec-fetch-site': site, ...headers })).toBe(403);
    }
  }
  expect(await ask(`${url}/x?password=${LIMITED_KEY}`)).toBe(200);
});

test('requests that continue an earlier one count neither for the key nor for the owner', async () => {
  const gateway = await HttpGateway.start({ limited: ANY_KEY, settings: { rateLimitPerMinute: 4 } });
  gateways.push(gateway);
  const find: Wire['find'] = ({ path }) => ({
    takesForm: false,
    answer: async () => ({ status: 200, isUncounted: path[0] === 'next' }),
  });
  const url = await listenForWire(gateway.server, { ...ECHO, find });
  const key = `?password=${LIMITED_KEY}`;
  expect(await ask(`${url}/first${key}`)).toBe(200);
  for (let page = 0; page < 10; page += 1) expect(await ask(`${url}/next${key}`)).toBe(200);
  expect([await ask(`${url}/first${key}`), await ask(`${url}/first${key}`)]).toEqual([200, 429]);
  expect((await gateway.get('/api/v1/status')).headers.ratelimit).toContain('"default";r=1;');
});

test('the key does not reach the protocol, nor the log', async () => {
  const { url } = await start();
  const answer = await fetch(`${url}/a%2Fb/c?password=${LIMITED_KEY}&x=1`);
  expect(await answer.json()).toEqual({ path: ['a/b', 'c'], query: [['x', '1']] });
  expect(JSON.stringify(gateways[0]?.log)).not.toContain(LIMITED_KEY);
});

test.each([
  ['%ff', 400],
  ['%00', 400],
  ['a/../b', 200],
])('a path %s is answered with %p', async (path, status) => {
  const { url } = await start();
  expect(await ask(`${url}/${path}?password=${LIMITED_KEY}`)).toBe(status);
});

test('a defect is an error of the protocol without its words', async () => {
  const gateway = await HttpGateway.start({ limited: ANY_KEY });
  gateways.push(gateway);
  const find = () => ({
    takesForm: false,
    answer: () => Promise.reject(new Error('the password is hunter2')),
  });
  const url = await listenForWire(gateway.server, { ...ECHO, find });
  const { status, text } = await fetch(`${url}/x?password=${LIMITED_KEY}`).then(async (one) => ({
    status: one.status,
    text: await one.text(),
  }));
  expect([status, text]).toEqual([500, '{"failed":"internal_error"}']);
});

test('a request that its key may not make is refused before its body arrives', async () => {
  const { url } = await start();
  const sent = httpRequest(`${url}/forbidden?password=${LIMITED_KEY}`, {
    agent: false,
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': 100_000_000 },
  });
  sent.on('error', () => {});
  sent.write('--x\r\n');
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(403);
  sent.destroy();
});

test('a form is read only where the protocol takes one', async () => {
  const { url } = await start();
  const form = new FormData();
  form.set('name', 'value');
  const post = (path: string) => fetch(`${url}/${path}?password=${LIMITED_KEY}`, { method: 'POST', body: form });
  expect((await post('other')).status).toBe(415);
  expect(await (await post('form')).json()).toMatchObject({ body: { name: 'value' } });
});
