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
  const waiting: SocketEvent[] = [];
  let failure: PosternError | undefined;
  let isOver = false;
  let wake = (): void => {};
  let cancelWatch: Cancel = () => {};
  const end = (error?: PosternError): void => {
    isOver = true;
    failure ??= error;
    wake();
  };
  const abort = (): void => socket.terminate();
  const heard = (): void => {
    cancelWatch();
    cancelWatch = clock.after(SILENCE_LIMIT_MS, abort);
  };
  socket.on('open', heard);
  socket.on('ping', heard);
  socket.on('message', (data) => {
    heard();
    const event = parsed((data as Buffer).toString('utf8')) as SocketEvent | undefined;
    // A `messages.changed` event has a range instead of an id.
    const isEvent = has(event?.data, 'id') || has(event?.data, 'first_id');
    if (isEvent && event !== undefined) waiting.push(event);
    else end(notPostern(200, address));
    if (waiting.length >= MAX_WAITING) socket.pause();
    wake();
  });
  socket.on('unexpected-response', (_request, response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', (error) => end(noAnswer(error, address)));
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      end(refusal(response.statusCode ?? 0, text, response.headers['retry-after'], address));
    });
  });
  socket.on('error', (error) => end(noAnswer(error, address)));
  socket.on('close', () => end());
  signal?.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      const event = waiting.shift();
      if (event !== undefined) {
        yield event;
      } else if (isOver) {
        break;
      } else {
        if (socket.isPaused) socket.resume();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    if (failure !== undefined) throw failure;
  } finally {
    cancelWatch();
    signal?.removeEventListener('abort', abort);
    socket.terminate();
  }
}
