import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type WebSocket, WebSocketServer } from 'ws';
import { type MessageDetails, PosternClient, type PosternError } from '../../src/client/postern-client.ts';
import { ROW_EVENT_TYPES } from '../../src/domain/event.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const database = new ChatFixture(join(temporaryFolder(), 'Library/Messages/chat.db'));
const chat = database.chat('any;-;+15550100', ['+15550100']);
const handle = database.handle('+15550100');
let service: Service;
let client: PosternClient;
const ends: (() => void)[] = [];

beforeAll(async () => {
  for (let n = 0; n < 450; n += 1) write(`history ${n}`);
  service = await Service.start({ chatDbPath: database.path });
  client = new PosternClient({ url: `http://127.0.0.1:${service.port}`, key: KEY });
});
afterAll(async () => {
  for (const end of ends) end();
  await service.dispose();
  database.close();
});

function write(text: string): number {
  return database.message({ chat, text, handle_id: handle });
}

/** Gathers row ids until it is ended. */
function gather(options: Parameters<PosternClient['listen']>[0] = {}, from = client) {
  const stop = new AbortController();
  const gathered = {
    rows: [] as number[],
    broken: [] as string[],
    end: () => stop.abort(),
    ended: Promise.resolve(),
  };
  gathered.ended = (async () => {
    const onReconnect = (reason: string): void => void gathered.broken.push(reason);
    for await (const event of from.listen({ ...options, signal: stop.signal, onReconnect })) {
      gathered.rows.push(Number(event.data.id));
    }
  })();
  ends.push(gathered.end);
  return gathered;
}

async function failure(work: Promise<unknown>): Promise<PosternError> {
  return work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => error as PosternError,
  );
}

describe('the client, against the real service', () => {
  test('reads health, status, conversations and messages', async () => {
    expect(await client.health()).toMatchObject({ status: 'ok', backend: { connected: true } });
    expect((await client.status()).newest_row).toBe(450);
    const [conversation] = await client.conversations({ limit: 1 });
    expect(await client.conversation(conversation?.id ?? '')).toEqual(conversation);
    const [newest] = await client.messages({ limit: 1, conversation_id: 'any;-;+15550100' });
    expect(await client.message(newest?.id ?? '')).toEqual(newest);
  });

  test('reads every message, page after page', async () => {
    const ids: number[] = [];
    for await (const { id } of client.allMessages({ order: 'asc' })) ids.push(Number(id));
    expect(ids.slice(0, 450)).toEqual(Array.from({ length: 450 }, (_, place) => place + 1));
  });

  test('adds details to what is read, wherever they are asked for, and nowhere else', async () => {
    const details: Partial<MessageDetails> = { service: 'iMessage', kind: 'message', error: null, reactions: [] };
    const [first] = await client.messages({ limit: 1, include: 'details' });
    const plain = await client.message(first?.id ?? '');
    expect(plain).not.toHaveProperty('details');
    expect(first).toEqual({ ...plain, details: expect.objectContaining(details) });
    expect(await client.message(first?.id ?? '', { include: 'details' })).toEqual(first);
    // Over the edge of a page too.
    let count = 0;
    for await (const message of client.allMessages({ include: 'details', limit: 2, order: 'asc' })) {
      expect(message.details?.kind).toBe('message');
      count += 1;
      if (count === 5) break;
    }
    for await (const event of client.listen({ after: 0, include: 'details' })) {
      expect(event.data).toHaveProperty('details', expect.objectContaining(details));
      break;
    }
    for await (const event of client.listen({ after: 0 })) {
      expect(event.data).not.toHaveProperty('details');
      break;
    }
  });

  test('manages webhooks', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    const added = await client.addWebhook({ url, events: ROW_EVENT_TYPES, include: ['details'] });
    expect(await client.webhook(added.id)).toMatchObject({ ...added, state: 'healthy' });
    expect(await client.webhooks()).toEqual([added]);
    expect(await client.testWebhook(added.id)).toMatchObject({ delivered: false });
    expect(await client.replayWebhook(added.id, 449)).toMatchObject({ id: added.id });
    const filter = { is_from_me: false };
    expect(await client.changeWebhook(added.id, { enabled: false, secret: 's', filter, name: 'n8n' })).toMatchObject({
      ...{ ...added, state: 'paused', has_secret: true, filter, name: 'n8n', include: ['details'] },
    });
    expect(await client.replayWebhook(added.id, 'latest')).toMatchObject({ behind: 0 });
    expect(await client.replayDropped(added.id)).toMatchObject({ dropped: 0 });
    expect(Array.isArray(await client.deliveries(added.id))).toBe(true);
    await client.removeWebhook(added.id);
    expect(await client.webhooks()).toEqual([]);
  });

  test('says what the service refused in its own words', async () => {
    const wrong = new PosternClient({ url: `http://127.0.0.1:${service.port}`, key: 'wrong' });
    expect(await failure(wrong.messages())).toMatchObject({ status: 401, code: 'unauthorized', name: 'PosternError' });
    expect(await failure(client.message('999999'))).toMatchObject({ status: 404, code: 'message_not_found' });
    const several = await failure(client.addWebhook({ url: 'x', events: [] }));
    expect(several).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(several.message).toMatch(/http or https.*at least one/);
    expect(() => new PosternClient({ key: 'line\nbreak' })).toThrow('no header can carry');
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

  test.each(['{}', 'null', '{"data":null}', '7', 'x'])('nor what somebody else pushes: %s', async (text) => {
    const server = createServer();
    const line = new WebSocketServer({ server });
    line.on('connection', (socket) => socket.send(text));
    const other = new PosternClient({ url: await listeningAt(server), key: KEY });
    expect(await failure(gather({ after: 1 }, other).ended)).toMatchObject({ code: 'not_postern' });
    line.close();
    server.close();
  });

  test('tells nobody there from an answer that never came', async () => {
    const nobody = new PosternClient({ url: `http://127.0.0.1:${await freePort()}`, key: KEY });
    expect(await failure(nobody.status())).toMatchObject({ status: 0, code: 'unreachable' });
    // Ports that fetch never connects to.
    expect(await failure(new PosternClient({ url: 'http://127.0.0.1:9', key: KEY }).status())).toMatchObject({
      code: 'unreachable',
    });
    const server = createServer((request) => request.socket.destroy());
    const url = await listeningAt(server);
    expect(await failure(new PosternClient({ url, key: KEY }).status())).toMatchObject({ code: 'connection_lost' });
    server.close();
  });
});

describe('listening', () => {
  test('begins with what happens from now on, and misses nothing while the service is killed and started again', async () => {
    const listener = gather();
    await waitFor(() => {
      write('are you there?');
      return listener.rows.length > 0;
    });
    for (let round = 0; round < 3; round += 1) {
      await service.stop('SIGKILL');
      write('while it is down');
      const launched = service.launch();
      write('while it starts');
      await launched;
      const newest = write('after it started');
      await eventually(() => expect(listener.rows).toContain(newest));
    }
    const [first = 0] = listener.rows;
    expect(first).toBeGreaterThan(450);
    expect(listener.rows).toEqual(listener.rows.map((_, place) => first + place));
    expect(listener.broken.length).toBeGreaterThanOrEqual(3);
    listener.end();
    await listener.ended;
  });

  test('needs no first connection to be gapless: the very first one may break', async () => {
    const relay = new Relay();
    ends.push(() => relay.close());
    const listener = gather({}, new PosternClient({ url: await relay.start(), key: KEY }));
    await eventually(() => expect(relay.handshakes).toBeGreaterThan(0));
    const missed = write('between status and the first line');
    relay.admit();
    await eventually(() => expect(listener.rows).toContain(missed));
    listener.end();
    await listener.ended;
    relay.close();
  });

  test('takes up after a row id, all of it, however slowly it is read', async () => {
    const rows: number[] = [];
    const newest = database.sqlite.prepare('SELECT max(ROWID) FROM message').get()?.[0];
    for await (const event of client.listen({ after: 0 })) {
      rows.push(Number(event.data.id));
      if (rows.length === 200) for (let n = 0; n < 20; n += 1) await client.health();
      if (event.data.id === String(newest)) break;
    }
    expect(rows).toEqual(Array.from({ length: Number(newest) }, (_, place) => place + 1));
  });

  test('is refused for good by a wrong key and an unknown row id', async () => {
    const wrong = new PosternClient({ url: `http://127.0.0.1:${service.port}`, key: 'wrong' });
    await expect(gather({}, wrong).ended).rejects.toMatchObject({ status: 401 });
    await expect(gather({ after: 1 }, wrong).ended).rejects.toMatchObject({ status: 401 });
    await expect(gather({ after: 999_999 }).ended).rejects.toMatchObject({ status: 410 });
  });

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
    // 22: the handshake of TLS; anything else would carry the key in the clear.
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

  test('ends at once when it is told to, and when its reader has had enough', async () => {
    const listener = gather({ after: 0 });
    await eventually(() => expect(listener.rows.length).toBeGreaterThan(0));
    listener.end();
    await listener.ended;
    const aborted = new AbortController();
    aborted.abort();
    for await (const _ of client.listen({ signal: aborted.signal })) throw new Error('an event');
    for await (const _ of client.listen({ after: 0 })) break;
  });
});

async function listeningAt(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Takes every WebSocket and says nothing on it. */
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

/** Passes connections on to the service, and drops every WebSocket handshake until it is told to admit them. */
class Relay {
  handshakes = 0;
  #isAdmitting = false;
  readonly #server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (first: Buffer) => {
      if (first.includes('/api/v1/ws')) {
        this.handshakes += 1;
        if (!this.#isAdmitting) return void socket.destroy();
      }
      const onward = connect(service.port, '127.0.0.1');
      onward.on('error', () => {});
      onward.write(first);
      socket.pipe(onward).pipe(socket);
    });
  });

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  admit(): void {
    this.#isAdmitting = true;
  }

  close(): void {
    this.#server.close();
  }
}
