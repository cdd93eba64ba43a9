import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { EventCaller } from '../model/caller.ts';
import type { Log } from '../model/ports/host-ports.ts';
import { problem } from '../model/problems.ts';
import { readQuery } from '../schema/query-parameters.ts';
import { streamQuery } from '../schema/stream-query.ts';
import { asksForStrict } from '../schema/strict.ts';
import type { EventBatch, Framing } from './batch.ts';
import { type ClientSocket, type EndReason, writeBatch } from './client.ts';
import { Clients, type Format, type Joining, type StreamParts } from './clients.ts';

/** Pings every 30 s. Drops a client that answers neither of two pings, or reads nothing for 60 s (decision G1). */
const KIND = {
  name: 'WebSocket client',
  pingEveryMs: 30_000,
  patience: { silentPings: 2, stuckPings: 2 },
} as const;
const MAX_FRAME_BYTES = 4 * 1024;

/** First byte of an unfragmented text frame (RFC 6455, 5.2). */
const TEXT_FRAME = 0x81;

/** One unmasked text frame per event. */
export const TEXT_FRAMES: Framing = {
  headerSize(length) {
    if (length < 126) return 2;
    return length < 65536 ? 4 : 10;
  },

  writeHeader(bytes, at, length) {
    bytes[at] = TEXT_FRAME;
    if (length < 126) {
      bytes[at + 1] = length;
      return at + 2;
    }
    if (length < 65536) {
      bytes[at + 1] = 126;
      return bytes.writeUInt16BE(length, at + 2);
    }
    bytes[at + 1] = 127;
    bytes.writeUInt32BE(Math.floor(length / 2 ** 32), at + 2);
    return bytes.writeUInt32BE(length % 2 ** 32, at + 6);
  },
};

const FORMAT: Format = { framing: TEXT_FRAMES, textOf: (_entry, json) => json };

export class WebSocketClients {
  readonly #ready: StreamParts['ready'];
  readonly #log: Log;
  readonly #clients: Clients;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    autoPong: false,
  });

  constructor(parts: StreamParts) {
    this.#ready = parts.ready;
    this.#log = parts.log;
    this.#clients = new Clients(parts, KIND);
    this.#server.on('headers', (lines, { headers: { prefer } }) => {
      if (asksForStrict(prefer?.toString())) lines.push('Preference-Applied: handling=strict');
    });
    this.#server.on('wsClientError', (error) => {
      // `accept` calls `handleUpgrade`, which calls this listener. The caller of `accept` therefore receives the error.
      const headers = { 'Sec-WebSocket-Version': '13, 8' };
      throw problem('bad_handshake', { reason: error.message }, { headers, cause: error });
    });
  }

  /**
   * The number of connected clients, and the number of events that slow clients have lost since startup (decision C7).
   */
  get counts(): Clients['counts'] {
    return this.#clients.counts;
  }

  /**
   * Upgrades a request that access control has admitted. If the client cannot be served, throws an AppError before any
   * part of an answer is sent.
   */
  async accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    query: URLSearchParams,
    caller: EventCaller,
  ): Promise<void> {
    const { after, changes, include, ...narrowing } = readQuery(streamQuery, query);
    await this.#ready(include);
    const joining = await this.#clients.prepare({ after, changes, include, narrowing, caller }, FORMAT);
    let isWelcome = false;
    try {
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        isWelcome = true;
        this.#welcome(webSocket, socket, joining);
      });
    } finally {
      // The handshake was invalid, or the client is gone.
      if (!isWelcome) joining.giveUp();
    }
  }

  /**
   * Closes every client with 1001 (decision A7), and after `withinMs` terminates the remaining ones. May be called
   * twice.
   */
  async close(withinMs: number): Promise<void> {
    await this.#clients.close(withinMs);
    this.#server.close();
  }

  #welcome(webSocket: WebSocket, socket: Duplex, joining: Joining): void {
    const { client, leave } = this.#clients.add(joining, openClientSocket(webSocket, socket));
    for (const sign of ['message', 'ping', 'pong'] as const) webSocket.on(sign, () => client.noteHeard());
    answerPings(webSocket);
    // After an error, ws closes the connection and emits `close`.
    webSocket.on('error', (error) => this.#log.debug('WebSocket protocol error', { error }));
    webSocket.on('close', leave);
  }
}

/**
 * Answers only the newest of several pings that arrived together, as RFC 6455, 5.5.3 allows, because each answer costs
 * a write.
 */
function answerPings(webSocket: WebSocket): void {
  let newest: Buffer | undefined;
  webSocket.on('ping', (data: Buffer) => {
    if (newest === undefined) {
      setImmediate(() => {
        if (webSocket.readyState === webSocket.OPEN) webSocket.pong(newest);
        newest = undefined;
      });
    }
    newest = data;
  });
}

/**
 * Close codes and reasons (RFC 6455, 7.4.1 and 7.4.2). 4410 stands for HTTP status 410, because browsers cannot see the
 * status of a refused handshake.
 */
const CLOSINGS = {
  shutting_down: [1001, 'The service is shutting down.'],
  key_ended: [1008, 'The key is no longer valid.'],
  offset_expired: [4410, 'The offset has expired. Read the messages again.'],
  failure: [1011, 'Internal error.'],
} as const;

/**
 * Returns the socket that sends events. Under Node it writes complete WebSocket frames itself, because with many
 * clients, framing each event in ws would be the largest cost. It leaves only ping, pong and close to ws. Bun's `ws`
 * does not expose the socket, so there ws sends the events too.
 */
function openClientSocket(webSocket: WebSocket, socket: Duplex): ClientSocket {
  return 'Bun' in globalThis ? new MessageSocket(webSocket) : new FrameSocket(webSocket, socket);
}

/** Sends each event with one `send`, the public interface of ws. */
class MessageSocket implements ClientSocket {
  readonly #webSocket: WebSocket;

  constructor(webSocket: WebSocket) {
    this.#webSocket = webSocket;
  }

  isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  send(batch: EventBatch, onDrain: () => void): boolean {
    let isTaken = false;
    let isWaiting = false;
    const last = batch.texts.length - 1;
    for (const [index, text] of batch.texts.entries()) {
      if (index < last) this.#webSocket.send(text);
      // If nothing is queued, the callback runs before `send` returns.
      else {
        this.#webSocket.send(text, (error) => {
          isTaken = !error;
          if (isWaiting && isTaken) onDrain();
        });
      }
    }
    isWaiting = !isTaken && this.#webSocket.bufferedAmount > 0;
    return !isWaiting;
  }

  ping(): void {
    this.#webSocket.ping();
  }

  close(reason: EndReason): void {
    const [code, text] = CLOSINGS[reason];
    this.#webSocket.close(code, text);
  }

  terminate(): void {
    this.#webSocket.terminate();
  }
}

class FrameSocket extends MessageSocket {
  readonly #socket: Duplex;

  constructor(webSocket: WebSocket, socket: Duplex) {
    super(webSocket);
    this.#socket = socket;
  }

  override send(batch: EventBatch, onDrain: () => void): boolean {
    return writeBatch(this.#socket, batch, onDrain);
  }
}
