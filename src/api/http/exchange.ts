import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Caller } from '../../domain/caller.ts';
import { isAppError } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports/host.ts';
import type { Counters } from '../../runtime/counters.ts';
import { asksForStrict, strictBody } from '../../schema/strict.ts';
import { type Answer, type AnswerStream, completeAnswer, type Headers, inSlices, rawAnswer } from './answer.ts';
import { arrivingBody } from './arriving.ts';
import { readJson } from './body.ts';
import { problemAnswer } from './problem-answer.ts';

/** Decision E8: an id of the client's is used when it is harmless in a header and in a log. */
const HARMLESS_ID = /^[\w.:/+=@~-]{1,128}$/;
/** How long the rest of a refused client's input is still read. */
const LINGER_MS = 2000;

/** Any other is counted as one: a client must not be able to make numbers without end. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

const NO_QUERY = new URLSearchParams();

/** What all exchanges of one server share. */
export interface ExchangeContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  /** True once the server closes: every answer is the last on its connection. */
  readonly isClosing: boolean;
}

/** Where a request came in: at the TCP port, or at the Unix socket (decision O1). */
export type Arrival = 'port' | 'socket';

/** One request and the answer to it, which goes to the response, or as bare bytes to the socket of a handshake. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly method: string;
  /** The request target up to its query, as it was sent. */
  readonly path: string;
  /** The query as it was sent, without the question mark. */
  readonly rawQuery: string;
  readonly id: string;
  readonly arrival: Arrival;
  /** Headers every answer to this request will have. */
  readonly headers: Headers;
  /** Pattern of the matched path; the path itself may hold an address and is never logged. */
  route = '-';
  params: Readonly<Record<string, string>> = {};
  query: URLSearchParams = NO_QUERY;
  #caller: Caller | undefined;
  readonly #context: ExchangeContext;
  readonly #output: ServerResponse | Duplex;
  readonly #startedAtMs: number;
  #isAbandoned = false;
  #abandonment: AbortController | undefined;
  /** Node closes only the first response of a connection that is gone. */
  #onOver: (() => void) | undefined;

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

  /** Who asks. Access control sets it for every request that needs a key. */
  get caller(): Caller {
    if (this.#caller === undefined) throw new Error(`${this.route} is open and has no caller`);
    return this.#caller;
  }

  set caller(caller: Caller) {
    this.#caller = caller;
  }

  /** True once access control let a key in. */
  get hasCaller(): boolean {
    return this.#caller !== undefined;
  }

  /** The segment of the path at `{name}`, decoded. */
  param(name: string): string {
    return this.params[name] ?? '';
  }

  /** The JSON that the request carries. Its key may have ended while the body was on its way. */
  async json(): Promise<unknown> {
    const body = await readJson(this.request);
    this.#caller?.assertAlive?.();
    return this.strictly(body);
  }

  /** Whether the client wants to be told of what would be ignored (decision S1). */
  get isStrict(): boolean {
    return asksForStrict(this.header('prefer'));
  }

  /** The body, in which unknown members are mistakes if the client asked for that. */
  strictly(body: unknown): unknown {
    return this.isStrict ? strictBody(body) : body;
  }

  /** The body as it arrives, which may take longer than that of every other request. */
  arrivingBody(closing: AbortSignal): AsyncIterable<Uint8Array> {
    return arrivingBody(this.request, this.#context.clock, closing);
  }

  /** The one value of a header, undefined when it is missing. */
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
      if (this.#context.isClosing || live !== undefined) headers.Connection = 'close';
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
        // The first part may be long in coming.
        if (stream.bytes === undefined) output.flushHeaders();
        void this.#pour(stream, output);
      }
    } else {
      endSocket(output, rawAnswer(answer.status, headers, text), this.#context.clock);
    }
    this.done(answer.status);
  }

  /** A client that goes away, or a file that shrinks meanwhile, ends the connection in the middle. */
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

  /** Calls `run` once the client has taken the whole answer, or the connection is gone. */
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
    this.#onOver = end;
    this.#output.once('close', end);
  }

  /** The connection is gone: whatever is still read for the answer is closed. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#onOver?.();
    this.#abandonment?.abort();
  }

  /** Answers with the problem that `error` is. */
  fail(error: unknown): void {
    if (!isAppError(error)) this.#context.log.error('a request failed', { requestId: this.id, error });
    if ('headersSent' in this.#output && this.#output.headersSent) this.#output.destroy();
    else this.send(problemAnswer(error));
  }

  /** Writes the one line a finished request leaves in the log (decision E8). */
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
 * Ends a socket with a last answer and still reads for a moment: closing while input is unread would reset the
 * connection, and the client might never see the answer.
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
