import type { Conversation } from '../domain/conversation.ts';
import type { Event, EventType } from '../domain/event.ts';
import type { Message } from '../domain/message.ts';
import type { BackendHealth, Clock } from '../domain/ports.ts';
import type { DeliveryRecord, Webhook, WebhookStatus, WebhookTestResult } from '../domain/webhook.ts';
import { systemClock } from '../runtime/clock.ts';

export type { Conversation } from '../domain/conversation.ts';
export type { Event, EventType } from '../domain/event.ts';
export type { Message, MessageStatus } from '../domain/message.ts';
export type { Reaction, ReactionType } from '../domain/reaction.ts';
export type { Webhook } from '../domain/webhook.ts';

/** Waits before connecting anew, milliseconds; the last one repeats. */
const RECONNECT_MS = [250, 1000, 2000, 5000, 10_000];

export interface ClientOptions {
  /** Base address of the service. Default `http://127.0.0.1:3001`. */
  readonly url?: string;
  readonly key: string;
  readonly clock?: Clock;
}

export interface MessageFilter {
  readonly conversation_id?: string;
  /** ISO 8601; strictly after. */
  readonly since?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly order?: 'asc' | 'desc';
}

export interface ListenOptions {
  /** Row id to go on after: nothing after it is missed. Default: from now on. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** Told when the line broke and when it is tried again. */
  readonly onReconnect?: (reason: string, inMs: number) => void;
}

/** What the service refused, in its own words (RFC 9457). `status` is 0 when it could not be reached at all. */
export class PosternError extends Error {
  override readonly name = 'PosternError';
  readonly status: number;
  readonly code: string;
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(sentence(problem) || `The service answered ${status}.`);
    this.status = status;
    this.code = typeof problem.code === 'string' ? problem.code : 'unknown';
    this.problem = problem;
  }
}

/** The documented API, typed. Every method throws PosternError. */
export class PosternClient {
  readonly #base: URL;
  readonly #key: string;
  readonly #clock: Clock;

  constructor({ url = 'http://127.0.0.1:3001', key, clock = systemClock }: ClientOptions) {
    this.#base = new URL('/api/v1/', url);
    this.#key = key;
    this.#clock = clock;
  }

  health(): Promise<{ readonly status: 'ok'; readonly backend: BackendHealth }> {
    return this.#json('GET', 'health');
  }

  conversations(page: { readonly limit?: number; readonly offset?: number } = {}): Promise<Conversation[]> {
    return this.#json('GET', `conversations${queryOf(page)}`);
  }

  conversation(id: string): Promise<Conversation> {
    return this.#json('GET', `conversations/${encodeURIComponent(id)}`);
  }

  messages(filter: MessageFilter = {}): Promise<Message[]> {
    return this.#json('GET', `messages${queryOf(filter)}`);
  }

  message(id: string): Promise<Message> {
    return this.#json('GET', `messages/${encodeURIComponent(id)}`);
  }

  /** Every message that fits, page after page; deep pages are as fast as the first. */
  async *allMessages(filter: MessageFilter = {}): AsyncGenerator<Message, void> {
    let next: string | undefined = `messages${queryOf({ limit: 200, ...filter })}`;
    while (next !== undefined) {
      const response = await this.#request('GET', next);
      yield* (await response.json()) as Message[];
      next = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    }
  }

  /** Sends; the same `idempotencyKey` never sends twice. `id` is "" while the row has not been seen yet. */
  send(request: {
    readonly recipient: string;
    readonly body?: string;
    readonly attachments?: readonly string[];
    readonly idempotencyKey?: string;
  }): Promise<Message> {
    const { idempotencyKey, ...message } = request;
    return this.#json('POST', 'messages', { body: '', ...message }, idempotencyKey);
  }

  webhooks(): Promise<Webhook[]> {
    return this.#json('GET', 'webhooks');
  }

  webhook(id: string): Promise<Webhook & WebhookStatus> {
    return this.#json('GET', `webhooks/${encodeURIComponent(id)}`);
  }

  addWebhook(webhook: {
    readonly url: string;
    readonly events: readonly EventType[];
    readonly secret?: string;
  }): Promise<Webhook> {
    return this.#json('POST', 'webhooks', webhook);
  }

  async removeWebhook(id: string): Promise<void> {
    await this.#request('DELETE', `webhooks/${encodeURIComponent(id)}`);
  }

  deliveries(id: string): Promise<DeliveryRecord[]> {
    return this.#json('GET', `webhooks/${encodeURIComponent(id)}/deliveries`);
  }

  testWebhook(id: string): Promise<WebhookTestResult> {
    return this.#json('POST', `webhooks/${encodeURIComponent(id)}/test`);
  }

  async replayWebhook(id: string, after: number): Promise<void> {
    await this.#request('POST', `webhooks/${encodeURIComponent(id)}/replay`, { after });
  }

  /** Events after a row id, oldest first, at most `limit` (1000). */
  events(after: number, limit = 100): Promise<Event[]> {
    return this.#json('GET', `events${queryOf({ after, limit })}`);
  }

  /** The service's own account of itself. */
  status(): Promise<Readonly<Record<string, unknown>>> {
    return this.#json('GET', 'status');
  }

  /**
   * Events as they happen, over a WebSocket that is connected anew whenever it breaks and goes on after the
   * last event taken: no gap, no repeat. Ends when `signal` is aborted; throws when the key is refused or the
   * row id means nothing any more (410).
   */
  async *listen({ after, signal, onReconnect }: ListenOptions = {}): AsyncGenerator<Event, void> {
    const isAborted = (): boolean => signal?.aborted ?? false;
    let last = after;
    let attempt = 0;
    while (!isAborted()) {
      let reason: string;
      try {
        for await (const event of this.#line(last, signal)) {
          if (event === 'open') {
            attempt = 0;
            continue;
          }
          last = Number(event.data.id);
          yield event;
        }
        reason = 'the connection was closed';
      } catch (error) {
        if (error instanceof PosternError && [400, 401, 403, 404, 410].includes(error.status)) throw error;
        reason = error instanceof Error ? error.message : String(error);
      }
      if (isAborted()) return;
      const waitMs = RECONNECT_MS[Math.min(attempt, RECONNECT_MS.length - 1)] ?? 0;
      attempt += 1;
      onReconnect?.(reason, waitMs);
      await this.#wait(waitMs, signal);
    }
  }

  /** One connection: `open`, then its events, until it ends. */
  async *#line(after: number | undefined, signal: AbortSignal | undefined): AsyncGenerator<Event | 'open', void> {
    const { default: WebSocket } = await import('ws');
    const url = new URL('ws', this.#base);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    url.searchParams.set('api_key', this.#key);
    if (after !== undefined) url.searchParams.set('after', String(after));
    const socket = new WebSocket(url);
    const queue: (Event | 'open')[] = [];
    let wake = (): void => {};
    let failure: Error | undefined;
    let isOver = false;
    const end = (error?: Error): void => {
      isOver = true;
      failure ??= error;
      wake();
    };
    socket.on('open', () => {
      queue.push('open');
      wake();
    });
    socket.on('message', (data) => {
      queue.push(JSON.parse((data as Buffer).toString('utf8')) as Event);
      // What is not taken stays with the service, which reads it again from its log.
      if (queue.length > 1000) socket.pause();
      wake();
    });
    socket.on('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        end(new PosternError(response.statusCode ?? 0, parsed(Buffer.concat(chunks).toString('utf8')))),
      );
      response.on('error', end);
    });
    socket.on('error', end);
    socket.on('close', () => end());
    const abort = (): void => socket.terminate();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      for (;;) {
        const item = queue.shift();
        if (item !== undefined) {
          yield item;
          continue;
        }
        if (isOver) break;
        socket.resume();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (failure !== undefined) throw failure;
    } finally {
      signal?.removeEventListener('abort', abort);
      socket.terminate();
    }
  }

  async #json<Result>(method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<Result> {
    const response = await this.#request(method, path, body, idempotencyKey);
    return (await response.json()) as Result;
  }

  async #request(method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<Response> {
    const headers = new Headers({ 'X-API-Key': this.#key });
    if (body !== undefined) headers.set('Content-Type', 'application/json');
    if (idempotencyKey !== undefined) headers.set('Idempotency-Key', idempotencyKey);
    let response: Response;
    try {
      const content = body === undefined ? {} : { body: JSON.stringify(body) };
      response = await fetch(new URL(path, this.#base), { method, headers, ...content });
    } catch (error) {
      throw new PosternError(0, {
        code: 'unreachable',
        detail: `Postern does not answer at ${this.#base.origin}: ${causeOf(error)}`,
      });
    }
    if (response.ok) return response;
    throw new PosternError(response.status, parsed(await response.text()));
  }

  #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const cancel = this.#clock.after(ms, end);
      signal?.addEventListener('abort', end);
    });
  }
}

function queryOf(parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? ''
    : `?${given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function sentence(problem: Readonly<Record<string, unknown>>): string {
  const mistakes = Array.isArray(problem.errors)
    ? (problem.errors as { pointer: string; message: string }[]).map(({ pointer, message }) => `${pointer}: ${message}`)
    : [];
  return [problem.detail, ...mistakes, problem.hint].filter((part) => typeof part === 'string').join(' ');
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code) : String(cause);
}
