import type { Capabilities } from '../core/model/capabilities.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE } from '../core/model/idempotency-key.ts';
import { CAPABLE_MEMBERS } from '../core/model/send-service.ts';
import type { StatusReport } from '../core/model/status.ts';
import { has, noAnswer, notPostern, PosternError, parsed, refusal } from './postern-error.ts';
import { latin1Header, type Transport, type TransportRequest, type TransportResponse } from './transport.ts';

export const DEFAULT_TIMEOUT_MS = 30_000;
/** Delays before the attempts to reconnect, in milliseconds. All further attempts use the last delay. */
export const RECONNECT_MS = [250, 1000, 2000, 5000, 10_000];
/** After a connection that lasted this long, reconnecting starts with the shortest delay again. */
export const STEADY_MS = 10_000;
/** Time limit of a request with `wait`, which the service may answer after up to 50 s. */
const WAIT_TIMEOUT_MS = 60_000;
/** Time limit of diagnostics: the service watches for at most two minutes, and its script ends within another 30 s. */
const DIAGNOSTICS_TIMEOUT_MS = 160_000;
/** Time limit of an upload or download. The service allows an upload 10 minutes. */
const FILE_TIMEOUT_MS = 11 * 60_000;

export interface RequestOptions {
  readonly body?: unknown;
  /** Body to send unchanged. Replaces `body`, which is sent as JSON. */
  readonly bytes?: TransportRequest['body'];
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Returns the time limit, in milliseconds, of a request that can be slow; undefined for all other requests. */
export function slowAnswerMs(path: string): number | undefined {
  // The service waits up to 20 s for macOS.
  if (path === 'permissions/check') return DEFAULT_TIMEOUT_MS;
  if (/^(?:attachments$|messages\/[^/]+\/attachments\/)/.test(path)) return FILE_TIMEOUT_MS;
  if (/^(?:approvals|events)\b.*[?&]wait=/.test(path)) return WAIT_TIMEOUT_MS;
  return path.startsWith('diagnostics?') ? DIAGNOSTICS_TIMEOUT_MS : undefined;
}

/** Reports whether a retry would get the same answer. */
export function isFinal({ status, code }: PosternError): boolean {
  return code === 'not_capable' || (status >= 200 && status < 500 && status !== 408 && status !== 429);
}

/**
 * Reports whether `after` is an offset rather than a row id. A row id is a position among new rows only; an offset is a
 * position among changes too.
 */
export function isOffset(after: number | string | undefined): boolean {
  return typeof after === 'string' && !/^\d+$/.test(after);
}

export function queryOf(parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? ''
    : `?${given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
}

interface RequestsParts {
  readonly base: URL;
  /** The service's address, as shown in errors. */
  readonly address: string;
  readonly transport: Transport;
  readonly timeoutMs: number;
  readonly key: string;
}

/** Sends requests to the API and checks that the answers are Postern's. Every method throws PosternError. */
export class Requests {
  readonly #parts: RequestsParts;
  #capabilities: Capabilities | undefined;

  constructor(parts: RequestsParts) {
    this.#parts = parts;
  }

  /**
   * Returns the JSON object in the answer. Throws PosternError `not_postern` if the object lacks `member`: every answer
   * of Postern to this request has that member.
   */
  async one<Result>(method: string, path: string, member: keyof Result & string, body?: unknown): Promise<Result> {
    const { text, status } = await this.request(method, path, { body });
    const value = parsed(text);
    if (!has(value, member)) throw notPostern(status, this.#parts.address);
    return value as Result;
  }

  async list<Item>(path: string, member: keyof Item & string): Promise<Item[]> {
    return this.listed<Item>(await this.request('GET', path), member);
  }

  listed<Item>({ status, text }: { status: number; text: string }, member: keyof Item & string): Item[] {
    const value = parsed(text);
    if (!Array.isArray(value) || !value.every((item) => has(item, member))) {
      throw notPostern(status, this.#parts.address);
    }
    return value as Item[];
  }

  /** Yields the items of a list, page after page. */
  async *pages<Item>(first: string, member: keyof Item & string): AsyncGenerator<Item, void> {
    let next: string | undefined = first;
    while (next !== undefined) {
      const page = await this.request('GET', next);
      yield* this.listed<Item>(page, member);
      next = page.next;
    }
  }

  /**
   * Returns the answer if its status is 2xx, and throws otherwise. Follows no redirect, because that would send the key
   * to another address.
   */
  async request(method: string, path: string, options: RequestOptions = {}) {
    const response = await this.answer(method, path, options);
    const text = await this.#textOf(response);
    const { status, header } = response;
    const link = /<([^<>]+)>;\s*rel="next"/.exec(header('link') ?? '')?.[1];
    return { status, text, header, next: link && this.#next(link, path, status) };
  }

  /**
   * Returns the path of the next page, relative to the base. Throws PosternError `not_postern` if the link leaves the
   * API, because the key must not be sent anywhere else.
   */
  #next(link: string, path: string, status: number): string {
    const { base, address } = this.#parts;
    const { href } = new URL(link, new URL(path, base));
    if (!href.startsWith(base.href)) throw notPostern(status, address);
    return href.slice(base.href.length);
  }

  async answer(method: string, path: string, { body, bytes, headers: more, idempotencyKey }: RequestOptions) {
    const headers: Record<string, string> = {
      'X-API-Key': latin1Header(this.#parts.key),
      // Makes the service report mistakes in the request that it would otherwise ignore (decision S1).
      Prefer: 'handling=strict',
      ...more,
    };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (idempotencyKey !== undefined) {
      // Neither transport could send such a header, and their errors do not say that nothing was sent.
      if (!IDEMPOTENCY_KEY.test(idempotencyKey)) {
        throw new PosternError(400, { code: 'invalid_request', status: 400, detail: IDEMPOTENCY_KEY_RULE });
      }
      headers['Idempotency-Key'] = idempotencyKey;
    }
    const isSend = method === 'POST' && path === 'messages';
    if (isSend) await this.#assertCapable(body);
    const request = {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(bytes !== undefined && { body: bytes }),
      ...(!isSend && { signal: AbortSignal.timeout(slowAnswerMs(path) ?? this.#parts.timeoutMs) }),
    };
    const response = await this.#parts.transport(new URL(path, this.#parts.base), request).catch((error: unknown) => {
      throw noAnswer(error, this.#parts.address);
    });
    const { status, header } = response;
    if (status >= 200 && status <= 299) return response;
    throw refusal(status, await this.#textOf(response), header('retry-after'), this.#parts.address);
  }

  /**
   * Throws PosternError `not_capable` if the send has a member of `CAPABLE_MEMBERS` that the service does not list as
   * available.
   */
  async #assertCapable(send: unknown): Promise<void> {
    const asked = CAPABLE_MEMBERS.filter((name) => has(send, name));
    if (asked.length === 0) return;
    this.#capabilities ??= (await this.one<StatusReport>('GET', 'status', 'newest_event')).capabilities ?? {};
    const missing = asked.find((name) => this.#capabilities?.[name]?.available !== true);
    if (missing === undefined) return;
    const reason = this.#capabilities[missing]?.reason;
    this.#capabilities = undefined;
    throw new PosternError(0, {
      code: 'not_capable',
      detail: `The service at ${this.#parts.address} cannot do this: ${missing}${reason === undefined ? '' : ` (${reason})`}.`,
      hint: 'Nothing was sent. GET /api/v1/status lists its capabilities.',
    });
  }

  async #textOf(response: TransportResponse): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw noAnswer(error, this.#parts.address);
    }
  }

  /** Sends a request whose answer has no body. */
  async none(method: string, path: string): Promise<void> {
    await this.request(method, path);
  }
}
