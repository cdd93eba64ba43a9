import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { latin1Header } from '../../../client/transport.ts';

/** The service's address and the key to use. */
export interface McpDestination {
  readonly url?: string | undefined;
  /** Unix socket to connect to instead of a URL. */
  readonly socketPath?: string | undefined;
  readonly key: string;
  /** The service's address, as shown in warnings and errors. */
  readonly address: string;
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: unknown;
    readonly uri?: unknown;
    readonly requestId?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly result?: { readonly protocolVersion?: unknown };
}

const VERSION_IN_BODY = 'io.modelcontextprotocol/protocolVersion';
/** JSON-RPC error code for a request that the service did not answer. The code is in the range for servers. */
const NO_ANSWER = -32_000;
const NOT_JSON = -32_700;

/** Passes an MCP client's messages on to the service as requests, without interpreting them. */
export class McpPipe {
  readonly #to: McpDestination;
  readonly #write: (line: string) => void;
  readonly #warn: (sentence: string) => void;
  /** Requests that are not answered yet. Key: the request id. Value: the controller that aborts the request. */
  readonly #running = new Map<string | number, AbortController>();
  readonly #all = new Set<Promise<void>>();
  /**
   * Protocol version from the answer to `initialize`. Later versions of the protocol state the version in every message
   * instead.
   */
  #version: string | undefined;

  constructor(to: McpDestination, write: (line: string) => void, warn: (sentence: string) => void) {
    this.#to = to;
    this.#write = write;
    this.#warn = warn;
  }

  /**
   * Passes on one line from the client; undefined stands for a line that is too long. Writes the answer when it
   * arrives.
   */
  pass(line: string | undefined): void {
    if (line?.trim() === '') return;
    const message = line === undefined ? undefined : parsed(line);
    if (line === undefined || message === undefined) {
      const error = {
        code: NOT_JSON,
        message: `Parse error: the line is ${line === undefined ? 'too long' : 'not JSON'}.`,
      };
      this.#write(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
      return;
    }
    if (message.method === 'notifications/cancelled') {
      this.#running.get(message.params?.requestId as string | number)?.abort();
      return;
    }
    const passing = this.#pass(line, message).finally(() => this.#all.delete(passing));
    this.#all.add(passing);
  }

  /** Resolves once every request is answered. */
  async idle(): Promise<void> {
    await Promise.all(this.#all);
  }

  close(): void {
    for (const controller of this.#running.values()) controller.abort();
  }

  async #pass(line: string, message: Message): Promise<void> {
    const { id } = message;
    const controller = new AbortController();
    if (id !== undefined) this.#running.set(id, controller);
    try {
      const response = await this.#post(line, message, controller.signal);
      const type = response.headers['content-type'] ?? '';
      if (type.startsWith('text/event-stream')) {
        for await (const data of eventsOf(response)) this.#answer(data);
      } else {
        const text = await textOf(response);
        if (type.startsWith('application/json')) this.#answer(text);
        else if ((response.statusCode ?? 0) >= 400) this.#fail(id, this.#refusal(response.statusCode ?? 0, text));
      }
    } catch (error) {
      if (!controller.signal.aborted) this.#fail(id, this.#trouble(error));
    } finally {
      if (id !== undefined) this.#running.delete(id);
    }
  }

  #answer(text: string): void {
    const message = parsed(text);
    const version = message?.result?.protocolVersion;
    if (typeof version === 'string') this.#version = version;
    // Writes the message as one line, even if the service's answer has several lines.
    this.#write(message === undefined ? text.replaceAll(/[\r\n]+/g, ' ') : JSON.stringify(message));
  }

  #fail(id: Message['id'], sentence: string): void {
    this.#warn(sentence);
    if (id === undefined) return;
    this.#write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: NO_ANSWER, message: sentence } }));
  }

  #post(line: string, message: Message, signal: AbortSignal): Promise<IncomingMessage> {
    const url = new URL('/mcp', this.#to.url ?? 'http://localhost');
    const body = Buffer.from(line);
    const headers = {
      'X-API-Key': latin1Header(this.#to.key),
      'Content-Type': 'application/json',
      'Content-Length': body.length,
      Accept: 'application/json, text/event-stream',
      ...this.#protocolHeaders(message),
    };
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const socket = this.#to.socketPath === undefined ? {} : { socketPath: this.#to.socketPath };
      const request = send(url, { ...socket, method: 'POST', headers, signal }, resolve);
      request.on('error', reject);
      request.end(body);
    });
  }

  /** Returns the header fields that repeat parts of the body. The service compares the fields with the body. */
  #protocolHeaders({ method, params }: Message): Readonly<Record<string, string>> {
    const claimed = params?._meta?.[VERSION_IN_BODY];
    const version = typeof claimed === 'string' ? claimed : this.#version;
    const name = method === 'resources/read' ? params?.uri : params?.name;
    return {
      ...(version !== undefined && { 'MCP-Protocol-Version': encoded(version) }),
      ...(method !== undefined && { 'Mcp-Method': encoded(method) }),
      ...(typeof name === 'string' && { 'Mcp-Name': encoded(name) }),
    };
  }

  /**
   * Returns the detail and the hint of a problem document. If `text` is not a problem document, returns a sentence that
   * says that another program answers.
   */
  #refusal(status: number, text: string): string {
    const { detail, hint } = (parsed(text) ?? {}) as { readonly detail?: unknown; readonly hint?: unknown };
    if (typeof detail !== 'string') {
      return `The program that answers at ${this.#to.address} is not Postern (${status}).`;
    }
    return typeof hint === 'string' ? `${detail} ${hint}` : detail;
  }

  #trouble(error: unknown): string {
    const { code = '', message } = error as { readonly code?: string; readonly message: string };
    return `Postern does not answer at ${this.#to.address} (${code || message}): is it running?`;
  }
}

function parsed(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Encodes a header value: unchanged, or in the protocol's form for text that a header cannot carry. */
function encoded(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?')) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) text += chunk as string;
  return text;
}

/** Yields the data of each event of a `text/event-stream`. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  response.setEncoding('utf8');
  for await (const chunk of response) {
    const blocks = (rest + (chunk as string)).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []));
      if (data.length > 0) yield data.join('\n');
    }
  }
}
