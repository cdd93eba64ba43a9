import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { SubscriptionService } from '../../src/features/mcp/subscriptions/ports.ts';
import { type Delivery, Receiver } from './receiver.ts';
import type { Service } from './service.ts';

/** A secret of Standard Webhooks. */
export const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes, 32').toString('base64')}`;
export const OTHER_SECRET = `whsec_${Buffer.from('other secret of thirty-two bytes').toString('base64')}`;

/** Subscriptions of services whose keys subscribe to nothing. */
export const noSubscriptions: SubscriptionService = {
  start: () => Promise.resolve(),
  of: () => [],
  subscribe: () => Promise.reject(new Error('not used')),
  unsubscribe: () => Promise.resolve(false),
  remove() {},
  terminate() {},
  close: () => Promise.resolve(),
};

/** The members that the tests read in any result. */
interface RpcResult {
  readonly id: string;
  readonly cursor: string;
  readonly truncated: boolean;
  readonly hasMore: boolean;
  readonly refreshBefore: string;
  readonly deliveryStatus?: object;
  readonly events: readonly (Posted & { readonly name: string; readonly delivery: readonly string[] })[];
  readonly capabilities: { readonly events?: object; readonly extensions: Readonly<Record<string, object>> };
}

export interface RpcAnswer {
  readonly status: number;
  readonly result?: RpcResult;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> };
}

export interface Told {
  readonly method?: string;
  readonly params?: Posted & { readonly _meta: Readonly<Record<string, unknown>> };
  readonly result?: object;
  readonly error?: object;
}

/** A client of MCP Events that sends each message exactly as the specification says. */
export class EventsClient {
  readonly #service: Service;
  readonly #key: string;
  #id = 0;

  constructor(service: Service, key: string) {
    this.#service = service;
    this.#key = key;
  }

  async call(method: string, params: object = {}): Promise<RpcAnswer> {
    const response = await this.#post(method, params);
    const text = await response.text();
    const message = (text.startsWith('{') ? JSON.parse(text) : messagesIn(text).at(-1)) as RpcAnswer;
    return { ...message, status: response.status };
  }

  /** Returns the result of a call. Throws its error. */
  async ask(method: string, params: object = {}): Promise<RpcResult> {
    const { result, error } = await this.call(method, params);
    if (result === undefined) throw new Error(JSON.stringify(error));
    return result;
  }

  /** Yields the messages of one `events/stream` as they arrive. */
  async *stream(params: object, signal?: AbortSignal): AsyncGenerator<Told> {
    const response = await this.#post('events/stream', params, signal);
    if (response.headers.get('content-type') !== 'text/event-stream') {
      yield (await response.json()) as Told;
      return;
    }
    let rest = '';
    for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      rest += chunk;
      const end = rest.lastIndexOf('\n\n');
      if (end === -1) continue;
      yield* messagesIn(rest.slice(0, end));
      rest = rest.slice(end + 2);
    }
  }

  #post(method: string, params: object, signal?: AbortSignal): Promise<Response> {
    this.#id += 1;
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    return fetch(`http://127.0.0.1:${this.#service.port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-api-key': this.#key,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: this.#id, method, params: { ...params, _meta: meta } }),
      ...(signal !== undefined && { signal }),
    });
  }
}

function messagesIn(text: string): Told[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => JSON.parse(line.slice('data:'.length)) as Told);
}

/** A body that a subscription posted. */
export interface Posted {
  readonly eventId?: string;
  readonly name?: string;
  readonly type?: string;
  readonly challenge?: string;
  readonly cursor?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
}

type Answer = (response: ServerResponse, posted: Posted) => void;

/** A receiver of subscriptions that confirms its address, and otherwise answers as told. */
export class Callback {
  readonly receiver: Receiver;
  #answer: Answer;

  private constructor(receiver: Receiver, answer: Answer) {
    this.receiver = receiver;
    this.#answer = answer;
  }

  static async start(answer: Answer = (response) => void response.writeHead(204).end(), port = 0): Promise<Callback> {
    const receiver = await Receiver.start(undefined, port);
    const callback = new Callback(receiver, answer);
    receiver.answerWith((response, { body }) => {
      const posted = JSON.parse(body.toString()) as Posted;
      if (posted.type !== 'verification') callback.#answer(response, posted);
      else response.writeHead(200).end(JSON.stringify({ challenge: posted.challenge }));
    });
    return callback;
  }

  get url(): string {
    return this.receiver.url;
  }

  answerWith(answer: Answer): void {
    this.#answer = answer;
  }

  /** All bodies, challenges included. */
  get posted(): readonly Posted[] {
    return this.receiver.deliveries.map(({ body }) => JSON.parse(body.toString()) as Posted);
  }

  get events(): readonly Posted[] {
    return this.posted.filter(({ eventId }) => eventId !== undefined);
  }

  close(): Promise<void> {
    return this.receiver.close();
  }
}

/** Returns the signatures that a delivery must have, from a second implementation of Standard Webhooks. */
export function signatureOf({ headers, body }: Delivery, ...secrets: readonly string[]): string {
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body.toString()}`;
  return secrets
    .map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`)
    .join(' ');
}
