import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import type { AxiosError, AxiosInstance, AxiosRequestConfig } from 'axios';
import type { Clock } from '../domain/ports/host.ts';
import { DeliveryAttempts, type PostResult } from './delivery-attempts.ts';
import { HostLookup } from './host-lookup.ts';
import { contractSignature, standardSignature } from './signature.ts';

/** The contract: a failed delivery is tried again after 1 second, then after 5. */
export const RETRY_WAITS_MS: readonly number[] = [1000, 5000];
/** Decision F2. */
const ATTEMPT_TIMEOUT_MS = 10_000;
/** Below the 5 s after which common servers close an idle connection, so that it is not used as they do. */
const IDLE_CONNECTION_MS = 4000;
/** One for each webhook there can be (F1). */
const MAX_IDLE_CONNECTIONS = 64;

export interface PosterOptions {
  readonly version: string;
  readonly clock: Clock;
  readonly retryWaitsMs?: readonly number[];
  readonly attemptTimeoutMs?: number;
}

/** One event for one receiver. */
export interface Post {
  readonly url: string;
  readonly secret: string | null;
  /** `X-Webhook-Delivery`: the same for every try and every repeat (F2). */
  readonly id: string;
  readonly event: string;
  readonly json: string;
  /** False for a post that is tried once. */
  readonly retry: boolean;
}

/** A post on its way; `posting` ends it early. */
export interface Sending {
  readonly posting: DeliveryAttempts;
  readonly result: Promise<PostResult>;
}

/**
 * POSTs events to receivers as decision F2 says, through one axios instance with kept connections. axios
 * is loaded with the first post: it costs more to load than the rest of the service.
 */
export class Poster {
  readonly #options: PosterOptions;
  readonly #retryWaitsMs: readonly number[];
  readonly #httpAgent: HttpAgent;
  readonly #httpsAgent: HttpsAgent;
  #client: Promise<AxiosInstance> | undefined;

  constructor(options: PosterOptions) {
    this.#options = options;
    this.#retryWaitsMs = options.retryWaitsMs ?? RETRY_WAITS_MS;
    // No limit on sockets: one receiver's open requests must not hold up another webhook to the same host (F3).
    const { lookup } = new HostLookup();
    const agentOptions = { keepAlive: true, timeout: IDLE_CONNECTION_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS, lookup };
    this.#httpAgent = new HttpAgent(agentOptions);
    this.#httpsAgent = new HttpsAgent(agentOptions);
  }

  send(post: Post): Sending {
    const { clock, attemptTimeoutMs = ATTEMPT_TIMEOUT_MS } = this.#options;
    const body = Buffer.from(post.json, 'utf8');
    const retries = post.retry ? this.#retryWaitsMs.length : 0;
    const headers = (attempt: number): Record<string, string> => this.#headers(post, body, attempt);
    const posting = new DeliveryAttempts({ clock, attemptTimeoutMs, retries, headers });
    return { posting, result: this.#send(post.url, body, posting) };
  }

  close(): void {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  async #send(url: string, body: Buffer, posting: DeliveryAttempts): Promise<PostResult> {
    this.#client ??= this.#load();
    const client = await this.#client;
    try {
      // Not `client.post`: that merges the configuration twice.
      const answer = await client.request<Readable>({ method: 'post', url, data: body, transport: posting });
      return await posting.succeed(answer.status, answer.data);
    } catch (error) {
      return await posting.giveUp(error as AxiosError);
    }
  }

  #headers(post: Post, body: Buffer, attempt: number): Record<string, string> {
    const timestampS = Math.floor(this.#options.clock.now() / 1000);
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      'User-Agent': `Postern/${this.#options.version}`,
      Accept: '*/*',
      'Accept-Encoding': 'identity',
      'X-Webhook-Event': post.event,
      'X-Webhook-Delivery': post.id,
      'X-Webhook-Attempt': String(attempt),
      'webhook-id': post.id,
      'webhook-timestamp': String(timestampS),
    };
    if (post.secret !== null) {
      headers['X-Webhook-Signature'] = contractSignature(post.secret, body);
      headers['webhook-signature'] = standardSignature(post.secret, post.id, timestampS, body);
    }
    return headers;
  }

  async #load(): Promise<AxiosInstance> {
    const [{ default: axios }, { default: axiosRetry }] = await Promise.all([import('axios'), import('axios-retry')]);
    const client = axios.create({
      httpAgent: this.#httpAgent,
      httpsAgent: this.#httpsAgent,
      maxRedirects: 0,
      proxy: false,
      decompress: false,
      // A head is an answer: a body too large or endless must not turn a 200 into a failure.
      responseType: 'stream',
      transformRequest: [],
      transformResponse: [],
    });
    // A try's headers are its own (F2), and axios would merge its defaults into every request for nothing.
    client.defaults.headers = {} as typeof client.defaults.headers;
    const postingOf = (config: AxiosRequestConfig | undefined): DeliveryAttempts =>
      config?.transport as DeliveryAttempts;
    axiosRetry(client, {
      retries: this.#retryWaitsMs.length,
      retryCondition: (error) => postingOf(error.config).mayRetry(error),
      retryDelay: (retry) => this.#retryWaitsMs[retry - 1] ?? 0,
      onRetry: (_retry, _error, config) => postingOf(config).wait(config),
      shouldResetTimeout: true,
    });
    return client;
  }
}
