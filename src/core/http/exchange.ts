import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Caller, EventCaller } from '../model/caller.ts';
import { type CommandWords, completedFor } from '../model/command-words.ts';
import { errorCode, isAppError } from '../model/errors.ts';
import type { Clock, Log } from '../model/ports/host-ports.ts';
import type { Counters } from '../runtime/counters.ts';
import { asksForBody, asksForStrict, strictBody } from '../schema/strict.ts';
import { type Answer, type AnswerStream, completeAnswer, type Headers, inSlices, rawAnswer } from './answer.ts';
import { arrivingBody } from './arriving.ts';
import { readJson } from './body.ts';
import type { OpenPages } from './pages.ts';
import { problemAnswer } from './problem-answer.ts';
import { API } from './route.ts';

/** A client's request id is used if it is harmless in a header and in a log (decision E8). */
const HARMLESS_ID = /^[\w.:/+=@~-]{1,128}$/;
/** Time for which `endSocket` reads and discards input after the last answer, before it destroys the socket. */
const LINGER_MS = 2000;

/**
 * The methods that metrics count by name. All others count as `other`, so that clients cannot create unlimited labels.
 */
const KNOWN_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

const NO_QUERY = new URLSearchParams();

/** The parts that a server gives every exchange, whatever it serves. */
export interface ServerHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  /** How a person runs a command with this service, for the hints of problems. */
  readonly cli?: CommandWords | undefined;
}

/** The state shared by all exchanges of one server. */
export interface ExchangeContext extends ServerHost {
  /** Address of the port without a path; empty until it listens. */
  readonly url: string;
  readonly pages: OpenPages;
  /** Aborted once the server is closing. Every answer then closes its connection. */
  readonly closing: AbortSignal;
}

/** How a request arrived: at the TCP port, the Unix socket (decision O1), or another protocol's port. */
export type Arrival = 'port' | 'socket' | 'wire';

/**
 * One request and its answer. The answer goes to a ServerResponse or, for a WebSocket handshake, to the socket as raw
 * HTTP.
 */
export class Exchange<Who extends EventCaller = Caller> {
  readonly request: IncomingMessage;
  readonly method: string;
  /** The raw request target up to its query. */
  readonly path: string;
  /** The raw query, without the question mark. */
  readonly rawQuery: string;
  readonly id: string;
  readonly arrival: Arrival;
  /** Headers that the answer gets in any case, even if it is an error. */
  readonly headers: Headers;
  /**
   * Pattern of the matched route, for metrics and logs. The path itself may contain an address, so the path is never
   * logged.
   */
  route = '-';
  params: Readonly<Record<string, string>> = {};
  query: URLSearchParams = NO_QUERY;
  /** Called if the service to which the request was passed on refuses its key, or needs none. */
  onKeyless: (() => void) | undefined;
  #caller: Who | undefined;
  readonly #context: ExchangeContext;
  readonly #output: ServerResponse | Duplex;
  readonly #startedAtMs: number;
  #isAbandoned = false;
  #abandonment: AbortController | undefined;
  /**
   * The callbacks of `whenOver`. `abandon` also calls them, because Node reports a closed connection only to the first
   * of several pipelined responses.
   */
  readonly #onOver: (() => void)[] = [];

  constructor(
    context: ExchangeContext,
    request: IncomingMessage,
    output: ServerResponse | Duplex,
    arrival: Arrival = 'port',
  ) {
    const { url = '/', method = 'GET' } = request;
    const mark = url.indexOf('?');
    this.#context = context;
    this.#output = output;
    this.#startedAtMs = context.clock.monotonic();
    this.request = request;
    this.arrival = arrival;
    this.method = method;
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.rawQuery = mark === -1 ? '' : url.slice(mark + 1);
    this.id = requestId(request);
    this.headers = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store', 'X-Request-Id': this.id };
  }

  /** The caller. Access control sets it for every request that needs a key. */
  get caller(): Who {
    if (this.#caller === undefined) throw new Error(`${this.route} is open and has no caller`);
    return this.#caller;
  }

  set caller(caller: Who) {
    this.#caller = caller;
  }

  /** Reports whether access control has set the caller. */
  get hasCaller(): boolean {
    return this.#caller !== undefined;
  }

  get clock(): Clock {
    return this.#context.clock;
  }

  get counters(): Counters {
    return this.#context.counters;
  }

  /** Aborted when the service begins to stop. */
  get closing(): AbortSignal {
    return this.#context.closing;
  }

  /** The address of the service for a browser on this machine, without a path. */
  get serviceUrl(): string {
    return this.#context.url;
  }

  /** Returns the decoded path segment that the route's pattern calls `{name}`. */
  param(name: string): string {
    return this.params[name] ?? '';
  }

  /** Returns the JSON in the request. Throws if the caller's key expired or was revoked while the body was arriving. */
  async json(): Promise<unknown> {
    const body = await readJson(this.request);
    this.#caller?.assertAlive?.();
    return this.strictly(body);
  }

  /** True for `Prefer: handling=strict`, which makes unknown members errors (decision S1). */
  get isStrict(): boolean {
    return asksForStrict(this.header('prefer'));
  }

  /** True for `Prefer: return=representation`: answers that would otherwise be 204 then have a body. */
  get wantsBody(): boolean {
    return asksForBody(this.header('prefer'));
  }

  /** Returns the body. If the request is strict, marks the body, so that unknown members in it are errors. */
  strictly(body: unknown): unknown {
    return this.isStrict ? strictBody(body) : body;
  }

  /** Yields the body as it arrives, with longer time limits than `json`. */
  arrivingBody(): AsyncIterable<Uint8Array> {
    return arrivingBody(this.request, this.clock, this.closing);
  }

  /** Returns the value of a request header; undefined if the header is missing. `name` is in lower case. */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** Aborted when the connection closes before the answer is complete. */
  get signal(): AbortSignal {
    this.#abandonment ??= new AbortController();
    if (this.#isAbandoned) this.#abandonment.abort();
    return this.#abandonment.signal;
  }

  send(answer: Answer): void {
    const { headers } = this;
    const text = completeAnswer(answer, headers);
    const output = this.#output;
    if ('writeHead' in output) {
      if (this.#isAbandoned) {
        void answer.stream?.close();
        answer.live?.giveUp();
        this.done(answer.status);
        return;
      }
      const { live } = answer;
      if (this.closing.aborted || live !== undefined) headers.Connection = 'close';
      if (live !== undefined) output.useChunkedEncodingByDefault = false;
      output.writeHead(answer.status, headers);
      const stream = answer.stream ?? inSlices(text);
      if (live !== undefined && this.method !== 'HEAD') {
        output.flushHeaders();
        live.begin(output);
      } else if (stream === undefined) {
        live?.giveUp();
        output.end(text);
      } else {
        // Sends the headers now, because the first part of the body may take a long time.
        if (stream.bytes === undefined) output.flushHeaders();
        void this.#pour(stream, output);
      }
    } else {
      endSocket(output, rawAnswer(answer.status, headers, text), this.#context.clock);
    }
    this.done(answer.status);
  }

  /**
   * Sends a streamed body. Closes the connection if the client disconnects, or if the body turns out shorter than
   * announced.
   */
  async #pour(stream: AnswerStream, response: ServerResponse): Promise<void> {
    response.strictContentLength = stream.bytes !== undefined;
    try {
      if (this.method === 'HEAD' || stream.bytes === 0) {
        await stream.close();
        response.end();
      } else {
        await pipeline(stream.read(), response, { signal: this.signal });
      }
    } catch (error) {
      this.#context.log.debug('a client disconnected before the end of a response', { requestId: this.id, error });
      response.destroy();
    }
  }

  /** Calls `run` once the whole answer is sent, or the connection has closed. */
  whenOver(run: () => void): void {
    let isOver = false;
    const end = (): void => {
      if (!isOver) run();
      isOver = true;
    };
    if (this.#isAbandoned) {
      end();
      return;
    }
    this.#onOver.push(end);
    this.#output.once('close', end);
  }

  /** Aborts the work on the answer. Called when the connection closes before the answer is complete. */
  abandon(): void {
    this.#isAbandoned = true;
    for (const end of this.#onOver) end();
    this.#abandonment?.abort();
  }

  /** Logs an error that is not a problem of the catalogue. */
  noteDefect(error: unknown): void {
    if (!isAppError(error)) this.#context.log.error('a request failed', { requestId: this.id, error });
  }

  /** Answers with the problem for `error`. */
  fail(error: unknown): void {
    this.noteDefect(error);
    if ('headersSent' in this.#output && this.#output.headersSent) {
      this.#output.destroy();
      return;
    }
    const { cli, pages } = this.#context;
    const lacksPage = errorCode(error) === 'not_found' && !`${this.path}/`.startsWith(`${API}/`);
    const page = lacksPage ? pages.missing?.(this) : undefined;
    this.send(page ?? problemAnswer(error, (hint) => completedFor(this.#caller, hint, cli)));
  }

  /**
   * Counts the request in the metrics, and writes its one log line (decision E8). Called when sending the answer
   * begins, so `ms` excludes the time to send a streamed body.
   */
  done(status: number): void {
    const { clock, log, counters } = this.#context;
    const method = KNOWN_METHODS.has(this.method) ? this.method : 'other';
    counters.requests.inc({ method, route: this.route, status: String(status) });
    const ms = Math.round((clock.monotonic() - this.#startedAtMs) * 10) / 10;
    log.info('request', { requestId: this.id, method: this.method, route: this.route, status, ms });
  }
}

function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && HARMLESS_ID.test(given) ? given : randomUUID();
}

/**
 * Ends a socket with a last answer and keeps reading for a moment: closing with unread input would reset the
 * connection, and the client might never receive the answer.
 */
export function endSocket(socket: Duplex, text: string, clock: Clock): void {
  socket.on('error', () => socket.destroy());
  socket.end(text);
  socket.resume();
  socket.once(
    'close',
    clock.after(LINGER_MS, () => socket.destroy()),
  );
}
