import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Response } from '@tinyhttp/app';
import type { Callers, EventCaller } from '../model/caller.ts';
import type { CommandWords } from '../model/command-words.ts';
import { errorCode } from '../model/errors.ts';
import type { Clock, Log } from '../model/ports/host-ports.ts';
import { problem } from '../model/problems.ts';
import type { Counters } from '../runtime/counters.ts';
import { listenPrivately } from '../runtime/unix-socket.ts';
import { parseQuery } from '../schema/query-parameters.ts';
import { AccessControl, type AccessSettings } from './access-control.ts';
import { hasOwnTimeLimits } from './arriving.ts';
import { OPEN_WEB_SOCKET } from './events/routes.ts';
import { type Arrival, Exchange, type ExchangeContext, type ServerHost } from './exchange.ts';
import {
  baseAddressOf,
  type HttpTimeouts,
  hasTooManyHeaders,
  isHandshake,
  listeningAt,
  MAX_HEADER_LINES,
  refuseUnreadable,
  withoutUpgrade,
} from './http-connection.ts';
import type { OriginPolicy } from './origin-policy.ts';
import type { OpenPages } from './pages.ts';
import { Pipelines } from './pipeline.ts';
import { fixedPaths, normalizeTarget } from './request-target.ts';
import { pathOf } from './route.ts';
import { Router, type ServedRoute } from './router.ts';

/**
 * Accepts the socket of an admitted handshake. Throws an AppError to refuse it, but only before writing to the socket.
 */
export type AcceptWebSocket = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  query: URLSearchParams,
  caller: EventCaller,
) => void | Promise<void>;

/** Answers requests whose Host is another name of this service, such as that of a tunnel. */
export interface OtherHost {
  isFor(request: IncomingMessage): boolean;
  receive(exchange: Exchange, access: AccessControl): Promise<void>;
}

/** Answers a request at the port of another protocol. `guard` is the port's guard. */
export type ReceiveWire = (exchange: Exchange, access: AccessControl, guard: OriginPolicy) => Promise<void>;

export interface HttpServerParts {
  readonly settings: AccessSettings;
  readonly apiKey: string;
  /** Finds the caller that a key belongs to. The handlers use this caller's ports. */
  readonly callers: Callers;
  /** The operations that are served. */
  readonly routes: readonly ServedRoute[];
  readonly pages: OpenPages;
  /** Recognises paths whose requests are passed on to another service, which checks and counts them. */
  readonly isPassedOn?: ((path: string) => boolean) | undefined;
  readonly acceptWebSocket: AcceptWebSocket;
  /** They answer the requests whose Host is another name of this service. */
  readonly otherHosts?: readonly OtherHost[] | undefined;
  readonly host: ServerHost;
  readonly timeouts?: HttpTimeouts | undefined;
}

/** These limits apply to the arrival of a request, not to the work on it (decision E7). */
export const TIMEOUTS: HttpTimeouts = { headersMs: 10_000, requestMs: 30_000, checkMs: 1000 };
const MAX_HEADER_BYTES = 16 * 1024;

const WEBSOCKET_PATH = pathOf(OPEN_WEB_SOCKET);

/**
 * The HTTP side of the service: every request and handshake passes access control, then goes to the router or the
 * WebSocket clients.
 */
export class HttpServer implements ExchangeContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  readonly cli?: CommandWords | undefined;
  readonly pages: OpenPages;
  readonly #access: AccessControl;
  readonly #router: Router;
  readonly #acceptWebSocket: AcceptWebSocket;
  readonly #timeouts: HttpTimeouts;
  /** One server for each port, and one for the Unix socket if there is one. */
  readonly #servers: Server[] = [];
  readonly #pipelines: Pipelines;
  readonly #stopping = new AbortController();
  readonly #otherHosts: readonly OtherHost[];
  readonly #fixed: ReadonlySet<string>;
  #url = '';
  #closing: Promise<void> | undefined;

  constructor(parts: HttpServerParts) {
    const { host, pages, routes, timeouts = TIMEOUTS } = parts;
    this.#timeouts = timeouts;
    ({ clock: this.clock, log: this.log, counters: this.counters, cli: this.cli } = host);
    this.pages = pages;
    this.#acceptWebSocket = parts.acceptWebSocket;
    this.#pipelines = new Pipelines(host);
    this.#fixed = fixedPaths(routes.map(({ route }) => route));
    this.#access = new AccessControl({ ...parts, openPaths: pages });
    this.#otherHosts = parts.otherHosts ?? [];
    this.#router = new Router(routes, pages);
  }

  get closing(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The addresses and ports at which the service listens now. */
  get addresses(): readonly AddressInfo[] {
    return this.#servers.flatMap(listeningAt);
  }

  /** Resolves with the base address. Rejects with the socket's error, whose `code` may be `EADDRINUSE`. */
  async listen(host: string, port: number): Promise<string> {
    const server = this.#newServer('port');
    server.listen(port, host);
    await this.#listening(server);
    const { url, isLoopback } = baseAddressOf(server);
    this.#access.guard.isLoopback = isLoopback;
    this.#url = url;
    return url;
  }

  /**
   * Listens on another port for the protocol of another program, whose requests `receive` answers. Rejects like
   * `listen`.
   */
  async listenForWire(host: string, port: number, receive: ReceiveWire): Promise<string> {
    const guard = this.#access.newGuard();
    const server = this.#newServer('wire', (exchange) => receive(exchange, this.#access, guard));
    server.listen(port, host);
    await this.#listening(server);
    const { url, isLoopback } = baseAddressOf(server);
    guard.isLoopback = isLoopback;
    return url;
  }

  /** Address of the port without a path; empty until it listens. */
  get url(): string {
    return this.#url;
  }

  /** Also listens on a Unix socket (decision O1). Requires the lock of Postern's folder. Rejects like `listen`. */
  async listenOnSocket(path: string): Promise<void> {
    const server = this.#newServer('socket');
    listenPrivately(server, path);
    await this.#listening(server);
  }

  async #listening(server: Server): Promise<void> {
    await once(server, 'listening');
    // After an error, such as too few file handles, the new connection is lost, but the service continues.
    server.on('error', (error) => this.log.error('could not accept a connection', { error }));
    this.#servers.push(server);
  }

  /**
   * Accepts no more connections, lets running requests finish, and cuts off the rest after `deadlineMs`. Does not wait
   * for WebSockets that were accepted, because their clients are closed elsewhere.
   */
  close(deadlineMs: number): Promise<void> {
    this.#stopping.abort();
    this.#closing ??= new Promise<void>((resolve) => {
      const finish = (): void => {
        cancel();
        for (const server of this.#servers) server.closeAllConnections();
        resolve();
      };
      const cancel = this.clock.after(deadlineMs, finish);
      for (const server of this.#servers) {
        server.close();
        server.closeIdleConnections();
      }
      this.#pipelines.whenIdle(finish);
    });
    return this.#closing;
  }

  #newServer(arrival: Arrival, handle?: (exchange: Exchange) => Promise<void>): Server {
    const { headersMs, requestMs, checkMs } = this.#timeouts;
    const server = createServer({
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Leaves it to `checkHost` to refuse a missing Host, because Node's refusal would not contain a problem.
      requireHostHeader: false,
    });
    // Node silently drops headers beyond this number, even a Content-Length. The number is one above the limit, so that
    // `hasTooManyHeaders` can recognise a request with too many headers.
    server.maxHeadersCount = MAX_HEADER_LINES + 1;
    // Keeps the connection open for a client that closes its own side after its request, such as `nc -N`, and still
    // waits for the answer. Node's types lack this option.
    Object.assign(server, { httpAllowHalfOpen: true });
    const refuse = (socket: Socket, error?: unknown): void => {
      if (errorCode(error) === 'ERR_HTTP_REQUEST_TIMEOUT' && hasOwnTimeLimits(socket)) return;
      if (errorCode(error) === 'ECONNRESET') socket.destroy();
      else this.#pipelines.of(socket).end(() => refuseUnreadable(this, socket, error));
    };
    const receive = (request: IncomingMessage, response: ServerResponse): void => {
      normalizeTarget(request, this.#fixed);
      if (hasTooManyHeaders(request)) {
        refuse(request.socket, problem('too_many_headers'));
        return;
      }
      this.#pipelines.of(request.socket).add(response, () => {
        const exchange = new Exchange(this, request, response, arrival);
        void (handle?.(exchange) ?? this.#receive(exchange, response));
        return exchange;
      });
    };
    server.on('request', receive);
    // Answers a request with an unknown Expect header like any other, as RFC 9110, 10.1.1 permits.
    server.on('checkExpectation', receive);
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      if (hasTooManyHeaders(request)) return refuse(socket, problem('too_many_headers'));
      const { url: target = '/' } = request;
      normalizeTarget(request, this.#fixed);
      const isOurs = handle === undefined && this.#otherHostOf(request) === undefined;
      const isWebSocket = isOurs && isHandshake(request, WEBSOCKET_PATH);
      // `withoutUpgrade` puts the request back into the socket. This must happen before `whenAnswered` waits, because
      // the socket may end during the wait and then accepts nothing more.
      if (!isWebSocket) withoutUpgrade(request, target, socket, head);
      this.#pipelines.of(socket).whenAnswered(() => {
        // Clears Node's timeout for idle connections, which an earlier answer may have set on the socket.
        socket.setTimeout(0);
        if (isWebSocket) void this.#receiveHandshake(new Exchange(this, request, socket, arrival), socket, head);
        else {
          server.emit('connection', socket);
          socket.resume();
        }
      });
    });
    server.on('connect', (_request: IncomingMessage, socket: Socket) => refuse(socket));
    server.on('clientError', (error: unknown, socket: Socket) => refuse(socket, error));
    return server;
  }

  #otherHostOf(request: IncomingMessage): OtherHost | undefined {
    return this.#otherHosts.find((one) => one.isFor(request));
  }

  async #receive(exchange: Exchange, response: ServerResponse): Promise<void> {
    const otherHost = this.#otherHostOf(exchange.request);
    if (otherHost !== undefined) return otherHost.receive(exchange, this.#access);
    try {
      const answer = await this.#access.admit(exchange);
      if (answer === undefined) this.#router.run(exchange, response as Response);
      else exchange.send(answer);
    } catch (error) {
      exchange.fail(error);
    }
  }

  async #receiveHandshake(exchange: Exchange, socket: Socket, head: Buffer): Promise<void> {
    const destroy = (): void => void socket.destroy();
    socket.on('error', destroy);
    exchange.route = WEBSOCKET_PATH;
    try {
      const caller = await this.#access.admitHandshake(exchange);
      const { isStrict } = exchange;
      if (isStrict) exchange.headers['Preference-Applied'] = 'handling=strict';
      const query = parseQuery(exchange.rawQuery, isStrict);
      // The key is not a parameter of the stream, and access control has already read it.
      query.delete('api_key');
      await this.#acceptWebSocket(exchange.request, socket, head, query, caller);
      // Earlier requests may have paused the socket, and then `resume` alone does not make Node read again.
      socket._read(0);
      socket.resume();
      exchange.done(101);
    } catch (error) {
      exchange.fail(error);
    } finally {
      socket.off('error', destroy);
    }
  }
}
