import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { KEY } from '../support/http-gateway.ts';

const open = closedAfterEach((...given: Parameters<typeof FeatureGateway.start>) => FeatureGateway.start(...given));

const HEALTH = '/api/v1/health';
const LIST = '/api/v1/messages';

describe('the key', () => {
  test('is required everywhere except for the health of the service', async () => {
    const gateway = await open();
    for (const path of [
      LIST,
      '/api/v1/webhooks',
      '/api/v1/ws',
      '/api/v1/nothing',
      '/api/v1',
      '/metrics',
      '/mcp',
      `${HEALTH}x`,
    ]) {
      const answer = await gateway.get(path, { key: false });
      expect(answer).toMatchObject({ status: 401, json: { code: 'unauthorized' } });
      expect(answer.headers['www-authenticate']).toBeTruthy();
    }
    expect((await gateway.get(HEALTH, { key: false })).status).toBe(200);
    expect((await gateway.call('HEAD', HEALTH, { key: false })).status).toBe(200);
    expect((await gateway.call('POST', HEALTH, { key: false })).status).toBe(401);
  });

  test('missing or wrong, the answer is the same', async () => {
    const gateway = await open();
    const id = { 'x-request-id': 'same' };
    const missing = await gateway.get(LIST, { key: false, headers: id });
    for (const wrong of ['', 'x', `${KEY.slice(0, -1)}2`, 'a'.repeat(5000)]) {
      const answer = await gateway.get(LIST, { key: false, headers: { ...id, 'x-api-key': encode(wrong) } });
      expect(answer.status).toBe(401);
      expect(answer.text).toBe(missing.text);
    }
  });

  test('given twice is no key', async () => {
    const gateway = await open();
    const key = encode(KEY);
    expect((await gateway.get(LIST, { key: false, headers: { 'x-api-key': [key, key] } })).status).toBe(401);
    expect((await gateway.get(LIST, { key: false, headers: { 'x-api-key': [key, 'x'] } })).status).toBe(401);
  });

  test('of the WebSocket is in its query, with a plus as a plus or as a space', async () => {
    const gateway = await open({ apiKey: 'a b+c' });
    for (const key of ['a+b%2Bc', 'a%20b+c', 'a%20b%2Bc']) {
      const answer = await gateway.get(`/api/v1/ws?api_key=${key}`, { key: false });
      expect(answer).toMatchObject({ status: key === 'a%20b+c' || key.includes('%2B') ? 426 : 401 });
      expect(answer.headers.upgrade).toBe('websocket');
    }
    for (const query of [
      '',
      '?api_key=',
      '?api_key=%zz',
      '?api_key=a%20b%2Bc&api_key=a%20b%2Bc',
      '?API_KEY=a%20b%2Bc',
    ]) {
      expect((await gateway.get(`/api/v1/ws${query}`, { headers: { 'x-api-key': 'a b+c' } })).status).toBe(401);
    }
    expect((await gateway.call('POST', '/api/v1/ws?api_key=a%20b%2Bc')).status).toBe(405);
    expect((await gateway.get(`${LIST}?api_key=a%20b%2Bc`, { key: false })).status).toBe(401);
  });
});

describe('what is outside the API', () => {
  const PATHS = [
    '/nothing',
    '/x/%zz',
    '/API/v1/health',
    '/api',
    '/api/v2/messages',
    '/api/v1x',
    '//api/v1/messages',
    '/%61pi/v1/messages',
    '/metrics/',
    '/robots.txt',
  ];

  test('is 404 with a key and without, in the same words, and is not counted', async () => {
    const gateway = await open({ settings: { rateLimitPerMinute: 1 } });
    for (const path of PATHS) {
      const answers = [await gateway.get(path), await gateway.get(path, { key: false }), await gateway.post(path, {})];
      for (const answer of answers) expect(answer).toMatchObject({ status: 404, json: { code: 'not_found' } });
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers[0]?.headers.ratelimit).toBeUndefined();
    }
    expect((await gateway.get(HEALTH)).status).toBe(200);
  });

  test('still comes after the check of Host and Origin', async () => {
    const gateway = await open();
    expect((await gateway.get('/nothing', { headers: { host: 'evil.example' } })).status).toBe(403);
    expect((await gateway.get('/', { headers: { origin: 'http://evil.example' } })).status).toBe(403);
  });

  test('begins with the console, for a browser', async () => {
    const gateway = await open({ settings: { rateLimitPerMinute: 1 } });
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const browser = await gateway.get('/', { key: false, headers: { accept } });
    expect(browser).toMatchObject({ status: 302, headers: { location: './console', vary: 'Accept' } });
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      expect((await gateway.get('/', { key: false, headers })).status).toBe(404);
    }
    expect((await gateway.get(HEALTH)).status).toBe(200);
  });
});

describe('the limit', () => {
  test('counts every request, known or not, with or without a key, and says what is left', async () => {
    const gateway = await open({ settings: { rateLimitPerMinute: 4 } });
    const answers = [
      await gateway.get(HEALTH, { key: false }),
      await gateway.get(LIST, { key: false }),
      await gateway.get('/api/v1/nothing'),
      await gateway.get('/api/v1/%zz'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 400]);
    expect(answers.map(({ headers }) => headers.ratelimit)).toEqual(
      [3, 2, 1, 0].map((left) => expect.stringMatching(`^"default";r=${left};t=(60|5[0-9])$`)),
    );
    for (const path of [HEALTH, LIST, '/api/v1/nothing']) {
      const answer = await gateway.get(path);
      expect(answer).toMatchObject({ status: 429, json: { code: 'rate_limited' } });
      expect(answer.headers['ratelimit-policy']).toBe('"default";q=4;w=60');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    }
  });

  test('does not count what the check of Host and Origin refused, nor open pages', async () => {
    const gateway = await open({ settings: { rateLimitPerMinute: 1 } });
    for (const headers of [
      { host: 'evil.example' },
      { origin: 'http://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      expect((await gateway.get(LIST, { headers })).status).toBe(403);
      expect((await gateway.get('/console', { headers })).status).toBe(403);
    }
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
      for (const path of [LIST, HEALTH, '/mcp', '/api/v1/unknown', '/unknown', '/console/sign-in']) {
        expect([path, (await gateway.get(path, { headers, key: false })).status]).toEqual([path, 403]);
      }
      expect((await gateway.get('/console', { headers, key: false })).status).toBe(200);
    }
    expect((await gateway.get('/console', { key: false })).status).toBe(200);
    expect((await gateway.get(LIST)).status).toBe(200);
    expect((await gateway.get(LIST)).status).toBe(429);
  });
});

describe('the check of Host and Origin', () => {
  test.each([
    'localhost',
    'localhost:1',
    '127.0.0.1:3001',
    '[::1]:3001',
    '[::1]',
    'LocalHost',
    'mac.example',
    'MAC.example:99',
    'nas:8080',
  ])('lets the name %s in', async (host) => {
    const gateway = await open({ settings: { allowedHosts: ['mac.example', 'nas:8080'] } });
    expect((await gateway.get(LIST, { headers: { host } })).status).toBe(200);
  });

  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.2',
    '[::2]',
    'localhost@evil',
    'nas',
    'nas:81',
    '127.0.0.1.nip.io',
  ])('turns the name %j away', async (host) => {
    const gateway = await open({ settings: { allowedHosts: ['mac.example', 'nas:8080'] } });
    const answer = await gateway.get(HEALTH, { headers: { host } });
    expect(answer).toMatchObject({ status: 403, json: { code: 'host_not_allowed' } });
    expect(answer.headers.ratelimit).toBeUndefined();
  });

  test('asks for exactly one name', async () => {
    const gateway = await open();
    expect(await gateway.raw(`GET ${LIST} HTTP/1.1\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 400 /);
    const two = 'Host: localhost\r\nhOst: evil.example\r\n';
    expect(await gateway.raw(`GET ${HEALTH} HTTP/1.1\r\n${two}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 400 /);
    expect(await gateway.raw(`GET ${LIST} HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1.1 403 /);
    expect(await gateway.raw(`GET ${LIST} HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 403 /);
  });

  test('does not look at the name when the service is bound to every address', async () => {
    const gateway = await open({}, '0.0.0.0');
    expect(gateway.url).toBe(`http://127.0.0.1:${gateway.port}`);
    expect((await gateway.get(LIST, { headers: { host: 'mac.local:3001' } })).status).toBe(200);
    expect((await gateway.get(LIST, { headers: { origin: 'http://evil.example' } })).status).toBe(403);
    expect(await gateway.raw(`GET ${LIST} HTTP/1.1\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 400 /);
  });

  test.each(['::1', '::ffff:127.0.0.1'])('looks at the name when the service is bound to %s', async (address) => {
    const gateway = await open({}, address);
    const asked = httpRequest({ host: address, port: gateway.port, path: HEALTH, headers: { host: 'evil.example' } });
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(403);
  });

  test('knows its own pages', async () => {
    const gateway = await open();
    const own = { host: 'localhost:3001', origin: 'http://localhost:3001', 'sec-fetch-site': 'same-origin' };
    const answer = await gateway.get(LIST, { headers: own });
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    expect((await gateway.get(LIST, { headers: { host: 'localhost:80', origin: 'http://localhost' } })).status).toBe(
      200,
    );
  });

  test.each([
    'null',
    'http://localhost',
    'https://localhost:3001',
    'http://localhost:3001/',
    'http://evil.example',
    '',
  ])('turns the page of %j away', async (origin) => {
    const gateway = await open();
    const answer = await gateway.get(HEALTH, { headers: { host: 'localhost:3001', origin } });
    expect(answer).toMatchObject({ status: 403, json: { code: 'origin_not_allowed' } });
  });

  test('refuses what a strange page loads and where it sends the person, except open pages', async () => {
    const gateway = await open();
    const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    for (const site of ['cross-site', 'same-site', '', 'cross-site, none', 'something-new']) {
      const status = async (headers: Record<string, string>, method = 'GET') =>
        (await gateway.call(method, LIST, { headers: { 'sec-fetch-site': site, ...headers } })).status;
      expect(await status({})).toBe(403);
      expect(await status({ 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' })).toBe(403);
      expect(await status({ ...navigation, 'sec-fetch-dest': 'iframe' })).toBe(403);
      expect(await status(navigation, 'POST')).toBe(403);
      expect(await status(navigation)).toBe(403);
    }
    for (const site of ['none', 'same-origin']) {
      expect((await gateway.get(LIST, { headers: { 'sec-fetch-site': site } })).status).toBe(200);
    }
  });
});

describe('a listed page', () => {
  const page = { origin: 'https://home.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };

  test('may ask and read the answer, refusals too', async () => {
    const gateway = await open({ settings: { allowedOrigins: ['https://home.example'] } });
    for (const answer of [
      await gateway.get(LIST, { headers: page }),
      await gateway.get(LIST, { headers: page, key: false }),
    ]) {
      expect([200, 401]).toContain(answer.status);
      expect(answer.headers).toMatchObject({ 'access-control-allow-origin': 'https://home.example', vary: 'Origin' });
      for (const name of ['Link', 'Location', 'RateLimit', 'X-Request-Id', 'Retry-After']) {
        expect(answer.headers['access-control-expose-headers']).toContain(name);
      }
    }
  });

  test('has its preflight answered after the limit and before the key', async () => {
    const gateway = await open({ settings: { allowedOrigins: ['https://home.example'], rateLimitPerMinute: 2 } });
    const headers = { ...page, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' };
    const answer = await gateway.call('OPTIONS', LIST, { headers, key: false });
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers['access-control-allow-methods']).toContain('DELETE');
    expect(answer.headers['access-control-allow-headers']).toMatch(/X-API-Key.*Authorization.*, \*$/);
    expect(answer.headers['access-control-allow-origin']).toBe('https://home.example');
    expect(answer.headers['access-control-max-age']).toBe('600');
    expect((await gateway.call('OPTIONS', LIST, { headers: page, key: false })).status).toBe(401);
    expect((await gateway.call('OPTIONS', LIST, { headers, key: false })).status).toBe(429);
  });

  test('is no help to an unlisted one', async () => {
    const gateway = await open({ settings: { allowedOrigins: ['https://home.example'] } });
    const headers = { origin: 'https://away.example', 'access-control-request-method': 'GET' };
    const answer = await gateway.call('OPTIONS', LIST, { headers, key: false });
    expect(answer.status).toBe(403);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    const unnamed = { headers: { 'access-control-request-method': 'GET' }, key: false };
    expect((await gateway.call('OPTIONS', LIST, unnamed)).status).toBe(401);
  });
});

describe('every answer', () => {
  test('forbids guessing its type and keeping it, and carries an id', async () => {
    const gateway = await open();
    const calls = [gateway.get(LIST), gateway.get(LIST, { key: false }), gateway.get(LIST, { headers: { host: 'x' } })];
    for (const { headers } of await Promise.all(calls)) {
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers).not.toHaveProperty('x-powered-by');
    }
  });

  test("carries the client's own id when that is harmless", async () => {
    const gateway = await open();
    const given = async (id: string) =>
      (await gateway.get(LIST, { headers: { 'x-request-id': id } })).headers['x-request-id'];
    expect(await given('trace:4bf9/2f3577b3-4da6.A_1')).toBe('trace:4bf9/2f3577b3-4da6.A_1');
    for (const id of ['', 'a b', '<script>', '"x"', 'x'.repeat(129), 'ü']) {
      expect(await given(id)).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

function encode(key: string): string {
  return Buffer.from(key).toString('latin1');
}
