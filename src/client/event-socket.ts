import type * as ws from 'ws';
import type { ChangeEvent, Event } from '../core/model/event.ts';
import type { Cancel, Clock } from '../core/model/ports/host-ports.ts';
import { has, noAnswer, notPostern, PosternError, parsed, refusal } from './postern-error.ts';

/**
 * The service pings every 30 s (decision G1). After this long without a ping or an event the connection is dead, for
 * example after a sleep.
 */
const SILENCE_LIMIT_MS = 75_000;
const HANDSHAKE_LIMIT_MS = 10_000;
/**
 * Stops reading from the connection while this many events wait for the caller. The service delivers the rest from its
 * log later.
 */
const MAX_WAITING = 1000;

/** An event from the service. On a connection with `changes`, every event has an offset. */
export type SocketEvent = Event | ((Event | ChangeEvent) & { readonly offset: string });

export interface SocketDestination {
  readonly url: URL;
  /** Unix socket to connect to instead of the URL's host. */
  readonly socketPath: string | undefined;
  /** The service's address, as shown in errors. */
  readonly address: string;
}

/** Returns the package `ws`; undefined if it is not installed. The typed client works without it. */
export async function webSocketPackage(): Promise<typeof ws | undefined> {
  return import('ws').catch(() => undefined);
}

/** Yields the events of one WebSocket connection until it ends. Throws PosternError if it is refused or unreachable. */
export async function* eventSocket(
  { url, socketPath, address }: SocketDestination,
  clock: Clock,
  signal: AbortSignal | undefined,
): AsyncGenerator<SocketEvent, void> {
  const { default: WebSocket } = (await webSocketPackage()) ?? {};
  if (WebSocket === undefined) {
    throw new PosternError(0, {
      code: 'not_capable',
      detail: 'A WebSocket needs the package ws, which is not installed.',
      hint: 'Install it (npm install ws), or leave out `over` to receive events over plain HTTP.',
    });
  }
  const connect = socketPath === undefined ? undefined : (await import('node:net')).connect;
  if (signal?.aborted) return;
  const socket = new WebSocket(url, {
    handshakeTimeout: HANDSHAKE_LIMIT_MS,
    headers: { Prefer: 'handling=strict' },
    // Avoids the scheme ws+unix, which cannot express a path with a space or a colon.
    ...(connect !== undefined && { createConnection: () => connect(socketPath ?? '') }),
  });
  const received = new ReceivedEvents(socket, address, clock);
  const abort = (): void => socket.terminate();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    for (let event = await received.next(); event !== undefined; event = await received.next()) yield event;
  } finally {
    signal?.removeEventListener('abort', abort);
    received.close();
  }
}

/** The events that a socket has received and the caller has not taken yet. */
class ReceivedEvents {
  readonly #socket: ws.WebSocket;
  readonly #address: string;
  readonly #clock: Clock;
  readonly #waiting: SocketEvent[] = [];
  #failure: PosternError | undefined;
  #isOver = false;
  #wake = (): void => {};
  #cancelWatch: Cancel = () => {};

  constructor(socket: ws.WebSocket, address: string, clock: Clock) {
    this.#socket = socket;
    this.#address = address;
    this.#clock = clock;
    socket.on('open', () => this.#heard());
    socket.on('ping', () => this.#heard());
    socket.on('message', (data) => this.#take((data as Buffer).toString('utf8')));
    socket.on('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => this.#end(noAnswer(error, address)));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        this.#end(refusal(response.statusCode ?? 0, text, response.headers['retry-after'], address));
      });
    });
    socket.on('error', (error) => this.#end(noAnswer(error, address)));
    socket.on('close', () => this.#end());
  }

  /** Resolves with the next event; with undefined once the connection has ended. Throws why it failed. */
  async next(): Promise<SocketEvent | undefined> {
    while (this.#waiting.length === 0 && !this.#isOver) {
      if (this.#socket.isPaused) this.#socket.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const event = this.#waiting.shift();
    if (event === undefined && this.#failure !== undefined) throw this.#failure;
    return event;
  }

  close(): void {
    this.#cancelWatch();
    this.#socket.terminate();
  }

  #take(text: string): void {
    this.#heard();
    const event = parsed(text) as SocketEvent | undefined;
    // A `messages.changed` event has a range instead of an id.
    const isEvent = has(event?.data, 'id') || has(event?.data, 'first_id');
    if (isEvent && event !== undefined) this.#waiting.push(event);
    else this.#end(notPostern(200, this.#address));
    if (this.#waiting.length >= MAX_WAITING) this.#socket.pause();
    this.#wake();
  }

  #heard(): void {
    this.#cancelWatch();
    this.#cancelWatch = this.#clock.after(SILENCE_LIMIT_MS, () => this.#socket.terminate());
  }

  #end(error?: PosternError): void {
    this.#isOver = true;
    this.#failure ??= error;
    this.#wake();
  }
}
