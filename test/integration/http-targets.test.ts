import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import type { ReceiveWire } from '../../src/core/http/server.ts';
import { ANY_KEY as LIMITED, LIMITED_KEY } from '../support/any-key.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { KEY } from '../support/http-gateway.ts';

const open = closedAfterEach((...given: Parameters<typeof FeatureGateway.start>) => FeatureGateway.start(...given));

const LIST = '/api/v1/messages';
const OWN = `X-API-Key: ${Buffer.from(KEY).toString('latin1')}\r\n`;

/** Sends a head, and returns the status and the text of the answer. */
async function send(to: number, line: string, headers = ''): Promise<{ status: number; text: string }> {
  const socket = connect(to, '127.0.0.1');
  socket.write(Buffer.from(`${line}\r\n${headers}Connection: close\r\n\r\n`, 'latin1'));
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text };
}

describe('a target in absolute form', () => {
  test.each([
    [`GET http://localhost${LIST}?limit=1 HTTP/1.1`, 200],
    [`GET HTTP://LOCALHOST:3001${LIST} HTTP/1.1`, 200],
    [`GET https://127.0.0.1${LIST} HTTP/1.1`, 200],
    [`GET http://localhost${LIST} HTTP/1.0`, 200],
    ['GET http://localhost HTTP/1.1', 404],
    ['GET http://localhost?x HTTP/1.1', 404],
    ['GET http://localhost/nowhere HTTP/1.1', 404],
    [`GET http://evil.example${LIST} HTTP/1.1`, 403],
    [`GET http://localhost@evil.example${LIST} HTTP/1.1`, 403],
    [`GET http://${LIST} HTTP/1.1`, 403],
    [`GET ftp://localhost${LIST} HTTP/1.1`, 400],
  ])('is read as its path, and its host is the one that counts: %s is %i', async (line, status) => {
    const { port } = await open();
    expect((await send(port, line, `Host: localhost\r\n${OWN}`)).status).toBe(status);
    if (status === 200) expect((await send(port, line, `Host: proxy.example\r\n${OWN}`)).status).toBe(200);
  });

  test('needs the key and a Host header like any other', async () => {
    const { port } = await open();
    const line = `GET http://localhost${LIST} HTTP/1.1`;
    expect((await send(port, line, 'Host: localhost\r\n')).status).toBe(401);
    expect((await send(port, line, OWN)).status).toBe(400);
    expect((await send(port, line, `Host: localhost\r\nHost: localhost\r\n${OWN}`)).status).toBe(400);
    expect((await send(port, `POST http://localhost/mcp HTTP/1.1`, `Host: localhost\r\n`)).status).toBe(401);
    for (const path of ['/api/v1/health', '/ready', '/console']) {
      expect((await send(port, `GET http://localhost${path} HTTP/1.1`, 'Host: x\r\n')).status).toBe(200);
      expect((await send(port, `GET http://evil.example${path} HTTP/1.1`, 'Host: localhost\r\n')).status).toBe(403);
    }
  });

  test('gives a limited key the same rights', async () => {
    const { port } = await open({ limited: { ...LIMITED, scopes: ['send'] } });
    const key = `Host: localhost\r\nX-API-Key: ${LIMITED_KEY}\r\n`;
    for (const path of [LIST, '/api/v1/webhooks', '/metrics']) {
      const plain = await send(port, `GET ${path} HTTP/1.1`, key);
      const absolute = await send(port, `GET http://localhost${path} HTTP/1.1`, key);
      expect([path, plain.status, absolute.status]).toEqual([path, 403, 403]);
    }
  });

  test('is compared with the origin of a page', async () => {
    const { port } = await open();
    const line = `GET http://localhost:9${LIST} HTTP/1.1`;
    expect((await send(port, line, `Host: x\r\n${OWN}Origin: http://localhost:9\r\n`)).status).toBe(200);
    expect((await send(port, line, `Host: x\r\n${OWN}Origin: http://x\r\n`)).status).toBe(403);
  });

  test('may offer another protocol, or be the handshake of a WebSocket', async () => {
    const asked: string[] = [];
    const { port } = await open({
      acceptWebSocket: (_request, socket, _head, query) => {
        asked.push(query.toString());
        socket.end('HTTP/1.1 101 ok\r\n\r\n');
      },
    });
    const offer = 'Upgrade: h2c\r\nConnection: Upgrade\r\n';
    const list = await send(port, `GET http://localhost${LIST} HTTP/1.1`, `Host: x\r\n${OWN}${offer}`);
    expect(list.status).toBe(200);
    expect((await send(port, `GET http://evil${LIST} HTTP/1.1`, `Host: localhost\r\n${OWN}${offer}`)).status).toBe(403);
    const handshake =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    const target = `/api/v1/ws?api_key=${encodeURIComponent(KEY)}&after=1`;
    expect((await send(port, `GET http://localhost${target} HTTP/1.1`, `Host: x\r\n${handshake}`)).status).toBe(101);
    expect((await send(port, `GET http://evil${target} HTTP/1.1`, `Host: localhost\r\n${handshake}`)).status).toBe(403);
    expect(asked).toEqual(['after=1']);
  });

  test('reaches the port of another protocol as its path', async () => {
    const echo: ReceiveWire = async (exchange, access, guard) => {
      const { path, rawQuery } = exchange;
      const key = new URLSearchParams(rawQuery).get('password') ?? undefined;
      const isAdmitted = await access.admitWire(exchange, guard, key).catch((error) => exchange.fail(error));
      if (isAdmitted !== undefined) exchange.send({ status: isAdmitted ? 200 : 401, body: { path } });
    };
    const gateway = await open({ limited: LIMITED });
    const { port } = new URL(await gateway.server.listenForWire('127.0.0.1', 0, echo));
    const target = `/a/b?password=${LIMITED_KEY}`;
    const { status, text } = await send(Number(port), `GET http://localhost${target} HTTP/1.1`, 'Host: x\r\n');
    expect([status, text]).toEqual([200, expect.stringContaining('{"path":"/a/b"}')]);
    expect((await send(Number(port), `GET http://evil${target} HTTP/1.1`, 'Host: localhost\r\n')).status).toBe(403);
    expect((await send(Number(port), 'GET http://localhost/a/b HTTP/1.1', 'Host: x\r\n')).status).toBe(401);
    expect((await send(Number(port), `GET ${target} HTTP/1.0`)).status).toBe(403);
  });
});

describe('a request without a Host', () => {
  test.each(['/api/v1/health', '/ready', '/ready/', '/api/v1/health/?x=1'])('is answered at %s', async (path) => {
    const { port } = await open();
    for (const method of ['GET', 'HEAD']) {
      expect((await send(port, `${method} ${path} HTTP/1.0`)).status).toBe(200);
      expect((await send(port, `${method} ${path} HTTP/1.1`)).status).toBe(200);
      expect((await send(port, `${method} ${path} HTTP/1.1`, 'Host:\r\n')).status).toBe(200);
      expect((await send(port, `${method} ${path} HTTP/1.1`, 'Host: \r\nHost: \r\n')).status).toBe(400);
      expect((await send(port, `${method} ${path} HTTP/1.1`, 'Host: evil\r\n')).status).toBe(403);
    }
    expect((await send(port, `GET ${path} HTTP/1.1`, 'Origin: http://evil\r\n')).status).toBe(403);
    expect((await send(port, `POST ${path} HTTP/1.1`, `Content-Length: 0\r\n${OWN}`)).status).toBe(400);
  });

  test.each([LIST, '/console', '/openapi.json', '/metrics', '/mcp', '/api/v1/ws', '/', '/api/v1/status'])(
    'is refused at %s',
    async (path) => {
      const { port } = await open();
      expect((await send(port, `GET ${path} HTTP/1.0`, OWN)).status).toBe(403);
      expect((await send(port, `GET ${path} HTTP/1.1`, OWN)).status).toBe(400);
      expect((await send(port, `GET ${path} HTTP/1.1`, `Host:\r\n${OWN}`)).status).toBe(403);
    },
  );
});

describe('a slash at the end of a path', () => {
  test.each([
    ['GET', '/api/v1/health/', 200],
    ['GET', '/ready/', 200],
    ['GET', '/ready/?x', 200],
    ['GET', '/mcp/', 401],
    ['GET', '/api/v1/messages/', 401],
    ['GET', '/ready//', 404],
    ['GET', '/nowhere/', 404],
  ])('changes nothing without a key: %s %s is %i', async (method, path, status) => {
    const gateway = await open();
    expect((await gateway.call(method, path, { key: false })).status).toBe(status);
  });

  test.each([
    ['GET', 'api/v1/messages/?limit=1', 200],
    ['HEAD', 'api/v1/messages/', 200],
    ['GET', 'api/v1/messages/7/', 200],
    ['GET', 'api/v1/conversations/', 200],
    ['GET', 'api/v1/webhooks/', 200],
    ['GET', 'api/v1/status/', 200],
    ['GET', 'mcp/', 405],
    ['POST', 'mcp/', 403],
    ['GET', 'api/v1/ws/', 401],
    ['DELETE', 'api/v1/webhooks/', 404],
    ['GET', 'api/v1/nothing/', 404],
  ])('changes nothing with a key: %s /%s is %i', async (method, path, status) => {
    const gateway = await open();
    const headers = { 'content-type': 'application/json' };
    expect((await gateway.call(method, `/${path}`, { headers })).status).toBe(status);
    if (status !== 404) {
      expect((await gateway.call(method, `/${path.replace(/\/(?=\?|$)/, '')}`, { headers })).status).toBe(status);
    }
  });
});
