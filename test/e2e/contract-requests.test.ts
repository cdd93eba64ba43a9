import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { KEY, Service } from '../support/service.ts';

const home = mkdtempSync(join(tmpdir(), 'postern-contract-'));
const database = new ChatFixture(join(home, 'Library/Messages/chat.db'));
database.message({ chat: database.chat('any;-;+15550100', ['+15550100']), text: 'one' });
let service: Service;

beforeAll(async () => {
  service = await Service.here({ chatDbPath: database.path });
});
afterAll(async () => {
  await service.dispose();
  database.close();
  rmSync(home, { recursive: true, force: true });
});

/** Sends exactly these bytes and returns the answer. */
async function raw(bytes: string): Promise<{ status: number; head: string; body: string }> {
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(service.port, '127.0.0.1', () => socket.write(bytes));
    let all = '';
    socket.on('data', (chunk) => {
      all += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(all));
    socket.on('error', reject);
  });
  const [head = '', ...body] = text.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body: body.join('\r\n\r\n') };
}

const get = (path: string, ...headers: readonly string[]): Promise<{ status: number; head: string; body: string }> =>
  raw(
    [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${service.port}`, 'Connection: close', ...headers, '', ''].join('\r\n'),
  );

describe('the check of Host and Origin', () => {
  test.each(['evil.example', 'evil.example:3001', '127.0.0.1.evil.example', '192.168.0.7'])(
    'a foreign Host (%s) is 403: no page can rebind its name to us',
    async (host) => {
      const { status, body } = await raw(`GET /api/v1/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(status).toBe(403);
      expect(JSON.parse(body)).toMatchObject({ status: 403 });
    },
  );

  test.each(['localhost', '127.0.0.1', '[::1]', 'localhost:9', 'LOCALHOST'])('Host %s is our own', async (host) => {
    expect((await raw(`GET /api/v1/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status).toBe(200);
  });

  test('a foreign Origin, and a request from another site’s page, are 403', async () => {
    expect((await get('/api/v1/health', 'Origin: https://evil.example')).status).toBe(403);
    expect((await get('/api/v1/health', 'Origin: null')).status).toBe(403);
    expect((await get('/api/v1/health', 'Sec-Fetch-Site: cross-site')).status).toBe(403);
    expect((await get('/api/v1/health', 'Sec-Fetch-Site: same-site', 'Sec-Fetch-Mode: no-cors')).status).toBe(403);
    expect((await get('/api/v1/health', `Origin: http://127.0.0.1:${service.port}`)).status).toBe(200);
    const navigation = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document'];
    expect((await get('/api/v1/health', ...navigation)).status).toBe(403);
    expect((await get('/console', ...navigation)).status).toBe(200);
  });
});

describe('malformed requests get their 4xx, and the service stays up', () => {
  test.each([
    ['bad JSON', '{"recipient": ', 400],
    ['an array', '[]', 400],
    ['null', 'null', 400],
    ['nothing', '', 400],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400],
    ['2 MiB', `{"recipient":"x","body":"${'y'.repeat(2 * 1024 * 1024)}"}`, 413],
  ])('a body of %s', async (_name, body, status) => {
    const answer = await service.request('POST', '/messages', {
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ status });
  });

  test('another content type is 415, and a missing one means JSON', async () => {
    const form = await service.request('POST', '/webhooks', { body: 'a=b', headers: { 'content-type': 'text/plain' } });
    expect(form.status).toBe(415);
    const none = await service.request('POST', '/webhooks', { body: new Uint8Array(Buffer.from('{}')) });
    expect(none.status).toBe(400);
  });

  test('wrong methods are 405 and say what is allowed', async () => {
    for (const [method, path, allow] of [
      ['PUT', '/messages', /GET.*POST|POST.*GET/],
      ['DELETE', '/messages/1', /GET/],
      ['POST', '/conversations', /GET/],
      ['PUT', '/webhooks/x', /DELETE/],
      ['POST', '/health', /GET/],
    ] as const) {
      const answer = await service.request(method, path);
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toMatch(allow);
    }
  });

  test('HEAD works where GET does', async () => {
    const answer = await service.request('HEAD', '/messages');
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect((await service.request('HEAD', '/webhooks/x')).status).toBe(404);
  });

  test.each([
    '/api/v1/messages/%zz',
    '/api/v1/messages?since=%zz',
    '/api/v1/conversations/%00',
    '/api/v1/conversations/%ff',
  ])('bad percent-encoding or NUL (%s)', async (path) => {
    expect((await get(path, `X-API-Key: ${KEY}`)).status).toBe(400);
  });

  test('a query string of 100 kB', async () => {
    const { status, body } = await get(`/api/v1/messages?x=${'y'.repeat(100_000)}`, `X-API-Key: ${KEY}`);
    expect(status).toBe(431);
    expect(JSON.parse(body)).toMatchObject({ status: 431 });
  });

  test('bytes that are no HTTP', async () => {
    expect((await raw('\x00\x01\x02 nonsense\r\n\r\n')).status).toBe(400);
  });

  test('it is still up, and nothing was written', async () => {
    expect((await service.get('/health')).status).toBe(200);
    expect((await service.get('/webhooks')).json).toEqual([]);
  });
});

describe('every answer', () => {
  test('carries a request id, the given one if there was one', async () => {
    expect((await service.get('/health')).headers.get('x-request-id')).toMatch(/\S{8,}/);
    expect((await service.get('/health', { 'x-request-id': 'abc-123' })).headers.get('x-request-id')).toBe('abc-123');
    await eventually(() => expect(service.output).toContain('abc-123'));
  });

  test('has the limit and how many requests are left', async () => {
    const { headers } = await service.get('/messages');
    expect(headers.get('ratelimit-policy')).toMatch(/q=1000000;w=60/);
    expect(headers.get('ratelimit')).toMatch(/r=\d+;t=\d+/);
    expect(headers.get('x-powered-by')).toBeNull();
  });

  test('keeps key, bodies and addresses out of the log', async () => {
    await service.get('/messages?conversation_id=any;-;%2B15550100');
    await service.get('/conversations/any;-;%2B15550100');
    await service.post('/messages', { recipient: '+15550100', body: 'a body nobody should log' });
    expect(service.output).not.toContain(KEY);
    expect(service.output).not.toContain('15550100');
    expect(service.output).not.toContain('nobody should log');
  });

  test('configuration and state are readable by their owner alone', () => {
    for (const file of ['config.toml', 'state.db']) {
      expect(statSync(join(service.configFolder, file)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(service.configFolder).mode & 0o777).toBe(0o700);
  });
});

describe('the limit', () => {
  test('60 requests a minute across all endpoints, authenticated or not; the 61st is 429', async () => {
    const limited = await Service.here({
      chatDbPath: database.path,
      settings: { server: { rate_limit_per_minute: 60 } },
    });
    const statuses: number[] = [];
    for (let count = 0; count < 70 && statuses.at(-1) !== 429; count += 1) {
      const path = ['/health', '/messages', '/nothing'][count % 3] ?? '';
      statuses.push((await limited.get(path, count % 2 === 0 ? {} : { 'x-api-key': 'wrong' })).status);
    }
    const refused = await limited.get('/health');
    await limited.dispose();
    expect(statuses.indexOf(429)).toBe(60);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(refused.json).toMatchObject({ status: 429 });
  });
});
