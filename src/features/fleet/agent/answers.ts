import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { pipeline } from 'node:stream';
import type { Msg, Subscription } from '@nats-io/nats-core';
import type { Clock, Log } from '../../../core/model/ports/host-ports.ts';
import type { MachineRefusal } from '../problems.ts';
import { Call } from '../protocol/call.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import {
  framed,
  type MachineReport,
  type PassedHeaders,
  type Received,
  readRequest,
  whoSubject,
} from '../protocol/requests.ts';
import { requestSubject, WHO } from '../protocol/subjects.ts';

/** A request that is older is refused: it may have waited in a hub or server that stood still. */
const MAX_AGE_MS = 60_000;
/** How far the hub's clock may be ahead. */
const MAX_AHEAD_MS = 5000;
const MAX_CALLS = 64;
/** The rest is the owner's: a client that does not read its answers must not keep others out. */
const MAX_OF_OTHERS = 48;

/** Headers that belong to one connection, or to the hub's origin. */
const DROPPED: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
  ...['host', 'origin', 'cookie', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
]);
/** The router takes paths in capital letters, too. */
const EVENTS = /^\/(?:api\/v1\/events|mcp)/i;
/** MCP's methods whose answers never end. Its endpoint demands their header, and compares it with the body. */
const ENDLESS: ReadonlySet<unknown> = new Set(['events/stream', 'subscriptions/listen']);
const STREAMS = /^(?:text\/event-stream|application\/x-ndjson)\b/i;

export interface AnswersParts {
  readonly member: string;
  readonly machine: string;
  readonly connection: FleetConnection;
  readonly envelope: () => Envelope;
  /** Address of this Mac's own service. */
  readonly serviceUrl: () => string;
  readonly ownerKey: string;
  readonly report: () => Omit<MachineReport, 'member' | 'machine'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Answers the hubs: each request is made at this Mac's own service, and its answer passed on as it comes. */
export class Answers {
  readonly #parts: AnswersParts;
  readonly #calls = new Set<Call>();
  /** Ids of requests, with the time when they came, so that none is answered twice. */
  readonly #seen = new Map<string, number>();
  readonly #began: { readonly atMs: number; readonly monotonicMs: number };
  #subscriptions: readonly Subscription[] = [];

  constructor(parts: AnswersParts) {
    this.#parts = parts;
    this.#began = { atMs: parts.clock.now(), monotonicMs: parts.clock.monotonic() };
  }

  /** Subscribes at a new connection. */
  start(): void {
    this.stop();
    const { member, machine, connection } = this.#parts;
    const one = (queue: string) => ({
      queue,
      callback: (error: Error | null, message: Msg) => this.#take(error, message),
    });
    this.#subscriptions = [
      connection.nc.subscribe(requestSubject(member, machine), one('at')),
      connection.nc.subscribe(requestSubject(member), one('any')),
      connection.nc.subscribe(WHO, { callback: (error, message) => this.#report(error, message) }),
    ];
  }

  stop(): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#subscriptions = [];
    for (const call of this.#calls) call.destroy();
  }

  #report(error: Error | null, message: Msg): void {
    const { member, machine, connection, envelope, report } = this.#parts;
    const subject = whoSubject(member, message);
    if (error !== null || subject === undefined || !connection.isConnected) return;
    connection.nc.publish(subject, envelope().sealJson(member, subject, { member, machine, ...report() }));
  }

  #take(error: Error | null, message: Msg): void {
    if (error !== null) return;
    try {
      this.#answer(readRequest(this.#parts.envelope(), this.#parts.member, message));
    } catch (cause) {
      this.#parts.log.warn('a request of a hub was not answered', { reason: (cause as Error).message });
    }
  }

  #answer(received: Received): void {
    const { member, machine, connection, envelope, clock } = this.#parts;
    const call = new Call({ connection, envelope: envelope(), clock, member, id: received.id }, 'mac');
    const refused = this.#refusal(received);
    if (refused !== undefined) {
      call.refuse(refused);
      return;
    }
    this.#calls.add(call);
    call.once('close', () => this.#calls.delete(call));
    call.acknowledge(machine);
    // The service says how long a request may take.
    const server = createServer({ requestTimeout: 0 }, (request, response) => {
      this.#pass(received, call, request, response);
    });
    server.emit('connection', call);
  }

  #refusal({ id, isOwner, atMs }: Received): MachineRefusal | undefined {
    const now = this.#parts.clock.now();
    for (const [known, cameMs] of this.#seen) {
      if (now - cameMs < 2 * MAX_AGE_MS) break;
      this.#seen.delete(known);
    }
    if (now - atMs > MAX_AGE_MS || atMs - now > MAX_AHEAD_MS || this.#seen.has(id) || this.#isOfBefore(atMs)) {
      return 'clock_differs';
    }
    this.#seen.set(id, now);
    return this.#calls.size >= (isOwner ? MAX_CALLS : MAX_OF_OTHERS) ? 'mac_busy' : undefined;
  }

  /**
   * Reports whether a request was made before this process began, so that an earlier one may have answered it. After a
   * minute, such a request is too old anyway. Without the limit, a clock that was set back would refuse all requests.
   */
  #isOfBefore(atMs: number): boolean {
    const { atMs: beganMs, monotonicMs } = this.#began;
    return atMs < beganMs && this.#parts.clock.monotonic() - monotonicMs < MAX_AGE_MS;
  }

  /** Makes the request at the own service, and passes its answer on as it comes, which may take as long as there. */
  #pass({ isOwner }: Received, call: Call, asked: IncomingMessage, answer: ServerResponse): void {
    const { serviceUrl, ownerKey } = this.#parts;
    const { hostname, port } = new URL(serviceUrl());
    const host = hostname.replace(/^\[|\]$/g, '');
    const own = { ...passed(asked.headers), ...(isOwner && { authorization: undefined, 'x-api-key': ownerKey }) };
    const headers = framed(own, asked.headers['transfer-encoding'] !== undefined);
    const request = httpRequest({ host, port, method: asked.method, path: asked.url, headers, agent: false });
    call.once('close', () => request.destroy());
    request.on('error', () => {
      if (!answer.headersSent) call.refuse('mac_service_away');
    });
    request.on('response', (response) => {
      if (isEndless(asked, response)) return void call.refuse('fleet_stream');
      answer.writeHead(response.statusCode ?? 502, framed(passed(response.headers), false));
      pipeline(response, answer, () => {});
    });
    // The service may answer before it has the whole body.
    asked.pipe(request);
  }
}

/** The hub itself has the streams of events. All other answers of MCP to a POST, and exports, have an end. */
function isEndless({ method, url = '', headers: asked }: IncomingMessage, { headers }: IncomingMessage): boolean {
  const mayBe = method === 'GET' || ENDLESS.has(asked['mcp-method']);
  return mayBe && EVENTS.test(url) && STREAMS.test(headers['content-type'] ?? '');
}

function passed(headers: IncomingHttpHeaders): PassedHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !DROPPED.has(name)));
}
