import { isPosternError } from '../../client/postern-client.ts';
import { json } from '../../core/cli/output/text.ts';
import type { ImsgMethods } from './imsg-methods.ts';
import { type ImsgMethod, type ImsgParams, imsgParams, readImsgParams } from './imsg-request.ts';
import type { ImsgWatch } from './imsg-watch.ts';
import { RPC, RpcError, readError } from './rpc-error.ts';

/** Maximum number of unanswered requests, as in imsg's protocol. Further requests are answered with `busy`. */
const MAX_OUTSTANDING = 128;

type Id = string | number | null;

interface Request {
  readonly id: Id | undefined;
  readonly method: string;
  readonly params: unknown;
}

export interface ImsgRpcParts {
  readonly methods: ImsgMethods;
  readonly watch: ImsgWatch;
  readonly write: (line: string) => Promise<void>;
  readonly warn: (sentence: string) => void;
}

/** Answers JSON-RPC 2.0, one object per line. Sends run one at a time, all other requests concurrently. */
export class ImsgRpc {
  readonly #parts: ImsgRpcParts;
  readonly #running = new Set<Promise<void>>();
  #sends: Promise<unknown> = Promise.resolve();

  constructor(parts: ImsgRpcParts) {
    this.#parts = parts;
  }

  /** Handles one line of the client; undefined stands for a line that is too long. */
  take(line: string | undefined): void {
    if (line?.trim() === '') return;
    const request = line === undefined ? tooLong() : requestIn(line);
    const running = this.#answer(request).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /**
   * Resolves once another request can be taken. A request counts as running until its answer is written, so that a
   * client that does not read its answers can send no more requests.
   */
  async room(): Promise<void> {
    while (this.#running.size >= 2 * MAX_OUTSTANDING) await Promise.race(this.#running);
  }

  /** Resolves once every request so far is answered. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #answer(request: Request | RpcError): Promise<void> {
    if (request instanceof RpcError) {
      await this.#fail(null, request);
      return;
    }
    const { id, method } = request;
    try {
      if (this.#running.size >= MAX_OUTSTANDING) throw new RpcError(RPC.busy, 'Server busy');
      const { result, begin } = await this.#call(request);
      if (id !== undefined) await this.#parts.write(json({ jsonrpc: '2.0', id, result }));
      begin?.();
    } catch (error) {
      const failure = isPosternError(error) ? readError(error) : error;
      if (!(failure instanceof RpcError)) this.#parts.warn(`${method} failed: ${(error as Error).message}`);
      // A request without an id is a notification, which never gets an answer.
      if (id !== undefined) await this.#fail(id, failure);
    }
  }

  async #fail(id: Id, error: unknown): Promise<void> {
    const known = error instanceof RpcError ? error : new RpcError(RPC.internal, 'Internal error');
    const { code, message, data } = known;
    await this.#parts.write(json({ jsonrpc: '2.0', id, error: { code, message, data } }));
  }

  async #call({ method, params }: Request): Promise<{ readonly result: unknown; readonly begin?: () => void }> {
    const { methods, watch } = this.#parts;
    switch (method) {
      case 'initialize':
      case 'status':
        paramsOf(method, params);
        return { result: await methods.status() };
      case 'chats.list':
        return { result: await methods.listChats(paramsOf(method, params)) };
      case 'messages.history':
        return { result: await methods.history(paramsOf(method, params)) };
      case 'watch.subscribe':
        return watch.subscribe(paramsOf(method, params));
      case 'watch.unsubscribe':
        return { result: await watch.unsubscribe(paramsOf(method, params)) };
      case 'send': {
        const given = paramsOf(method, params);
        const sending = this.#sends.then(() => methods.send(given));
        this.#sends = sending.catch(() => undefined);
        return { result: await sending };
      }
      default:
        throw new RpcError(RPC.unknownMethod, `unknown method ${JSON.stringify(method.slice(0, 60))}`, {
          supported_methods: Object.keys(imsgParams),
        });
    }
  }
}

function paramsOf<Method extends ImsgMethod>(method: Method, params: unknown): ImsgParams<Method> {
  const read = readImsgParams(method, params);
  if (read.ok) return read.params;
  throw new RpcError(RPC.invalidParams, read.mistakes);
}

/** Parses a request. Returns an error if the line is not a request. */
function requestIn(line: string): Request | RpcError {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return new RpcError(RPC.parse, 'Parse error: the line is not JSON.');
  }
  const { jsonrpc, id, method, params = {} } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isId = id === undefined || id === null || typeof id === 'string' || typeof id === 'number';
  if (Array.isArray(value) || jsonrpc !== '2.0' || !isId || typeof method !== 'string' || method === '') {
    return new RpcError(RPC.invalidRequest, 'Invalid request: it must be a JSON-RPC 2.0 object with a method.');
  }
  return { id, method, params };
}

function tooLong(): RpcError {
  return new RpcError(RPC.invalidRequest, 'Invalid request: the line is longer than 1 MiB.');
}
