import type { ServerResponse } from 'node:http';
import type { EventFeed } from '../model/ports/feed-ports.ts';
import type { StreamForm, StreamRequest } from '../model/ports/streams-ports.ts';
import type { EventBatch, Framing } from './batch.ts';
import { type ClientSocket, type Position, writeBatch } from './client.ts';
import { Clients, type Format, type StreamParts } from './clients.ts';

/**
 * Sends a ping text every 15 s (decision Q1). Drops a client that reads nothing for 60 s; the same limit applies to
 * WebSocket clients.
 */
const KIND = {
  name: 'stream client',
  pingEveryMs: 15_000,
  patience: { silentPings: undefined, stuckPings: 4 },
} as const;

const UNFRAMED: Framing = { headerSize: () => 0, writeHeader: (_bytes, at) => at };

/** A stream format, with the text that is sent every 15 s to keep the connection alive. */
interface Form extends Format {
  ping(position: Position | undefined, changes: boolean): string;
}

function formsOf(feed: Pick<EventFeed, 'offsetText'>): Readonly<Record<StreamForm, Form>> {
  return {
    sse: {
      framing: UNFRAMED,
      textOf: ({ offset, generation }, json) => `id: ${feed.offsetText(offset, generation)}\ndata: ${json}\n\n`,
      ping: () => ':\n\n',
    },
    ndjson: {
      framing: UNFRAMED,
      textOf: ({ offset, generation }, json) =>
        // The JSON of an entry with a `generation` already contains the offset.
        generation === undefined
          ? `${json.slice(0, -1)},"offset":"${feed.offsetText(offset, undefined)}"}\n`
          : `${json}\n`,
      ping(position, changes) {
        if (position === undefined) return '';
        const { offset, generation } = position;
        return `{"offset":"${feed.offsetText(offset, changes ? generation : undefined)}"}\n`;
      },
    },
  };
}

interface OpenedStream {
  /** Starts sending events. Call after the headers were sent. */
  begin(response: ServerResponse): void;
  /** Releases the reserved slot. Called instead of `begin`. */
  giveUp(): void;
}

/** The clients of `GET /events` that receive an endless answer (decision Q1). */
export class HttpStreams {
  readonly #ready: StreamParts['ready'];
  readonly #clients: Clients;
  readonly #forms: Readonly<Record<StreamForm, Form>>;

  constructor(parts: StreamParts & { readonly feed: Pick<EventFeed, 'offsetText'> }) {
    this.#ready = parts.ready;
    this.#forms = formsOf(parts.feed);
    this.#clients = new Clients(parts, KIND);
  }

  /**
   * The number of connected clients, and the number of events that slow clients have lost since startup (decision C7).
   */
  get counts(): Clients['counts'] {
    return this.#clients.counts;
  }

  /**
   * Reserves a slot for a client. If the client cannot be served, throws an AppError before any part of an answer is
   * sent.
   */
  async open(request: StreamRequest, form: StreamForm): Promise<OpenedStream> {
    await this.#ready(request.include);
    const format = this.#forms[form];
    const joining = await this.#clients.prepare(request, format);
    return {
      begin: (response) => {
        const socket = new ResponseStream(response, (position) => format.ping(position, request.changes));
        const { leave } = this.#clients.add(joining, socket);
        response.once('close', leave);
        // A client that closes its half of the connection could still read the answer, but an endless answer would
        // never end. The client therefore counts as gone.
        response.socket?.once('end', () => response.destroy());
      },
      giveUp: joining.giveUp,
    };
  }

  /** Ends every answer (decision A7), and after `withinMs` cuts off those that have not ended. */
  close(withinMs: number): Promise<void> {
    return this.#clients.close(withinMs);
  }
}

/**
 * Writes an endless answer. The end of the connection marks the end of the answer, so batches are written unchanged,
 * without chunk framing.
 */
class ResponseStream implements ClientSocket {
  readonly #response: ServerResponse;
  readonly #pingText: (position: Position | undefined) => string;

  constructor(response: ServerResponse, pingText: (position: Position | undefined) => string) {
    this.#response = response;
    this.#pingText = pingText;
  }

  isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  send(batch: EventBatch, onDrain: () => void): boolean {
    const response = this.#response;
    const { socket } = response;
    if (socket === null || 'Bun' in globalThis) {
      // There is no socket to write to: Bun never provides one, and Node provides none while this answer waits behind
      // earlier ones on its connection.
      response.write(batch.bytes, (error) => {
        if (!error) onDrain();
      });
      return false;
    }
    return writeBatch(socket, batch, onDrain);
  }

  ping(position: Position | undefined): void {
    // While bytes are queued, no ping is needed: a client that reads them is alive.
    const { socket } = this.#response;
    if (!this.isOpen() || socket === null || socket.writableLength > 0) return;
    const text = this.#pingText(position);
    if (text !== '') socket.write(text);
  }

  close(): void {
    this.#response.end();
  }

  terminate(): void {
    this.#response.destroy();
  }
}
