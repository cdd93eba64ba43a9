import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import type { ServerHost } from '../../src/core/http/exchange.ts';
import type { ResourceParts } from '../../src/core/http/resources.ts';
import { HttpServer, type HttpServerParts } from '../../src/core/http/server.ts';
import type { Caller } from '../../src/core/model/caller.ts';
import type { Conversation } from '../../src/core/model/conversation.ts';
import type { Mistake } from '../../src/core/model/errors.ts';
import type { Key } from '../../src/core/model/key.ts';
import type { Message } from '../../src/core/model/message.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { Ports } from '../../src/core/model/port.ts';
import type { RowFeed } from '../../src/core/model/ports/feed-ports.ts';
import { Naming } from '../../src/core/model/ports/names-ports.ts';
import type { BackendHealth, MessageQuery, MessageReader, Page } from '../../src/core/model/ports/reading-ports.ts';
import type { CallerSender, SendAnswer, SendRequest, SendResult } from '../../src/core/model/ports/sending-ports.ts';
import type { Uploads } from '../../src/core/model/ports/uploads-ports.ts';
import { problem } from '../../src/core/model/problems.ts';
import type { StatusReport } from '../../src/core/model/status.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { Counters } from '../../src/core/runtime/counters.ts';
import { type MacPagesParts, servedByMac } from '../../src/core/served-by-mac.ts';
import { LIMITED_KEY } from './any-key.ts';
import { plainJson } from './event-json.ts';
import { collectingLog } from './log.ts';
import { MemoryWebhooks } from './memory-webhooks.ts';

export const KEY = 'schlüssel+1';

export const MESSAGE: Message = {
  id: '7',
  guid: 'G7',
  conversation_id: 'any;-;+15550100',
  sender: '+15550100',
  body: 'Grüße 👋',
  attachments: [],
  timestamp: '2026-01-02T03:04:05Z',
  is_from_me: false,
  status: 'delivered',
};

export const CONVERSATION: Conversation = {
  id: 'any;-;+15550100',
  display_name: null,
  participants: ['+15550100'],
  last_message_at: '2026-01-02T03:04:05Z',
};

const NO_FEED: RowFeed = {
  lastPublished: () => rowOffset(0),
  live: () => {
    throw new Error('not used');
  },
  resume: () => {
    throw new Error('not used');
  },
  consume: () => {
    throw new Error('not used');
  },
  changeGeneration: () => 0,
  offsetText: ({ rowId }) => String(rowId),
  admits: () => true,
  wanted: () => undefined,
  resolve: (offset) => rowOffset(offset !== undefined && 'rowId' in offset ? offset.rowId : 0),
  page: (after) => ({
    entries:
      after.rowId < 7
        ? [{ offset: rowOffset(7), rowId: 7, guid: 'G7', event: { type: 'message.received', data: MESSAGE } }]
        : [],
    looked: 1,
    upTo: rowOffset(7),
  }),
};

const NO_UPLOADS: Uploads = {
  add: () => Promise.reject(problem('not_found')),
  files: () => [],
  rename: () => Promise.reject(problem('not_found')),
  discard: () => Promise.resolve(),
  remove: () => Promise.resolve(),
};

/** The status of a service that has just started. */
export const STATUS: StatusReport = {
  version: '0.0.0',
  uptime_s: 1,
  backend: { connected: true, message: null },
  newest_row: 7,
  newest_event: { row_id: 7, age_s: null },
  webhooks: [],
  permissions: [],
};

/** A reader that knows one message and one conversation, and records its requests. */
class MemoryReader implements MessageReader {
  readonly queries: MessageQuery[] = [];
  next: string | undefined;
  failure: Error | undefined;
  /** The current state of its row. */
  stored: Message = MESSAGE;

  async listMessages(query: MessageQuery): Promise<Page<Message>> {
    this.#check();
    this.queries.push(query);
    return this.#page(MESSAGE);
  }

  message(id: string): Message | undefined {
    this.#check();
    return id === this.stored.id ? this.stored : undefined;
  }

  async listConversations(): Promise<Page<Conversation>> {
    this.#check();
    return this.#page(CONVERSATION);
  }

  async conversation(id: string): Promise<Conversation | undefined> {
    this.#check();
    return id === CONVERSATION.id ? CONVERSATION : undefined;
  }

  chats() {
    return Promise.resolve([]);
  }

  marks(): ReturnType<MessageReader['marks']> {
    return new Map();
  }

  #page<Item>(item: Item): Page<Item> {
    return this.next === undefined ? { items: [item] } : { items: [item], next: this.next };
  }

  #check(): void {
    if (this.failure !== undefined) throw this.failure;
  }
}

/** A sender that records what it was asked to send; files below /missing do not exist. */
class MemorySender implements CallerSender {
  readonly sent: SendRequest[] = [];
  answer: (request: SendRequest) => SendResult | Promise<SendResult> = () => ({
    confirmed: true,
    message: MESSAGE,
    replayed: false,
  });

  async attachmentMistakes(paths: readonly string[]): Promise<readonly Mistake[]> {
    return paths.flatMap((path, index) =>
      path.startsWith('/missing') ? [{ pointer: `/attachments/${index}`, message: 'There is no such file.' }] : [],
    );
  }

  async send(request: SendRequest): Promise<SendAnswer> {
    this.sent.push(request);
    return { kind: 'sent', ...(await this.answer(request)) };
  }
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

export interface Call {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
  /** Sends the key unless this is false. */
  readonly key?: boolean;
}

export type GatewayOptions = Partial<
  Pick<HttpServerParts, 'apiKey' | 'acceptWebSocket' | 'timeouts' | 'otherHosts'> &
    ResourceParts &
    MacPagesParts &
    ServerHost &
    Omit<Caller, 'key'>
> & {
  readonly settings?: Partial<HttpServerParts['settings']>;
  /** The limited key that `LIMITED_KEY` stands for; none if absent. */
  readonly limited?: Key;
  /** Adds ports of features. */
  readonly provide?: (ports: Ports) => void;
};

/** The real HTTP server of the core on port 0, with in-memory ports behind it. */
export class HttpGateway {
  readonly server: HttpServer;
  readonly reader = new MemoryReader();
  readonly sender = new MemorySender();
  readonly webhooks = new MemoryWebhooks();
  readonly log = collectingLog();
  backend: BackendHealth = { connected: true, message: null };
  url = '';

  protected constructor({ settings, limited, provide, clock, log, counters, cli, ...options }: GatewayOptions) {
    const ports = new Ports();
    provide?.(ports);
    const owner: Caller = {
      key: undefined,
      reader: this.reader,
      sender: this.sender,
      webhooks: this.webhooks,
      feed: NO_FEED,
      json: plainJson(),
      naming: new Naming(),
      attachments: { open: async () => undefined },
      status: () => STATUS,
      port: (wanted) => ports.get(wanted),
      uploads: NO_UPLOADS,
      ...options,
    };
    const resources: ResourceParts = {
      ready: () => undefined,
      appSettings: () => Promise.reject(problem('not_found')),
      health: () => this.backend,
      writeMetrics: () => undefined,
      checkPermissions: () => Promise.resolve([]),
      openStream: () => Promise.reject(problem('not_found')),
      ...options,
    };
    const pages: MacPagesParts = { features: [], pages: [], notReady: () => [], version: '0.0.0', ...options };
    this.server = new HttpServer({
      apiKey: KEY,
      acceptWebSocket: () => {
        throw new Error('not used');
      },
      ...options,
      ...servedByMac(resources, pages),
      settings: { rateLimitPerMinute: 1000, allowedHosts: [], allowedOrigins: [], ...settings },
      callers: {
        owner,
        find: (key) => (limited !== undefined && key === LIMITED_KEY ? { ...owner, key: limited } : undefined),
      },
      host: { clock: clock ?? systemClock, log: log ?? this.log, counters: counters ?? new Counters(), cli },
    });
  }

  static start(options: GatewayOptions = {}, host = '127.0.0.1'): Promise<HttpGateway> {
    return new HttpGateway(options).listen(host);
  }

  /** Listens, and returns itself. */
  protected async listen(host: string): Promise<this> {
    this.url = await this.server.listen(host, 0);
    return this;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  close(): Promise<void> {
    return this.server.close(1000);
  }

  get(path: string, call: Call = {}): Promise<HttpAnswer> {
    return this.call('GET', path, call);
  }

  post(path: string, body: unknown, call: Call = {}): Promise<HttpAnswer> {
    return this.call('POST', path, { body: JSON.stringify(body), ...call });
  }

  /** Sends one request with exactly these headers and this path. */
  async call(method: string, path: string, { headers = {}, body, key = true }: Call = {}): Promise<HttpAnswer> {
    const request = httpRequest({
      host: '127.0.0.1',
      port: this.port,
      method,
      path,
      agent: false,
      headers: { ...(key && { 'x-api-key': Buffer.from(KEY).toString('latin1') }), ...headers },
    });
    // The rest of the body cannot be written if the answer came first.
    request.on('error', () => undefined);
    // Sends bytes, because Node would encode the headers of a string body like the string.
    request.end(body === undefined ? undefined : Buffer.from(body));
    const [response] = (await once(request, 'response')) as [
      AsyncIterable<Buffer> & { statusCode: number; headers: IncomingHttpHeaders },
    ];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return answerOf(response.statusCode, response.headers, Buffer.concat(chunks).toString());
  }

  /** Sends bytes and returns everything received until the server closes. */
  async raw(text: string): Promise<string> {
    const socket = connect(this.port, '127.0.0.1');
    socket.write(Buffer.from(text, 'latin1'));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  }
}

function answerOf(status: number, headers: IncomingHttpHeaders, text: string): HttpAnswer {
  const isJson = /json/.test(headers['content-type'] ?? '') && text !== '';
  return { status, headers, text, json: isJson ? JSON.parse(text) : undefined };
}
