import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect } from '@jest/globals';
import WebSocket from 'ws';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import type { Caller } from '../../src/core/model/caller.ts';
import { isAppError } from '../../src/core/model/errors.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { EventFeed } from '../../src/core/model/ports/feed-ports.ts';
import type { EventJson } from '../../src/core/schema/event-json.ts';
import type { StreamParts } from '../../src/core/streams/clients.ts';
import { WebSocketClients } from '../../src/core/streams/web-socket-clients.ts';
import { plainJson } from './event-json.ts';
import { eventually, waitFor } from './eventually.ts';
import { FakeClock } from './fake-clock.ts';
import { collectingLog } from './log.ts';
import { MemoryLog } from './memory-log.ts';

export const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Options = Partial<StreamParts & Pick<Caller, 'json'>>;

/** The WebSocket clients behind a real HTTP server, with a message log to publish from. */
export class WebSocketFixture {
  readonly messages = new MemoryLog();
  readonly channel = new Channel();
  readonly clock = new FakeClock();
  readonly log = collectingLog();
  readonly clients: WebSocketClients;
  /** The caller that connects; the owner by default. */
  caller: Partial<Caller> & Pick<Caller, 'key'> = { key: undefined };
  readonly #owner: Pick<Caller, 'feed' | 'json'>;
  readonly #server: Server = createServer();

  readonly #upgraded: Socket[] = [];

  constructor({ json = plainJson(), ...parts }: Options = {}, change = (feed: Feed): EventFeed => feed) {
    const feed = change(new Feed({ channel: this.channel, messages: this.messages, clock: this.clock, log: this.log }));
    this.#owner = { feed, json };
    this.clients = new WebSocketClients({ clock: this.clock, log: this.log, ready: () => undefined, ...parts });
    this.#server.on('upgrade', (request, socket, head) => {
      this.#upgraded.push(socket as Socket);
      const query = new URL(request.url ?? '', 'http://x').searchParams;
      const caller = { ...this.#owner, ...this.caller } as Caller;
      this.clients.accept(request, socket, head, query, caller).catch((error: unknown) => {
        if (!isAppError(error)) throw error;
        const { status, code, mistakes } = error;
        const body = JSON.stringify({ status, code, mistakes });
        socket.end(`HTTP/1.1 400 No\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
      });
    });
  }

  static async open(parts?: Options, change?: (feed: Feed) => EventFeed): Promise<WebSocketFixture> {
    const fixture = new WebSocketFixture(parts, change);
    fixture.#server.listen(0, '127.0.0.1');
    await once(fixture.#server, 'listening');
    closers.push(async () => {
      const closed = fixture.clients.close(1000);
      await fixture.clock.advance(1000);
      await closed;
      fixture.#server.closeAllConnections();
      fixture.#server.close();
    });
    return fixture;
  }

  /** Bytes read from all connections that requested a WebSocket. */
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
      this.messages.addMany(first, last);
      this.channel.publish(this.messages.entries(rowOffset(first - 1), rowOffset(last), 256));
    }
  }

  async client(query = '', onText?: (text: string) => void): Promise<Listener> {
    const listener = new Listener(new WebSocket(`${this.url}${query}`), onText);
    const before = this.clients.counts.clients;
    await once(listener.socket, 'open');
    await waitFor(() => this.clients.counts.clients > before || listener.socket.readyState !== WebSocket.OPEN);
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

/** Opens a client that upgrades, then reads, and sends nothing by itself. */
export async function dumbClient(fixture: WebSocketFixture, query = ''): Promise<Socket> {
  const socket = connect(fixture.port, '127.0.0.1');
  socket.on('error', () => undefined);
  closers.push(() => socket.destroy());
  const before = fixture.clients.counts.clients;
  socket.write(
    `GET /api/v1/ws${query} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await eventually(() => expect(fixture.clients.counts.clients).toBeGreaterThan(before));
  return socket;
}

/** Returns an empty frame as a client sends it: masked, with a mask of zeros. */
const emptyFrame = (opcode: number): Buffer => Buffer.from([0x80 | opcode, 0x80, 0, 0, 0, 0]);

/** Sends an empty frame, and waits until it has arrived. */
export async function say(fixture: WebSocketFixture, socket: Socket, opcode: number): Promise<void> {
  const before = fixture.bytesRead;
  socket.write(emptyFrame(opcode));
  await eventually(() => expect(fixture.bytesRead).toBeGreaterThan(before));
}

/** Returns the JSON of events: plain as the service writes it, with details as given. */
export function withDetails(detailed: (entry: LogEntry) => string): EventJson {
  const plain = plainJson();
  return (entry, include) => (include.has('details') ? detailed(entry) : plain(entry, include));
}

/** Events of 8 kB, so that a few thousand exceed the kernel's buffers. */
export const bulky: Options = {
  json: withDetails((entry) => JSON.stringify({ data: { id: entry.rowId, x: 'x'.repeat(8000) } })),
};

export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

export async function refusal(fixture: WebSocketFixture, query: string): Promise<unknown> {
  const socket = new WebSocket(`${fixture.url}${query}`);
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, NodeJS.ReadableStream];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return JSON.parse(body);
}
