import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Caller } from '../../../domain/caller.ts';
import type { Log } from '../../../domain/ports/host.ts';
import { problem } from '../../../domain/problems.ts';
import { streamQuery } from '../../../schema/event.ts';
import { readQuery } from '../../../schema/query.ts';
import { Clients, type Format, type Joining, type StreamParts } from '../clients.ts';
import { openClientSocket } from './client-socket.ts';
import { TEXT_FRAMES } from './frames.ts';

/** Pings 30 s apart. A client may leave two unanswered, or read nothing during two (decision G1). */
const KIND = {
  name: 'WebSocket client',
  pingEveryMs: 30_000,
  patience: { silentPings: 2, stuckPings: 2 },
} as const;
const MAX_FRAME_BYTES = 4 * 1024;

const FORMAT: Format = { framing: TEXT_FRAMES, textOf: (_entry, json) => json };

/** The WebSocket clients. */
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
    this.#server.on('wsClientError', (error) => {
      // Emitted inside handleUpgrade: an error thrown here leaves through `accept`.
      const headers = { 'Sec-WebSocket-Version': '13, 8' };
      throw problem('bad_handshake', { reason: error.message }, { headers, cause: error });
    });
  }

  /** Clients connected now, and events lost by slow ones since the start (decision C7). */
  get counts(): Clients['counts'] {
    return this.#clients.counts;
  }

  /**
   * Upgrades a request that access control has admitted. Throws an AppError before anything was answered (decisions
   * G1, G3).
   */
  accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    query: URLSearchParams,
    caller: Caller,
  ): void | Promise<void> {
    const { max_age_s, junk, ...asked } = readQuery(streamQuery, query);
    const upgrade = (): void => {
      const wanted = { ...asked, after: asked.after, narrowing: { max_age_s, junk }, caller };
      const joining = this.#clients.prepare(wanted, FORMAT);
      let isWelcome = false;
      try {
        this.#server.handleUpgrade(request, socket, head, (webSocket) => {
          isWelcome = true;
          this.#welcome(webSocket, socket, joining);
        });
      } finally {
        // The handshake was invalid, or the client has gone.
        if (!isWelcome) joining.giveUp();
      }
    };
    const ready = this.#ready(asked.include, asked.after);
    return ready === undefined ? upgrade() : ready.then(upgrade);
  }

  /**
   * Closes every client with 1001 (decision A7) and terminates those that remain after `withinMs`. May be called
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
    // An error closes the client, and `close` follows.
    webSocket.on('error', (error) => this.#log.debug('WebSocket protocol error', { error }));
    webSocket.on('close', leave);
  }
}

/**
 * Answers only the newest of several pings that arrived together, as RFC 6455, 5.5.3 allows: each answer costs a
 * write.
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
