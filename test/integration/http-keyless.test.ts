import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';

const PAGE = '/docs/swagger-ui-bundle.js';
const CONNECTIONS = 20;
const ON_EACH = 40;
const MOST = 256;

let gateway: FeatureGateway;
let clients: Socket[];
beforeEach(async () => {
  gateway = await FeatureGateway.start({ settings: { rateLimitPerMinute: 1000 } });
  clients = [];
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await gateway.close();
});

const limitLeft = async (): Promise<number> => {
  const { headers } = await gateway.get('/api/v1/messages');
  return Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1]);
};

/**
 * Takes all places by requesting a page without reading the answers. The kernel buffers some of them; the requests
 * behind them on the same connection wait.
 */
async function fill(): Promise<void> {
  const one = `GET ${PAGE} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  for (let connection = 0; connection < CONNECTIONS; connection += 1) {
    const client = connect(gateway.port, '127.0.0.1', () => client.pause());
    client.on('error', () => {});
    clients.push(client);
    client.write(one.repeat(ON_EACH));
  }
  await eventually(async () => expect((await gateway.get('/favicon.ico', { key: false })).status).toBe(503));
}

describe('requests without a key whose answers nobody reads', () => {
  test('are at most 256, and the next is refused and counted, no matter what it requests', async () => {
    await fill();
    const before = await limitLeft();
    for (const path of ['/console', '/openapi.json', '/api/v1/health', '/nowhere', '/api/v1/messages']) {
      const answer = await gateway.get(path, { key: false });
      expect([path, answer.status, answer.json]).toEqual([
        path,
        503,
        expect.objectContaining({ code: 'too_many_without_key' }),
      ]);
      expect([answer.headers['retry-after'], answer.headers.connection]).toEqual(['5', 'close']);
    }
    expect(await limitLeft()).toBe(before - 6);
  });

  test('leave everybody with a key their answers', async () => {
    await fill();
    expect((await gateway.get('/api/v1/messages')).status).toBe(200);
    expect((await gateway.post('/api/v1/messages', { recipient: 'a', body: 'x' })).status).toBe(201);
  });

  test("leave the owner's programs at the Unix socket their answers, with a key or without", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'postern-keyless-'));
    try {
      const socketPath = join(folder, 's');
      await gateway.server.listenOnSocket(socketPath);
      await fill();
      const status = await new Promise((resolve, reject) => {
        const asked = request({ socketPath, path: '/api/v1/health', headers: { host: 'localhost' } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        asked.once('error', reject).end();
      });
      expect(status).toBe(200);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('make room when their connections are gone, and when they are read', async () => {
    await fill();
    for (const client of clients) client.destroy();
    await eventually(async () => expect((await gateway.get('/api/v1/health', { key: false })).status).toBe(200));
    for (let count = 0; count < MOST + 10; count += 1) await gateway.get('/favicon.ico', { key: false });
    expect((await gateway.get('/api/v1/health', { key: false })).status).toBe(200);
  });
});
