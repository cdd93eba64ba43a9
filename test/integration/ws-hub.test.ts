import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { type AppError, isAppError } from '../../src/domain/errors.ts';
import type { LogEntry } from '../../src/domain/event.ts';
import { rowOffset } from '../../src/domain/offset.ts';
import { Channel } from '../../src/events/channel.ts';
import { Feed } from '../../src/events/feed.ts';
import { type EventJson, eventSerializer } from '../../src/wire/event-json.ts';
import { Hub, type HubParts } from '../../src/ws/hub.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { arrival, MemoryLog } from '../support/memory-log.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A hub behind a real HTTP server, with a log to publish from. */
class Fixture {
  readonly log = new MemoryLog();
  readonly channel = new Channel();
  readonly clock = new FakeClock();
  readonly logger = collectingLog();
  readonly hub: Hub;
  readonly #server: Server = createServer();

  readonly #upgraded: Socket[] = [];

  constructor(parts: Partial<HubParts> = {}) {
    const feed = new Feed({ channel: this.channel, messages: this.log, clock: this.clock, log: this.logger });
    this.hub = new Hub({ feed, clock: this.clock, log: this.logger, json: eventSerializer(() => undefined), ...parts });
    this.#server.on('upgrade', (request, socket, head) => {
      this.#upgraded.push(socket as Socket);
      try {
        this.hub.accept(request, socket, head, new URL(request.url ?? '', 'http://x').searchParams);
      } catch (error) {
        const { status, code, mistakes } = error as AppError;
        if (!isAppError(error)) throw error;
        const body = JSON.stringify({ status, code, mistakes });
        socket.end(`HTTP/1.1 400 No\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
      }
    });
  }

  static async open(parts?: Partial<HubParts>): Promise<Fixture> {
    const fixture = new Fixture(parts);
    fixture.#server.listen(0, '127.0.0.1');
    await once(fixture.#server, 'listening');
    closers.push(async () => {
      const closed = fixture.hub.close(1000);
      await fixture.clock.advance(1000);
      await closed;
      fixture.#server.closeAllConnections();
      fixture.#server.close();
    });
    return fixture;
  }

  /** Of all that asked for a WebSocket. */
  get bytesRead(): number {
    return this.#upgraded.reduce((sum, socket) => sum + socket.bytesRead, 0);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/api/v1/ws`;
  }

  publish(from: number, to: number): void {
    for (let first = from; first <= to; first += 256) {
      const last = Math.min(to, first + 255);
      this.log.addMany(first, last);
      this.channel.publish(this.log.entries(rowOffset(first - 1), rowOffset(last), 256));
    }
  }

  async client(query = '', onText?: (text: string) => void): Promise<Listener> {
    const listener = new Listener(new WebSocket(`${this.url}${query}`), onText);
    const before = this.hub.counts.clients;
    await once(listener.socket, 'open');
    await waitFor(() => this.hub.counts.clients > before || listener.socket.readyState !== WebSocket.OPEN);
    return listener;
  }
}

/** What one client sees. */
class Listener {
  readonly socket: WebSocket;
  readonly texts: string[] = [];
  closedWith: number | undefined;

  constructor(socket: WebSocket, onText?: (text: string) => void) {
    this.socket = socket;
    socket.on('message', (data: Buffer, isBinary) => {
      expect(isBinary).toBe(false);
      const text = data.toString('utf8');
      this.texts.push(text);
      onText?.(text);
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      this.closedWith = code;
    });
    closers.push(() => socket.terminate());
  }

  get rows(): number[] {
    return this.texts.map((text) => Number((JSON.parse(text) as { data: { id: string } }).data.id));
  }
}

/** A client that upgrades and then reads and says nothing by itself. */
async function dumbClient(fixture: Fixture, query = ''): Promise<Socket> {
  const socket = connect(fixture.port, '127.0.0.1');
  socket.on('error', () => undefined);
  closers.push(() => socket.destroy());
  const before = fixture.hub.counts.clients;
  socket.write(
    `GET /api/v1/ws${query} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await eventually(() => expect(fixture.hub.counts.clients).toBeGreaterThan(before));
  return socket;
}

/** An empty frame as a client sends it: masked, with a mask of zeros. */
const emptyFrame = (opcode: number): Buffer => Buffer.from([0x80 | opcode, 0x80, 0, 0, 0, 0]);

/** Sends an empty frame, and waits until it has arrived. */
async function say(fixture: Fixture, socket: Socket, opcode: number): Promise<void> {
  const before = fixture.bytesRead;
  socket.write(emptyFrame(opcode));
  await eventually(() => expect(fixture.bytesRead).toBeGreaterThan(before));
}

/** Plain events as the service writes them, those with details as given. */
function withDetails(detailed: (entry: LogEntry) => string): EventJson {
  const plain = eventSerializer(() => undefined);
  return (entry, include) => (include.has('details') ? detailed(entry) : plain(entry, include));
}

/** Events of 8 kB, so that a few thousand are more than the kernel's buffers hold. */
const bulky: Partial<HubParts> = {
  json: withDetails((entry) => JSON.stringify({ data: { id: entry.rowId, x: 'x'.repeat(8000) } })),
};

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

async function refusal(fixture: Fixture, query: string): Promise<unknown> {
  const socket = new WebSocket(`${fixture.url}${query}`);
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, NodeJS.ReadableStream];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return JSON.parse(body);
}

describe('a plain client', () => {
  test('gets every event from now on, one frame each, in the very envelope', async () => {
    const fixture = await Fixture.open();
    fixture.publish(1, 3);
    const client = await fixture.client();
    fixture.publish(4, 4);
    fixture.publish(5, 700);
    await eventually(() => expect(client.texts.length).toBe(697));
    expect(client.rows).toEqual(range(4, 700));
    expect(client.texts[0]).toBe(JSON.stringify(arrival(4).event));
  });

  test('shares every event with a hundred others', async () => {
    const fixture = await Fixture.open();
    const clients = await Promise.all(range(1, 100).map(() => fixture.client()));
    fixture.publish(1, 50);
    fixture.publish(51, 51);
    await waitFor(() => clients.every(({ texts }) => texts.length === 51));
    for (const { rows } of clients) expect(rows).toEqual(range(1, 51));
    expect(fixture.hub.counts).toEqual({ clients: 100, missed: 0 });
  });

  test('gets events larger than a socket takes at once', async () => {
    const fixture = await Fixture.open({
      json: withDetails((entry) => JSON.stringify({ data: { id: entry.rowId, x: 'ü'.repeat(200_000) } })),
    });
    const client = await fixture.client('?include=details');
    const plain = await fixture.client();
    fixture.publish(1, 20);
    await eventually(() => {
      expect(client.texts.length).toBe(20);
      expect(plain.texts.length).toBe(20);
    });
    expect(client.rows).toEqual(range(1, 20));
    expect(client.texts[0]).toHaveLength(JSON.stringify({ data: { id: 1, x: 'ü'.repeat(200_000) } }).length);
    expect(plain.texts[0]).toBe(JSON.stringify(arrival(1).event));
  });

  test('may say what it likes: text, binary and pings are ignored', async () => {
    const fixture = await Fixture.open();
    const client = await fixture.client();
    client.socket.send('hello');
    client.socket.send(Buffer.alloc(4096, 1));
    client.socket.ping();
    await once(client.socket, 'pong');
    fixture.publish(1, 2);
    await eventually(() => expect(client.texts.length).toBe(2));
    expect(client.closedWith).toBeUndefined();
  });

  test('that sends a frame over 4 KiB is closed with 1009', async () => {
    const fixture = await Fixture.open();
    const [other, client] = [await fixture.client(), await fixture.client()];
    client.socket.send('x'.repeat(4097));
    await eventually(() => expect(client.closedWith).toBe(1009));
    await eventually(() => expect(fixture.hub.counts.clients).toBe(1));
    fixture.publish(1, 1);
    await eventually(() => expect(other.texts.length).toBe(1));
  });

  test('that is too slow loses the oldest, stays connected and is counted, while others lose nothing', async () => {
    const fixture = await Fixture.open(bulky);
    const slow = await fixture.client('?include=details');
    const quick = await fixture.client('?include=details');
    slow.socket.pause();
    let last = 0;
    while (last < 4000) {
      fixture.publish(last + 1, last + 512);
      last += 512;
      await eventually(() => expect(quick.texts.length).toBe(last));
    }
    expect(quick.rows).toEqual(range(1, last));
    slow.socket.resume();
    await eventually(() => expect(slow.rows.at(-1)).toBe(last));
    const { missed } = fixture.hub.counts;
    expect(missed).toBeGreaterThan(0);
    expect(slow.texts).toHaveLength(last - missed);
    expect(slow.rows).toEqual([...new Set(slow.rows)].sort((a, b) => a - b));
    const warnings = fixture.logger.lines.filter(({ level }) => level === 'warn');
    expect(warnings).toMatchObject([{ message: 'a slow WebSocket client lost events', fields: { missed } }]);
    fixture.publish(last + 1, last + 1);
    await eventually(() => expect(slow.rows.at(-1)).toBe(last + 1));
    await fixture.clock.advance(30_000);
    expect(fixture.hub.counts.missed).toBe(missed);
  });

  test('whose events cannot be written is closed with 1011, and the others go on', async () => {
    const fixture = await Fixture.open({
      json: withDetails(() => {
        throw new Error('it is broken');
      }),
    });
    const [broken, other] = [await fixture.client('?include=details'), await fixture.client()];
    fixture.publish(1, 1);
    await eventually(() => {
      expect(broken.closedWith).toBe(1011);
      expect(other.texts.length).toBe(1);
    });
    expect(fixture.logger.lines).toContainEqual(expect.objectContaining({ level: 'error' }));
  });
});

describe('a client that says where it was', () => {
  test('gets everything after that row and then what happens, without gap or repeat', async () => {
    const fixture = await Fixture.open();
    fixture.publish(1, 3000);
    const clients = [
      await fixture.client('?after=0'),
      await fixture.client('?after=2990'),
      await fixture.client('?after=3000'),
    ];
    for (let first = 3001; first < 5000; first += 10) {
      fixture.publish(first, first + 9);
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    await waitFor(() => clients.every(({ rows }) => rows.at(-1) === 5000));
    expect(clients.map(({ rows }) => rows)).toEqual([range(1, 5000), range(2991, 5000), range(3001, 5000)]);
  });

  test('is never skipped, however slowly it reads', async () => {
    const fixture = await Fixture.open(bulky);
    const client = await fixture.client('?after=0&include=details');
    client.socket.pause();
    for (let first = 1; first < 4000; first += 512) {
      fixture.publish(first, first + 511);
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    const last = fixture.channel.last.rowId;
    client.socket.resume();
    await eventually(() => expect(client.texts.length).toBe(last));
    expect(client.rows).toEqual(range(1, last));
    expect(fixture.hub.counts.missed).toBe(0);
  });

  test('waits while the database is away', async () => {
    const fixture = await Fixture.open();
    fixture.publish(1, 2000);
    const texts: string[] = [];
    const client = await fixture.client('?after=0', (text) => {
      texts.push(text);
      if (texts.length === 100) fixture.log.isAway = true;
    });
    await waitFor(() => fixture.log.isAway);
    await fixture.clock.advance(1000);
    const before = client.texts.length;
    expect(before).toBeLessThan(2000);
    fixture.log.isAway = false;
    await fixture.clock.advance(1000);
    await eventually(() => expect(client.texts.length).toBe(2000));
    expect(client.rows).toEqual(range(1, 2000));
    expect(fixture.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('before what has not been published yet, gets it when it is', async () => {
    const fixture = await Fixture.open();
    fixture.publish(1, 5);
    fixture.log.addMany(6, 10);
    const client = await fixture.client('?after=8');
    fixture.channel.publish(fixture.log.entries(rowOffset(5), rowOffset(10), 100));
    await eventually(() => expect(client.texts.length).toBe(2));
    expect(client.rows).toEqual([9, 10]);
  });

  test.each(['?after=', '?after=abc', '?after=-1', '?after=1.5', '?after=1e3'])(
    'is refused %p before the upgrade',
    async (query) => {
      const fixture = await Fixture.open();
      expect(await refusal(fixture, query)).toMatchObject({ status: 400, mistakes: [{ pointer: '?after' }] });
    },
  );

  test('is told every mistake in its query, a parameter given twice among them', async () => {
    const fixture = await Fixture.open();
    const pointersOf = async (query: string) => {
      const { mistakes } = (await refusal(fixture, query)) as { mistakes: readonly { pointer: string }[] };
      return mistakes.map(({ pointer }) => pointer);
    };
    expect(await pointersOf('?after=x&include=y')).toEqual(['?after', '?include']);
    expect(await pointersOf('?after=1&after=2')).toEqual(['?after']);
    expect(await pointersOf('?include=details&include=details')).toEqual(['?include']);
  });

  test('is refused a row nobody ever saw, and any while the database is away', async () => {
    const fixture = await Fixture.open();
    fixture.publish(1, 5);
    for (const after of ['6', '9007199254740993', '9'.repeat(400)]) {
      expect(await refusal(fixture, `?after=${after}`)).toMatchObject({ status: 410 });
    }
    fixture.log.isAway = true;
    expect(await refusal(fixture, '?after=1')).toMatchObject({ status: 503 });
    expect(fixture.hub.counts.clients).toBe(0);
  });
});

describe('a handshake that is none', () => {
  test('is refused before the upgrade', async () => {
    const fixture = await Fixture.open();
    const socket = connect(fixture.port, '127.0.0.1');
    closers.push(() => socket.destroy());
    socket.write(
      'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: no\r\n\r\n',
    );
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    await eventually(() => expect(answer).toContain('bad_handshake'));
  });
});

describe('a client that is gone', () => {
  test('is pinged every 30 seconds and dropped when it leaves two unanswered', async () => {
    const fixture = await Fixture.open();
    const socket = await dumbClient(fixture);
    const pings: number[] = [];
    socket.on('data', (chunk: Buffer) => {
      if (chunk[0] === 0x89) pings.push(fixture.clock.monotonic());
    });
    const answering = await fixture.client();
    let answered = 0;
    answering.socket.on('ping', () => {
      answered += 1;
    });
    for (const count of [1, 2]) {
      await fixture.clock.advance(30_000);
      await eventually(() => {
        expect(pings.length).toBe(count);
        expect(answered).toBe(count);
      });
    }
    expect(fixture.hub.counts.clients).toBe(2);
    await fixture.clock.advance(30_000);
    await eventually(() => expect(fixture.hub.counts.clients).toBe(1));
    await waitFor(() => socket.closed);
    expect(answering.closedWith).toBeUndefined();
  });

  test('is not one that says something, though it answers no ping', async () => {
    const fixture = await Fixture.open();
    const socket = await dumbClient(fixture);
    const heard = fixture.logger.lines.length;
    for (const opcode of [0x1, 0x2, 0x9, 0x1, 0x2, 0x9]) {
      const answered = new Promise<void>((resolve) => void socket.once('data', () => resolve()));
      await say(fixture, socket, opcode);
      await fixture.clock.advance(30_000);
      await answered;
      expect(fixture.hub.counts.clients).toBe(1);
    }
    expect(fixture.logger.lines).toHaveLength(heard);
  });

  test('is dropped however much it took before it fell silent', async () => {
    const fixture = await Fixture.open(bulky);
    const socket = await dumbClient(fixture, '?include=details');
    let read = 0;
    socket.on('data', (chunk) => {
      read += chunk.length;
    });
    fixture.publish(1, 400);
    await eventually(() => expect(read).toBeGreaterThan(400 * 8000));
    for (let ping = 0; ping < 3; ping += 1) await fixture.clock.advance(30_000);
    await eventually(() => expect(fixture.hub.counts.clients).toBe(0));
  });

  test('leaves no timer and no place in the channel behind', async () => {
    const fixture = await Fixture.open();
    const client = await fixture.client();
    expect(fixture.clock.pending).toBe(1);
    client.socket.close();
    await eventually(() => expect(fixture.hub.counts.clients).toBe(0));
    expect(fixture.clock.pending).toBe(0);
    fixture.publish(1, 1);
    expect(client.closedWith).not.toBe(1006);
  });

  test('is not one that catches up slowly, its pongs still behind the events', async () => {
    let made = 0;
    const fixture = await Fixture.open({
      json(entry, include) {
        made += 1;
        return bulky.json?.(entry, include) ?? '';
      },
    });
    fixture.publish(1, 4000);
    const socket = await dumbClient(fixture, '?after=0&include=details');
    let toRead = 0;
    socket.on('data', (chunk) => {
      toRead -= chunk.length;
      if (toRead <= 0) socket.pause();
    });
    for (let ping = 0; ping < 5; ping += 1) {
      toRead = 4_000_000;
      const madeBefore = made;
      socket.resume();
      // The room was used: half of what was read has been made anew.
      await eventually(() => {
        expect(toRead).toBeLessThanOrEqual(0);
        expect(made).toBeGreaterThanOrEqual(madeBefore + 250);
      });
      await fixture.clock.advance(30_000);
      expect(fixture.hub.counts.clients).toBe(1);
    }
  });

  test('though it talks, is dropped when it reads nothing for 60 seconds', async () => {
    const fixture = await Fixture.open(bulky);
    const socket = await dumbClient(fixture, '?include=details');
    socket.pause();
    for (let first = 1; fixture.hub.counts.clients === 1; first += 1024) {
      fixture.publish(first, first + 1023);
      await say(fixture, socket, 0xa);
      await fixture.clock.advance(30_000);
    }
    expect(fixture.clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect(fixture.logger.lines).toContainEqual(expect.objectContaining({ fields: { reason: 'it reads nothing' } }));
    expect(fixture.hub.counts.missed).toBeGreaterThan(0);
  });
});

describe('closing', () => {
  test('says 1001 to everyone and refuses newcomers', async () => {
    const fixture = await Fixture.open();
    const clients = [await fixture.client(), await fixture.client('?after=0')];
    fixture.publish(1, 3);
    await fixture.hub.close(1000);
    await waitFor(() => clients.every(({ closedWith }) => closedWith === 1001));
    expect(clients.map(({ rows }) => rows)).toEqual([range(1, 3), range(1, 3)]);
    expect(await refusal(fixture, '')).toMatchObject({ status: 503 });
    expect(fixture.clock.pending).toBe(0);
  });

  test('cuts off whoever does not go in time', async () => {
    const fixture = await Fixture.open();
    const socket = await dumbClient(fixture);
    const closed = fixture.hub.close(2000);
    await fixture.clock.advance(2000);
    await closed;
    socket.resume();
    await waitFor(() => socket.closed);
    expect(fixture.hub.counts.clients).toBe(0);
  });
});
