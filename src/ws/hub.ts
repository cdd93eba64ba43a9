import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Caller } from '../domain/caller.ts';
import { isAppError } from '../domain/errors.ts';
import type { IncludeSet } from '../domain/include.ts';
import type { EventFeed } from '../domain/ports/feed.ts';
import type { Cancel, Clock, Log } from '../domain/ports/host.ts';
import { problem } from '../domain/problems.ts';
import { webSocketQuery } from '../wire/event.ts';
import type { EventJson } from '../wire/event-json.ts';
import { readQuery } from '../wire/query.ts';
import { Client, type ClientParts } from './client.ts';
import { openClientSocket } from './client-socket.ts';
import { FrameCache } from './frame-batch.ts';

/** Decision G1. */
const PING_EVERY_MS = 30_000;
const MAX_FRAME_BYTES = 4 * 1024;
/** RFC 6455, 7.4.1. */
const GOING_AWAY = 1001;
const INTERNAL_ERROR = 1011;
const POLICY_VIOLATION = 1008;
/** Longest time for serving clients before other work runs. */
const MAX_PASS_MS = 8;
/** Until the feed is asked again after chat.db was away (decision G3). */
const RETRY_MS = 1000;

/** What a client joins with. */
interface Joining {
  readonly stream: Stream;
  readonly caller: Caller;
}

export interface HubParts {
  readonly feed: EventFeed;
  readonly clock: Clock;
  readonly log: Log;
  readonly json: EventJson;
  /** Resolves when what is to be included can be had; undefined when it can be now. */
  readonly ready: (include: IncludeSet) => Promise<void> | undefined;
}

/** What one client asked for. */
type Stream = Pick<ClientParts, 'frames' | 'join' | 'canLoseEvents' | 'admits'>;

/**
 * The WebSocket clients. Publishing notes which of them may have something to read, and one pass soon after serves
 * them all: a batch of events is framed once for all clients at the same position.
 */
export class Hub {
  readonly #parts: HubParts;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
  });
  readonly #frames = new Map<IncludeSet, FrameCache>();
  readonly #framesWithChanges = new Map<IncludeSet, FrameCache>();
  readonly #clients = new Set<Client>();
  readonly #awake = new Set<Client>();
  /** Clients whose reader threw `unavailable`. */
  readonly #waiting = new Set<Client>();
  #isPassScheduled = false;
  #cancelPing: Cancel | undefined;
  #cancelAgain: Cancel | undefined;
  #accepted = 0;
  #missed = 0;
  #closing: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#server.on('wsClientError', (error) => {
      // Emitted inside handleUpgrade: what is thrown here comes out of `accept`.
      const headers = { 'Sec-WebSocket-Version': '13, 8' };
      throw problem('bad_handshake', { reason: error.message }, { headers, cause: error });
    });
  }

  /** Clients connected now, and events lost by slow ones since the start (decision C7). */
  get counts(): { readonly clients: number; readonly missed: number } {
    return { clients: this.#clients.size, missed: this.#missed };
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
    const { after, changes, include } = readQuery(webSocketQuery, query);
    const upgrade = (): void => {
      if (this.#closing !== undefined) throw problem('shutting_down');
      const { feed } = this.#parts;
      const position = after === undefined && !changes ? undefined : feed.resolve(after, { changes });
      const stream: Stream = {
        frames: caller.admits === undefined ? this.#framesOf(include, changes) : this.#ownFrames(include, caller),
        admits: caller.admits,
        canLoseEvents: after === undefined,
        join: (onMore) =>
          after === undefined || position === undefined
            ? feed.live(onMore, { changes })
            : feed.resume(position, onMore, { changes, backpressure: true }),
      };
      this.#server.handleUpgrade(request, socket, head, (webSocket) =>
        this.#welcome(webSocket, socket, { stream, caller }),
      );
    };
    const ready = this.#parts.ready(include);
    return ready === undefined ? upgrade() : ready.then(upgrade);
  }

  /** Closes every client with 1001 (decision A7) and terminates those that remain after `withinMs`. Twice is fine. */
  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  #welcome(webSocket: WebSocket, socket: Duplex, { stream, caller }: Joining): void {
    const { log } = this.#parts;
    this.#accepted += 1;
    const number = this.#accepted;
    const client = new Client({
      ...stream,
      socket: openClientSocket(webSocket, socket),
      wake: (woken) => this.#wake(woken),
      onMissed: (missed) => {
        this.#missed += missed;
        log.warn('a slow WebSocket client lost events', { client: number, missed });
      },
    });
    this.#clients.add(client);
    for (const sign of ['message', 'ping', 'pong'] as const) webSocket.on(sign, () => client.noteHeard());
    // An error closes the client, and `close` follows.
    webSocket.on('error', (error) => log.debug('WebSocket protocol error', { client: number, error }));
    webSocket.on('close', () => this.#leave(client));
    const cancel = caller.onEnd?.(() => client.socket.close(POLICY_VIOLATION, 'The key is no longer valid.'));
    if (cancel !== undefined) webSocket.on('close', cancel);
    this.#wake(client);
    this.#cancelPing ??= this.#parts.clock.after(PING_EVERY_MS, () => this.#pingAll());
  }

  /** Clients with and without changes are sent other entries, and so have caches of their own. */
  #framesOf(include: IncludeSet, changes: boolean): FrameCache {
    const caches = changes ? this.#framesWithChanges : this.#frames;
    let frames = caches.get(include);
    if (frames === undefined) {
      frames = new FrameCache((entry) => this.#parts.json(entry, include));
      caches.set(include, frames);
    }
    return frames;
  }

  /** A limited key sees other events, and other names in them. */
  #ownFrames(include: IncludeSet, { contacts }: Caller): FrameCache {
    return new FrameCache((entry) => this.#parts.json(entry, include, contacts.names));
  }

  #leave(client: Client): void {
    client.leave();
    for (const set of [this.#clients, this.#awake, this.#waiting]) set.delete(client);
    if (this.#clients.size > 0) return;
    this.#cancelPing?.();
    this.#cancelPing = undefined;
    this.#onEmpty?.();
  }

  #wake(client: Client): void {
    this.#awake.add(client);
    if (this.#isPassScheduled) return;
    this.#isPassScheduled = true;
    setImmediate(() => this.#pass());
  }

  #pass(): void {
    this.#isPassScheduled = false;
    const { clock } = this.#parts;
    const endsAtMs = clock.monotonic() + MAX_PASS_MS;
    for (const client of this.#awake) {
      this.#awake.delete(client);
      this.#serve(client);
      if (clock.monotonic() < endsAtMs) continue;
      const [next] = this.#awake;
      if (next !== undefined) this.#wake(next);
      return;
    }
    for (const caches of [this.#frames, this.#framesWithChanges]) for (const frames of caches.values()) frames.clear();
  }

  #serve(client: Client): void {
    try {
      client.serve();
    } catch (error) {
      if (isAppError(error) && error.code === 'chat_db_unavailable') {
        this.#waiting.add(client);
        this.#cancelAgain ??= this.#parts.clock.after(RETRY_MS, () => this.#wakeWaiting());
        return;
      }
      this.#parts.log.error('could not serve a WebSocket client', { error });
      client.socket.close(INTERNAL_ERROR, 'Internal error.');
    }
  }

  #wakeWaiting(): void {
    this.#cancelAgain = undefined;
    for (const client of this.#waiting) this.#wake(client);
    this.#waiting.clear();
  }

  #pingAll(): void {
    for (const client of this.#clients) {
      const reason = client.livenessError();
      if (reason === undefined) client.socket.ping();
      else {
        this.#parts.log.info('dropped a WebSocket client', { reason });
        client.socket.terminate();
      }
    }
    this.#cancelPing = this.#parts.clock.after(PING_EVERY_MS, () => this.#pingAll());
  }

  async #close(withinMs: number): Promise<void> {
    this.#cancelAgain?.();
    this.#pass();
    const emptied = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      if (this.#clients.size === 0) resolve();
    });
    for (const client of this.#clients) client.socket.close(GOING_AWAY, 'The service is shutting down.');
    const cancelDeadline = this.#parts.clock.after(withinMs, () => {
      for (const client of this.#clients) client.socket.terminate();
    });
    await emptied;
    cancelDeadline();
    this.#server.close();
  }
}
