import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocketServer } from 'ws';
import type { AttachmentFile } from '../../src/core/model/ports/reading-ports.ts';
import type { SendResult } from '../../src/core/model/ports/sending-ports.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { KEY, MESSAGE } from '../support/http-gateway.ts';

const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
const open = closedAfterEach((...given: Parameters<typeof FeatureGateway.start>) => FeatureGateway.start(...given));

const key = `X-API-Key: ${Buffer.from(KEY).toString('latin1')}\r\n`;
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${key}${more}\r\n`;
const send = (body: string): string => {
  const json = JSON.stringify({ recipient: 'a', body });
  return `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${key}Content-Length: ${json.length}\r\n\r\n${json}`;
};
const LIST = '/api/v1/messages';
const PAGE = '/docs/swagger-ui-bundle.js';
const SOCKET = `/api/v1/ws?api_key=${encodeURIComponent(KEY)}`;
const OFFER = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** Opens a connection and writes `text`. `answers` is everything received so far, as bytes of HTTP. */
function pipeline(gateway: FeatureGateway, text: string) {
  const socket = connect(gateway.port, '127.0.0.1');
  clients.push(socket);
  socket.on('error', () => {});
  socket.write(Buffer.from(text, 'latin1'));
  const chunks: Buffer[] = [];
  return {
    socket,
    closed: once(socket, 'close'),
    read() {
      socket.on('data', (chunk) => chunks.push(chunk));
      return this;
    },
    get answers() {
      return Buffer.concat(chunks).toString('latin1');
    },
    get statuses() {
      return [...this.answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    },
  };
}

/** Holds sends until the test answers them, in order of arrival. */
function holdSends(gateway: FeatureGateway): (() => void)[] {
  const held: (() => void)[] = [];
  gateway.sender.answer = () =>
    new Promise<SendResult>((resolve) => {
      held.push(() => resolve({ confirmed: true, message: MESSAGE, replayed: false }));
    });
  return held;
}

const CHUNK = new Uint8Array(65_536);

/** An endless file that counts the bytes read and how often it is open. */
class EndlessFile {
  chunks = 0;
  opened = 0;
  closed = 0;

  readonly reader = {
    open: async (): Promise<AttachmentFile> => {
      this.opened += 1;
      const close = async (): Promise<void> => {
        this.closed += 1;
      };
      return { name: 'a.bin', mimeType: null, bytes: 1e12, version: '1', read: () => this.#read(), close };
    },
  };

  #read(): Readable {
    const readable = new Readable({
      read: () => {
        this.chunks += 1;
        readable.push(CHUNK);
      },
      destroy: (error, callback) => {
        this.closed += 1;
        callback(error);
      },
    });
    return readable;
  }
}

describe('many requests on one connection', () => {
  test('16 run, the next waits unstarted, and all are answered in order', async () => {
    const gateway = await open();
    const held = holdSends(gateway);
    const client = pipeline(gateway, Array.from({ length: 40 }, (_, n) => send(String(n))).join('')).read();
    await eventually(() => expect(held.length).toBe(16));
    await gateway.get('/api/v1/health');
    expect(held.length).toBe(16);
    for (let n = 0; n < 40; n += 1) {
      await eventually(() => expect(held.length).toBe(Math.min(40, 16 + n)));
      held[n]?.();
      await eventually(() => expect(client.statuses.length).toBe(n + 1));
    }
    expect(gateway.sender.sent.map(({ body }) => Number(body))).toEqual(Array.from({ length: 40 }, (_, n) => n));
  });

  test('nothing more is read while one waits', async () => {
    const gateway = await open();
    const held = holdSends(gateway);
    const client = pipeline(gateway, send('x').repeat(17));
    await eventually(() => expect(held.length).toBe(16));
    // Far more than the kernel buffers.
    client.socket.write(Buffer.alloc(32 * 1024 * 1024, get(LIST)));
    const before = await waitFor(async () => {
      const { bytesWritten } = client.socket;
      await gateway.get('/api/v1/health');
      return bytesWritten > 0 && client.socket.writableLength > 0;
    });
    expect(before).toBe(true);
    expect(gateway.reader.queries).toEqual([]);
  });

  test('a connection with more than 2,000 waiting is ended', async () => {
    const gateway = await open();
    holdSends(gateway);
    // They almost always arrive in one piece; only then are there so many.
    await waitFor(async () => {
      const client = pipeline(gateway, send('x').repeat(16) + 'GET / HTTP/1.1\r\n\r\n'.repeat(3000)).read();
      await gateway.get('/api/v1/health');
      await gateway.get('/api/v1/health');
      return client.socket.closed || client.socket.readableEnded || client.socket.destroyed;
    });
    expect(gateway.log.lines).toContainEqual(
      expect.objectContaining({ fields: { reason: 'too many pipelined requests' } }),
    );
  });

  test('a request that cannot be read is refused after the answers before it', async () => {
    const gateway = await open();
    const held = holdSends(gateway);
    const client = pipeline(gateway, `${send('x') + get(LIST)}nonsense\r\n\r\n`).read();
    await eventually(() => expect(held.length).toBe(1));
    await gateway.get('/api/v1/health');
    held[0]?.();
    await client.closed;
    expect(client.statuses).toEqual([201, 200, 400]);
  });

  test('one that offers another protocol loses no answer', async () => {
    const gateway = await open();
    const last = 'Connection: close\r\n';
    const client = pipeline(gateway, get(LIST) + get(LIST, OFFER) + get(PAGE) + get(LIST, OFFER) + get(LIST, last));
    await client.read().closed;
    expect(client.statuses).toEqual([200, 200, 200, 200, 200]);
    expect(gateway.log.lines.filter(({ fields }) => fields?.status === 200)).toHaveLength(5);
  });

  test('one that offers another protocol is answered behind more than run at once', async () => {
    const gateway = await open();
    const client = pipeline(gateway, get(LIST).repeat(20) + get(LIST, OFFER) + get(LIST, 'Connection: close\r\n'));
    await client.read().closed;
    expect(client.statuses).toEqual(Array.from({ length: 22 }, () => 200));
  });

  test('one that offers another protocol is answered to a client that has closed its side', async () => {
    const gateway = await open();
    const held = holdSends(gateway);
    const client = pipeline(gateway, send('x') + get(LIST, OFFER)).read();
    await eventually(() => expect(held.length).toBe(1));
    client.socket.end();
    await once(client.socket, 'finish');
    await gateway.get('/api/v1/health');
    held[0]?.();
    await client.closed;
    expect(client.statuses).toEqual([201, 200]);
  });

  test('a WebSocket behind more than run at once hears its client', async () => {
    const hub = new WebSocketServer({ noServer: true });
    const gateway = await open({
      acceptWebSocket: (request, socket, head) => {
        hub.handleUpgrade(request, socket, head, (one) => one.on('ping', () => one.close(1001)));
      },
    });
    const client = pipeline(gateway, get(LIST).repeat(20) + get(SOCKET, UPGRADE)).read();
    await eventually(() => expect(client.statuses.length).toBe(21));
    const ping = Buffer.from([0x89, 0x80, 1, 2, 3, 4]);
    client.socket.write(ping);
    await eventually(() => expect(client.answers.endsWith('\x88\x02\x03\xe9')).toBe(true));
    expect(client.statuses.at(-1)).toBe(101);
  });

  test('a WebSocket opens after the answers before it', async () => {
    const hub = new WebSocketServer({ noServer: true });
    const gateway = await open({
      acceptWebSocket: (request, socket, head) => hub.handleUpgrade(request, socket, head, (one) => one.close(1001)),
    });
    const held = holdSends(gateway);
    const client = pipeline(gateway, send('x') + get(PAGE) + get(SOCKET, UPGRADE)).read();
    await eventually(() => expect(held.length).toBe(1));
    await gateway.get('/api/v1/health');
    held[0]?.();
    await eventually(() => expect(client.statuses.length).toBe(3));
    expect(client.statuses).toEqual([201, 200, 101]);
  });
});

describe('an answer that nobody reads', () => {
  test('ends its connection after 60 s and closes its file', async () => {
    const clock = new FakeClock();
    const file = new EndlessFile();
    const gateway = await open({ clock, attachments: file.reader });
    const client = pipeline(gateway, get('/api/v1/messages/7/attachments/0').repeat(3));
    await eventually(() => expect(file.opened).toBe(3));
    const startedAtMs = clock.monotonic();
    await waitFor(async () => {
      await clock.advance(5000);
      await gateway.get('/api/v1/health');
      return file.closed === 3;
    });
    expect(clock.monotonic() - startedAtMs).toBeGreaterThanOrEqual(60_000);
    client.socket.resume();
    await client.closed;
  });

  test('is not one that takes long to begin', async () => {
    const clock = new FakeClock();
    const gateway = await open({ clock });
    const held = holdSends(gateway);
    const client = pipeline(gateway, send('x')).read();
    await eventually(() => expect(held.length).toBe(1));
    await clock.advance(600_000);
    held[0]?.();
    await eventually(() => expect(client.statuses.length).toBe(1));
    expect(client.statuses).toEqual([201]);
  });

  test('is not one that is read slowly', async () => {
    const clock = new FakeClock();
    const file = new EndlessFile();
    const gateway = await open({ clock, attachments: file.reader });
    const { socket } = pipeline(gateway, get('/api/v1/messages/7/attachments/0'));
    socket.pause();
    for (let step = 0; step < 10; step += 1) {
      const { chunks } = file;
      socket.resume();
      await eventually(() => expect(file.chunks).toBeGreaterThan(chunks));
      socket.pause();
      await clock.advance(50_000);
    }
    expect(file.closed).toBe(0);
  });
});

describe('a client that goes away', () => {
  test('with answers outstanding is not waited for at the end', async () => {
    const clock = new FakeClock();
    const gateway = await open({ clock });
    const held = holdSends(gateway);
    const client = pipeline(gateway, get(PAGE).repeat(5) + send('x') + get(PAGE).repeat(20));
    await eventually(() => expect(held.length).toBe(1));
    client.socket.resetAndDestroy();
    await gateway.server.close(60_000);
  });

  test('leaves no file open', async () => {
    const file = new EndlessFile();
    const gateway = await open({ attachments: file.reader });
    const client = pipeline(gateway, get('/api/v1/messages/7/attachments/0').repeat(30));
    await eventually(() => expect(file.opened).toBe(16));
    client.socket.resetAndDestroy();
    await eventually(() => expect(file.closed).toBe(16));
    expect(file.opened).toBe(16);
  });
});
