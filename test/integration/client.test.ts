import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type WebSocket, WebSocketServer } from 'ws';
import { PosternClient } from '../../src/client/postern-client.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { type ClientTarget, clientCases, failure, HISTORY } from '../support/client-cases.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const ends: (() => void)[] = [];
afterAll(() => {
  for (const end of ends) end();
});

async function openMac(): Promise<ClientTarget> {
  const database = new ChatFixture(join(folder, 'Library/Messages/chat.db'));
  const chat = database.chat('any;-;+15550100', ['+15550100']);
  const handle = database.handle('+15550100');
  const write = (text: string): number => database.message({ chat, text, handle_id: handle });
  for (let n = 0; n < HISTORY; n += 1) write(`history ${n}`);
  const service = await Service.start({ chatDbPath: database.path });
  return {
    service,
    write,
    newestRow: () => Number(database.sqlite.prepare('SELECT max(ROWID) FROM message').get()?.[0]),
    id: String,
    async dispose() {
      await service.dispose();
      database.close();
    },
  };
}

describe('the client, against the real service', () => clientCases(openMac));

/** Collects events until it is ended. */
function gather(options: Parameters<PosternClient['listen']>[0], from: PosternClient) {
  const stop = new AbortController();
  const gathered = { broken: [] as string[], end: () => stop.abort(), ended: Promise.resolve() };
  gathered.ended = (async () => {
    const onReconnect = (reason: string): void => void gathered.broken.push(reason);
    for await (const _ of from.listen({ ...options, signal: stop.signal, onReconnect }));
  })();
  ends.push(gathered.end);
  return gathered;
}

describe('the client, against others', () => {
  test('sends nothing with what the service does not say it can do', async () => {
    const asked: string[] = [];
    let capabilities: object | undefined;
    const server = createServer(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      response.end(JSON.stringify(method === 'GET' ? { newest_event: {}, capabilities } : { guid: 'G', id: '7' }));
    });
    const client = new PosternClient({ url: await listeningAt(server), key: KEY });
    ends.push(() => server.close().closeAllConnections());
    const send = () => client.send({ recipient: '+15550100', body: '*x*', format: 'markdown' });
    expect(await failure(send())).toMatchObject({ code: 'not_capable' });
    capabilities = { format: { available: false, reason: 'macos_too_old' } };
    expect((await failure(send())).message).toContain('format (macos_too_old)');
    expect(asked.filter((one) => one.startsWith('POST'))).toEqual([]);
    capabilities = { format: { available: true } };
    expect(await send()).toMatchObject({ id: '7' });
    await client.send({ recipient: '+15550100', body: '*x*' });
    // Requested once, and never for a plain send.
    expect(asked.slice(2)).toEqual(['GET /api/v1/status', 'POST /api/v1/messages', 'POST /api/v1/messages']);
  });

  test.each([
    ['', ''],
    ['/', ''],
    ['/macs/m2', '/macs/m2'],
    ['/macs/m2/?x=1#y', '/macs/m2'],
    ['/macs/m2/api/v1/', '/macs/m2'],
  ])('asks below the path of its URL: %j', async (path, base) => {
    let asked: string | undefined;
    const server = createServer(({ url }, response) => {
      asked = url;
      response.end('[]');
    });
    await new PosternClient({ url: (await listeningAt(server)) + path, key: KEY }).messages();
    expect(asked).toBe(`${base}/api/v1/messages`);
    server.close();
  });

  test.each(['{}', 'null', '[]', '[{}]', '"text"', '{"status":"ok"}', '<html>'])(
    'does not take what somebody else says for an answer: %s',
    async (text) => {
      const server = createServer((_, response) => void response.end(text));
      const other = new PosternClient({ url: await listeningAt(server), key: KEY });
      const asked: Promise<unknown>[] = [
        other.status(),
        other.health(),
        other.message('1'),
        other.send({ recipient: 'x', body: 'y' }),
        gather({}, other).ended,
      ];
      if (text !== '[]') {
        asked.push(other.messages(), other.conversations(), other.webhooks(), other.allMessages().next());
      }
      const failures = await Promise.all(asked.map((one) => failure(one)));
      expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['not_postern']));
      server.close();
    },
  );

  test.each(['{}', 'null', '{"data":null}', '7', 'x'])(
    'takes nothing that somebody else pushes for an event: %s',
    async (text) => {
      const server = createServer();
      const line = new WebSocketServer({ server });
      line.on('connection', (socket) => socket.send(text));
      const other = new PosternClient({ url: await listeningAt(server), key: KEY });
      expect(await failure(gather({ after: 1 }, other).ended)).toMatchObject({ code: 'not_postern' });
      line.close();
      server.close();
    },
  );

  test('distinguishes a missing service from a missing answer', async () => {
    const nobody = new PosternClient({ url: `http://127.0.0.1:${await freePort()}`, key: KEY });
    expect(await failure(nobody.status())).toMatchObject({ status: 0, code: 'unreachable' });
    // Ports that fetch refuses to connect to.
    expect(await failure(new PosternClient({ url: 'http://127.0.0.1:9', key: KEY }).status())).toMatchObject({
      code: 'unreachable',
    });
    const server = createServer((request) => request.socket.destroy());
    const url = await listeningAt(server);
    expect(await failure(new PosternClient({ url, key: KEY }).status())).toMatchObject({ code: 'connection_lost' });
    const plain = createServer();
    const encrypted = (await listeningAt(plain)).replace('http:', 'https:');
    expect(await failure(new PosternClient({ url: encrypted, key: KEY }).status())).toMatchObject({
      code: 'unreachable',
    });
    plain.close();
    server.close();
  });
});

describe('listening to others', () => {
  test('waits longer from attempt to attempt, and as long as the server asks for', async () => {
    const clock = new FakeClock();
    const server = createServer((_, response) => void response.writeHead(503).end('{"code":"unavailable"}'));
    const url = await listeningAt(server);
    const waits: number[] = [];
    const stop = new AbortController();
    const listening = (async () => {
      const onReconnect = (_: string, inMs: number): void => void waits.push(inMs);
      const from = new PosternClient({ url, key: KEY, clock });
      for await (const _ of from.listen({ after: 1, signal: stop.signal, onReconnect })) throw new Error('an event');
    })();
    for (let tries = 1; tries <= 6; tries += 1) {
      await eventually(() => expect(waits.length).toBe(tries));
      await clock.advance(waits.at(-1) ?? 0);
    }
    expect(waits.slice(0, 6)).toEqual([250, 1000, 2000, 5000, 10_000, 10_000]);
    server.removeAllListeners('request');
    server.on('request', (_, response) => {
      response.writeHead(429, { 'retry-after': '42' }).end('{"code":"rate_limited","detail":"Too many requests."}');
    });
    await waitFor(async () => {
      await clock.advance(10_000);
      return waits.includes(42_000);
    });
    stop.abort();
    await listening;
    server.close();
  });

  test('begins again with the shortest wait after a line that held for ten seconds', async () => {
    const clock = new FakeClock();
    const { url, sockets, close } = await silentService();
    const waits: number[] = [];
    const stop = new AbortController();
    const listening = (async () => {
      const onReconnect = (_: string, inMs: number): void => void waits.push(inMs);
      const from = new PosternClient({ url, key: KEY, clock });
      for await (const _ of from.listen({ after: 1, signal: stop.signal, onReconnect })) throw new Error('an event');
    })();
    for (const [round, heldMs] of [9000, 9000, 10_000, 0].entries()) {
      await eventually(() => {
        expect(sockets.length).toBe(round + 1);
        expect(clock.pending).toBe(1);
      });
      await clock.advance(heldMs);
      sockets[round]?.close();
      await eventually(() => expect(waits.length).toBe(round + 1));
      await clock.advance(waits.at(-1) ?? 0);
    }
    expect(waits).toEqual([250, 1000, 250, 1000]);
    stop.abort();
    await listening;
    close();
  });

  test('goes over TLS where the address does', async () => {
    const first: Buffer[] = [];
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (chunk: Buffer) => {
        first.push(chunk);
        socket.destroy();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const listener = gather({ after: 1 }, new PosternClient({ url, key: KEY }));
    // 22 is a TLS handshake; anything else would carry the key in the clear.
    expect((await waitFor(() => first[0]))[0]).toBe(22);
    listener.end();
    await listener.ended;
    server.close();
  });

  test('gives a line up on which the service has fallen silent', async () => {
    const clock = new FakeClock();
    const { url, sockets, close } = await silentService();
    const listener = gather({ after: 1 }, new PosternClient({ url, key: KEY, clock }));
    await eventually(() => {
      expect(sockets.length).toBe(1);
      expect(clock.pending).toBe(1);
    });
    await clock.advance(60_000);
    const heard = clock.pending;
    sockets[0]?.ping();
    await once(sockets[0] as WebSocket, 'pong');
    await clock.advance(60_000);
    expect({ heard, broken: listener.broken }).toEqual({ heard: 1, broken: [] });
    await clock.advance(20_000);
    await eventually(() => expect(listener.broken.length).toBe(1));
    listener.end();
    await listener.ended;
    close();
  });
});

async function listeningAt(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a service that accepts every WebSocket and sends nothing. */
async function silentService() {
  const server = createServer();
  const lines = new WebSocketServer({ server });
  const sockets: WebSocket[] = [];
  lines.on('connection', (socket) => sockets.push(socket));
  const close = (): void => {
    for (const socket of sockets) socket.terminate();
    lines.close();
    server.close();
  };
  return { url: await listeningAt(server), sockets, close };
}
