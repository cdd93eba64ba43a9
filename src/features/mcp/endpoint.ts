import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import type { Caller } from '../../core/model/caller.ts';
import { OWNER } from '../../core/model/owner.ts';
import { LocalTime } from '../../core/tools/times.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { Flow } from './flow.ts';
import type { McpAnswer, McpRequest, McpService } from './ports.ts';
import { mcpProblem } from './problems.ts';
import { conversationEvents, subscribedTo } from './resources.ts';
import { mcpServer, mostBytesOf } from './server.ts';
import type { McpParts, RunningRequest } from './server-parts.ts';
import { withoutEmptyArguments } from './tools/arguments.ts';

const ZONE_KEPT_MS = 60_000;
/** Maximum number of subscriptions per key. Each holds a connection. */
const MAX_SUBSCRIPTIONS = 16;
/** A Request needs a whole URL, but the protocol's package reads only the path. */
const ANY_URL = 'http://localhost/mcp';
/**
 * Time within which event streams can tell their clients that the key has ended. After this time, streams that are
 * still open are cut off.
 */
const LAST_WORDS_MS = 1000;

/** Answers both generations of the protocol over HTTP: 2026-07-28, and earlier versions in their stateless form. */
export class McpEndpoint implements McpService {
  readonly #parts: McpParts;
  readonly #tools: readonly Tool[];
  /** One handler per key, so that a subscription receives only what its own key may read. */
  readonly #handlers = new Map<string, McpHttpHandler>();
  readonly #ending = new AbortController();
  /**
   * The running requests. They are kept here until they are answered, because in Node 20 the signal of a
   * garbage-collected request is never aborted.
   */
  readonly #running = new Map<Request, RunningRequest>();
  readonly #inFlight = new AnswersInFlight();
  /**
   * Number of running requests that `close` waits for. Excludes requests of `subscriptions/listen`, because the
   * protocol's handlers end these requests when the service stops.
   */
  #calls = 0;
  #onIdle = (): void => {};
  #time: { readonly local: LocalTime; readonly fromMs: number } | undefined;

  constructor(parts: McpParts, tools: readonly Tool[]) {
    this.#parts = parts;
    this.#tools = tools;
  }

  async answer({ caller, headers, body, signal, requestId }: McpRequest): Promise<McpAnswer> {
    const { resize, release } = this.#inFlight.reserve(caller.key?.id ?? OWNER, mostBytesOf(body, this.#tools));
    const request = new Request(ANY_URL, { method: 'POST', headers, signal });
    const flow = new Flow();
    const { method } = (body ?? {}) as { readonly method?: unknown };
    const isCall = method !== 'subscriptions/listen';
    const subscribed = subscribedTo(isCall ? undefined : body);
    this.#running.set(request, { caller, requestId, flow, isStream: method === 'events/stream', subscribed });
    if (isCall) this.#calls += 1;
    const done = (): void => {
      flow.end();
      if (!this.#running.delete(request) || !isCall) return;
      this.#calls -= 1;
      if (this.#calls === 0) this.#onIdle();
    };
    try {
      const response = await this.#handlerOf(caller).fetch(request, { parsedBody: withoutEmptyArguments(body) });
      const { status, body: stream } = response;
      const type = response.headers.get('content-type') ?? undefined;
      if (stream !== null && type === 'text/event-stream') {
        const close = async (): Promise<void> => {
          done();
          // A request whose client has gone has already ended its stream with an error.
          await stream.cancel().catch(() => undefined);
        };
        return { status, type, stream: { read: () => chunks(stream, flow, done), close }, release };
      }
      const text = await response.text();
      done();
      resize(Buffer.byteLength(text));
      return { status, type, ...(text !== '' && { text }), release };
    } catch (error) {
      done();
      release();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    // Waits for running calls, such as a send, without a deadline. `HttpServer.close` ends calls that take too long.
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      if (this.#calls === 0) resolve();
    });
    await Promise.all([...this.#handlers.values()].map((handler) => handler.close()));
  }

  /** Resolves once all event streams of a key have ended by themselves, but at the latest after `LAST_WORDS_MS`. */
  #lastWords(of: Caller): Promise<unknown> {
    const flows = [...this.#running.values()].filter(({ caller, isStream }) => isStream && caller === of);
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#parts.clock.after(LAST_WORDS_MS, resolve);
    });
    return Promise.race([Promise.all(flows.map(({ flow }) => flow.ended)), late]).finally(() => cancel());
  }

  /**
   * Returns the formatter of times in the Mac's time zone. The formatter is slow to create, so it is cached for a
   * minute. The zone changes only when the Mac travels.
   */
  #localTime(): LocalTime {
    const { clock, timeZone } = this.#parts;
    const nowMs = clock.monotonic();
    if (this.#time === undefined || nowMs - this.#time.fromMs > ZONE_KEPT_MS) {
      this.#time = { local: new LocalTime(timeZone()), fromMs: nowMs };
    }
    return this.#time.local;
  }

  #handlerOf(caller: Caller): McpHttpHandler {
    const id = caller.key?.id ?? OWNER;
    const known = this.#handlers.get(id);
    if (known !== undefined) return known;
    const { log } = this.#parts;
    const keyEnd = new AbortController();
    const handler = createMcpHandler(
      ({ era, requestInfo }) => {
        const request = requestInfo === undefined ? undefined : this.#running.get(requestInfo);
        if (request === undefined) throw new Error('the request is not running any more');
        return mcpServer({
          ...this.#parts,
          request,
          tools: this.#tools,
          era,
          time: () => this.#localTime(),
          ending: this.#ending.signal,
          keyEnd: keyEnd.signal,
        });
      },
      {
        bus: conversationEvents(caller, () => [...this.#running.values()].map(({ subscribed }) => subscribed)),
        maxSubscriptions: MAX_SUBSCRIPTIONS,
        onerror: (error) => log.debug('an MCP request was refused', { reason: error.message }),
      },
    );
    this.#handlers.set(id, handler);
    caller.onEnd?.(() => {
      this.#handlers.delete(id);
      keyEnd.abort();
      void this.#lastWords(caller).then(() => handler.close());
    });
    return handler;
  }
}

async function* chunks(body: ReadableStream<Uint8Array>, flow: Flow, done: () => void): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      yield chunk;
      flow.noteTaken(chunk.length);
    }
  } finally {
    done();
  }
}

const MEGABYTE = 1_000_000;
/** Maximum number of bytes in all answers that are being prepared or sent, per key and in total. */
const MAX_OF_KEY = 16 * MEGABYTE;
const MAX_OF_ALL = 64 * MEGABYTE;
/**
 * Seconds after which a refused client may try again. By then, most clients have read the answers sent to them, and the
 * memory is free again. A client that does not read is disconnected after 60 s (decision O2).
 */
const RETRY_S = 5;

/** The memory reserved for one answer. */
interface Reservation {
  /** Replaces the reserved size by the answer's actual size. */
  readonly resize: (bytes: number) => void;
  /** Frees the reserved memory. Further calls do nothing. */
  readonly release: () => void;
}

/** Bounds the memory of answers that clients do not read. */
export class AnswersInFlight {
  readonly #ofKeys = new Map<string, number>();
  #ofAll = 0;

  /** Reserves memory for an answer of at most `bytes`. Throws `too_many_answers` if there is not enough. */
  reserve(keyId: string, bytes: number): Reservation {
    const ofKey = this.#ofKeys.get(keyId) ?? 0;
    if (ofKey + bytes > MAX_OF_KEY || this.#ofAll + bytes > MAX_OF_ALL) {
      throw mcpProblem('too_many_answers', { seconds: RETRY_S }, { headers: { 'Retry-After': String(RETRY_S) } });
    }
    let reserved = 0;
    let isReleased = false;
    const resize = (to: number): void => {
      if (isReleased) return;
      this.#add(keyId, to - reserved);
      reserved = to;
    };
    const release = (): void => {
      resize(0);
      isReleased = true;
    };
    resize(bytes);
    return { resize, release };
  }

  #add(keyId: string, bytes: number): void {
    const ofKey = (this.#ofKeys.get(keyId) ?? 0) + bytes;
    if (ofKey === 0) this.#ofKeys.delete(keyId);
    else this.#ofKeys.set(keyId, ofKey);
    this.#ofAll += bytes;
  }
}
