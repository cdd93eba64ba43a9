import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import WebSocket, { WebSocketServer } from 'ws';
import type { AcceptWebSocket } from '../../src/core/http/server.ts';
import type { SendResult } from '../../src/core/model/ports/sending-ports.ts';
import { invalidRequest } from '../../src/core/model/problems.ts';
import { ANY_KEY, LIMITED_KEY } from '../support/any-key.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { HttpGateway, KEY, MESSAGE } from '../support/http-gateway.ts';

const open = closedAfterEach((...given: Parameters<typeof HttpGateway.start>) => HttpGateway.start(...given));

const sent: SendResult = { confirmed: true, message: MESSAGE, replayed: false };

function deferred<Value>() {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe('the server', () => {
  test('passes on that its port is taken', async () => {
    const gateway = await open();
    const other = await open();
    await other.close();
    await expect(other.server.listen('127.0.0.1', gateway.port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  test('closing finishes running requests, announces the end to their clients, and accepts no more', async () => {
    const gateway = await open();
    const running = deferred<SendResult>();
    gateway.sender.answer = () => running.promise;
    const agent = new Agent({ keepAlive: true });
    const request = httpRequest(`${gateway.url}/api/v1/messages`, {
      agent,
      method: 'POST',
      headers: { 'x-api-key': Buffer.from(KEY).toString('latin1') },
    });
    request.end(Buffer.from('{"recipient":"a","body":"b"}'));
    await eventually(() => expect(gateway.sender.sent.length).toBe(1));
    let isClosed = false;
    const closed = gateway.server.close(10_000).then(() => {
      isClosed = true;
    });
    await expect(gateway.get('/api/v1/health')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(isClosed).toBe(false);
    running.resolve(sent);
    const [response] = (await once(request, 'response')) as [
      { statusCode: number; headers: Record<string, string>; resume(): void },
    ];
    expect(response.statusCode).toBe(201);
    expect(response.headers.connection).toBe('close');
    response.resume();
    await closed;
    await gateway.server.close(10_000);
    agent.destroy();
  });

  test('closing does not wait for an idle connection, nor longer than its limit', async () => {
    const clock = new FakeClock();
    const gateway = await open({ clock });
    const never = deferred<SendResult>();
    gateway.sender.answer = () => never.promise;
    const idle = connect(gateway.port, '127.0.0.1');
    idle.write('GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(idle, 'data');
    const stuck = gateway.post('/api/v1/messages', { recipient: 'a', body: 'b' });
    const cutOff = expect(stuck).rejects.toMatchObject({ code: 'ECONNRESET' });
    await eventually(() => expect(gateway.sender.sent.length).toBe(1));
    const closed = gateway.server.close(5000);
    idle.resume();
    await once(idle, 'close');
    await clock.advance(5000);
    await closed;
    await cutOff;
  });

  test('does not cut off a send that takes longer than a request may', async () => {
    const gateway = await open({ timeouts: { headersMs: 1000, requestMs: 1000, checkMs: 50 } });
    const running = deferred<SendResult>();
    gateway.sender.answer = () => running.promise;
    const answer = gateway.post('/api/v1/messages', { recipient: 'a', body: 'b' });
    await eventually(() => expect(gateway.sender.sent.length).toBe(1));
    const other = await gateway.raw('GET /');
    expect(other).toMatch(/^HTTP\/1.1 408 /);
    running.resolve(sent);
    expect((await answer).status).toBe(201);
  });

  test('answers a client that closed its own side once it had asked', async () => {
    const gateway = await open();
    const running = deferred<SendResult>();
    gateway.sender.answer = () => running.promise;
    const client = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    const head = `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\nContent-Length: 28\r\n\r\n`;
    const finished = once(client, 'finish');
    client.end(`${head}{"recipient":"a","body":"b"}`);
    let answer = '';
    client.on('data', (chunk) => (answer += String(chunk)));
    const ended = once(client, 'end');
    await eventually(() => expect(gateway.sender.sent.length).toBe(1));
    // A later request has been answered, so the end has arrived.
    await finished;
    await gateway.get('/api/v1/health');
    running.resolve(sent);
    await ended;
    expect(answer).toMatch(/^HTTP\/1.1 201 /);
  });

  test('a client that leaves before its answer leaves nothing behind', async () => {
    const gateway = await open();
    const running = deferred<SendResult>();
    gateway.sender.answer = () => running.promise;
    const client = connect(gateway.port, '127.0.0.1');
    const head = `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\nContent-Length: 28\r\n\r\n`;
    client.write(`${head}{"recipient":"a","body":"b"}`);
    await eventually(() => expect(gateway.sender.sent.length).toBe(1));
    client.resetAndDestroy();
    const closed = gateway.server.close(60_000);
    running.resolve(sent);
    await closed;
  });
});

describe('a WebSocket handshake', () => {
  const hub = new WebSocketServer({ noServer: true });
  const welcome: AcceptWebSocket = (request, socket, head, query) => {
    if (query.get('after') === 'x') {
      throw invalidRequest([{ pointer: '?after', message: 'The row id is not a number.' }]);
    }
    hub.handleUpgrade(request, socket, head, (client) => client.send(`after=${query.get('after')}`));
  };

  /** Returns the first frame, or the status and body of the refusal. */
  async function knock(gateway: HttpGateway, query: string, headers: Record<string, string> = {}) {
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/api/v1/ws${query}`, { headers });
    try {
      return await new Promise<unknown>((resolve, reject) => {
        socket.on('message', (data) => resolve((data as Buffer).toString()));
        socket.on('error', reject);
        socket.on('unexpected-response', (_request, response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode, headers: response.headers, json: JSON.parse(text) as unknown });
          });
        });
      });
    } finally {
      socket.terminate();
    }
  }
  const key = `?api_key=${encodeURIComponent(KEY)}`;

  test('with the key is handed over, with its query', async () => {
    const gateway = await open({ acceptWebSocket: welcome });
    expect(await knock(gateway, `${key}&after=7`)).toBe('after=7');
    expect(gateway.log.lines.at(-1)?.fields).toMatchObject({ route: '/api/v1/ws', status: 101 });
    expect(JSON.stringify(gateway.log.lines)).not.toContain('api_key');
  });

  test('without it is 401 before the upgrade', async () => {
    const gateway = await open({ acceptWebSocket: welcome });
    for (const query of ['', '?api_key=', '?api_key=wrong', '?api_key=%zz']) {
      expect(await knock(gateway, query, { 'x-api-key': Buffer.from(KEY).toString('latin1') })).toMatchObject({
        status: 401,
        json: { code: 'unauthorized' },
        headers: { 'content-type': 'application/problem+json', connection: 'close' },
      });
    }
  });

  test('is refused as the WebSocket side says, and by a malformed query', async () => {
    const gateway = await open({ acceptWebSocket: welcome });
    expect(await knock(gateway, `${key}&after=x`)).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: '?after' }] },
    });
    expect(await knock(gateway, `${key}&after=%zz`)).toMatchObject({ status: 400 });
    const broken = await open({
      acceptWebSocket: () => {
        throw new TypeError('inside');
      },
    });
    expect(await knock(broken, key)).toMatchObject({ status: 500 });
  });

  test('is counted, and refused when there were too many', async () => {
    const gateway = await open({ acceptWebSocket: welcome, settings: { rateLimitPerMinute: 2 } });
    expect(await knock(gateway, key)).toBe('after=null');
    expect(await knock(gateway, '?api_key=wrong')).toMatchObject({ status: 401 });
    expect(await knock(gateway, key)).toMatchObject({ status: 429, headers: { 'retry-after': expect.any(String) } });
  });

  test('of a limited key counts towards its share like its requests, and needs the scope for events', async () => {
    const limits = { acceptWebSocket: welcome, settings: { rateLimitPerMinute: 6 } };
    const gateway = await open({ ...limits, limited: ANY_KEY });
    const limited = `?api_key=${LIMITED_KEY}`;
    expect(await knock(gateway, limited)).toBe('after=null');
    const { headers } = await gateway.get('/api/v1/messages', { key: false, headers: { 'x-api-key': LIMITED_KEY } });
    expect(headers.ratelimit).toMatch(/"key";r=1;/);
    expect(await knock(gateway, limited)).toBe('after=null');
    expect(await knock(gateway, limited)).toMatchObject({ status: 429 });
    const reader = await open({ ...limits, limited: { ...ANY_KEY, scopes: ['read'] } });
    expect(await knock(reader, limited)).toMatchObject({ status: 403 });
  });

  test('may come from any page with the key; from a strange one without it, it is not even counted', async () => {
    const gateway = await open({ acceptWebSocket: welcome, settings: { rateLimitPerMinute: 1 } });
    for (const headers of [{ origin: 'http://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]) {
      const refusal = await knock(gateway, '?api_key=wrong', headers);
      expect(refusal).toMatchObject({ status: 401 });
      expect((refusal as { headers: object }).headers).not.toHaveProperty('ratelimit');
    }
    expect(await knock(gateway, key, { origin: 'http://evil.example' })).toBe('after=null');
  });

  test('under a foreign host name is 403', async () => {
    const gateway = await open({ acceptWebSocket: welcome });
    expect(await knock(gateway, key, { host: 'evil.example' })).toMatchObject({ status: 403 });
  });

  test('elsewhere is a request like any other', async () => {
    const gateway = await open({ acceptWebSocket: welcome });
    const headers = { connection: 'Upgrade', upgrade: 'websocket' };
    expect((await gateway.get('/api/v1/messages', { headers })).status).toBe(200);
    expect((await gateway.get('/api/v1/nothing', { headers })).status).toBe(404);
    expect((await gateway.call('POST', `/api/v1/ws${key}`, { headers })).status).toBe(405);
    expect((await gateway.get(`/api/v1/ws${key}`, { headers: { ...headers, upgrade: 'h2c' } })).status).toBe(426);
  });
});
