import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import type { Msg, Subscription } from '@nats-io/nats-core';
import type { Clock, Log } from '../../../core/model/ports/host-ports.ts';
import { Call } from '../protocol/call.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import {
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

/** PassedHeaders that belong to one connection, or to the hub's origin. */
const DROPPED: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
  ...['host', 'origin', 'cookie', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
]);
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
  #subscriptions: readonly Subscription[] = [];

  constructor(parts: AnswersParts) {
    this.#parts = parts;
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
    for (const call of this.#calls) call.cancel();
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
      const received = readRequest(this.#parts.envelope(), this.#parts.member, message);
      this.#answer(received).catch((cause: unknown) => this.#note(cause));
    } catch (cause) {
      this.#note(cause);
    }
  }

  #note(cause: unknown): void {
    this.#parts.log.warn('a request of a hub was not answered', { reason: (cause as Error).message });
  }

  async #answer(received: Received): Promise<void> {
    const { member, machine, connection, envelope, clock } = this.#parts;
    const call = new Call({ connection, envelope: envelope(), clock, member, id: received.id }, 'mac');
    const refused = this.#refusal(received);
    if (refused !== undefined) {
      call.sendJson('failed', { code: refused });
      return call.close();
    }
    this.#calls.add(call);
    call.onOver(() => this.#calls.delete(call));
    call.sendJson('ack', { machine });
    try {
      await this.#pass(received, call);
    } finally {
      call.cancel();
    }
  }

  #refusal({ id, atMs }: Received): string | undefined {
    const now = this.#parts.clock.now();
    for (const [known, cameMs] of this.#seen) {
      if (now - cameMs < 2 * MAX_AGE_MS) break;
      this.#seen.delete(known);
    }
    if (now - atMs > MAX_AGE_MS || atMs - now > MAX_AHEAD_MS || this.#seen.has(id)) return 'clock_differs';
    this.#seen.set(id, now);
    return this.#calls.size >= MAX_CALLS ? 'mac_busy' : undefined;
  }

  async #pass(received: Received, call: Call): Promise<void> {
    let response: IncomingMessage;
    try {
      response = await this.#ask(received, call);
    } catch {
      call.sendJson('failed', { code: 'mac_service_away' });
      return call.close();
    }
    try {
      if (isEndless(received, response)) {
        call.sendJson('failed', { code: 'fleet_stream' });
        return call.close();
      }
      call.sendJson('head', { status: response.statusCode, headers: passed(response.headers) });
      for await (const piece of response) await call.write(piece as Uint8Array);
      call.send('end');
      call.close();
    } finally {
      response.destroy();
    }
  }

  /** Makes the request at the own service. Resolves once the answer begins, which may take as long as there. */
  #ask(received: Received, call: Call): Promise<IncomingMessage> {
    const { serviceUrl, ownerKey } = this.#parts;
    const { method, path, headers, isOwner, hasBody } = received;
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(serviceUrl());
      const own = isOwner ? { ...passed(headers), authorization: undefined, 'x-api-key': ownerKey } : passed(headers);
      const host = hostname.replace(/^\[|\]$/g, '');
      const request = httpRequest({ host, port, method, path, headers: defined(own), agent: false });
      request.on('response', resolve);
      request.on('error', reject);
      call.onOver(() => request.destroy());
      if (hasBody) void upload(call, request);
      else request.end();
    });
  }
}

/** Passes the request's body on. The service may answer before it has the whole body, so nothing here ends the call. */
async function upload(call: Call, request: ClientRequest): Promise<void> {
  try {
    for (;;) {
      const { kind, bytes } = await call.next();
      if (kind === 'end') break;
      if (kind !== 'data') throw new Error('The parts of a body are out of order.');
      if (!request.write(bytes)) await drained(request);
      call.send('taken');
    }
    request.end();
  } catch {
    request.destroy();
  }
}

function drained(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    request.once('drain', resolve);
    request.once('close', resolve);
  });
}

/** The hub itself has the streams of events. Answers of MCP to a POST, and exports, have an end. */
function isEndless({ method, path }: Received, { headers }: IncomingMessage): boolean {
  const isEvents = path.startsWith('/api/v1/events') || path.startsWith('/mcp');
  return method === 'GET' && isEvents && STREAMS.test(headers['content-type'] ?? '');
}

function defined(headers: Readonly<Record<string, string | readonly string[] | undefined>>): OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]]],
    ),
  );
}

function passed(headers: Readonly<Record<string, string | readonly string[] | undefined>>): PassedHeaders {
  const kept: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !DROPPED.has(name)) kept[name] = value;
  }
  return kept;
}
