import { type LookupAddress, lookup } from 'node:dns';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { AxiosInstance } from 'axios';
import type { Clock } from '../../domain/ports/host.ts';
import type { StoredWebhook } from '../../domain/webhook.ts';
import { DeliveryAttempts, type PostResult, RETRY_WAITS_MS } from './delivery-attempts.ts';
import { DeliveryErrors } from './delivery-errors.ts';
import { contractSignature, standardSignature } from './signature.ts';
import { transport } from './transport.ts';

/** Decision F2. */
const ATTEMPT_TIMEOUT_MS = 10_000;
/** Below the 5 s after which common servers close an idle connection, so that it is not used as they do. */
const IDLE_CONNECTION_MS = 4000;
/** One for each webhook there can be (decision F1). */
const MAX_IDLE_CONNECTIONS = 64;

export interface PosterOptions {
  readonly version: string;
  readonly clock: Clock;
  readonly retryWaitsMs?: readonly number[];
  readonly attemptTimeoutMs?: number;
  readonly allowedHosts?: AllowedHosts;
  /** Called right before each attempt: a hub that was paused may no longer be the one that delivers. */
  readonly mayAttempt?: () => boolean;
}

/** The receiver of events, with its secrets and headers. */
export type Target = Pick<StoredWebhook, 'url' | 'secret' | 'previousSecret' | 'headers' | 'wire'>;

/** A post on its way; `attempts` ends it early. */
export interface Sending {
  readonly attempts: DeliveryAttempts;
  readonly result: Promise<PostResult>;
}

/** One event for one receiver. */
export interface Post {
  readonly to: Target;
  /** `X-Webhook-Delivery`: the same for every attempt and every repeat (decision F2). */
  readonly id: string;
  readonly event: string;
  readonly json: string;
  /** False for a post that is attempted once. */
  readonly retry: boolean;
  /** Attempts that were made before; `X-Webhook-Attempt` counts on. */
  readonly attemptsBefore?: number;
}

/** POSTs events to receivers (decision F2) over kept connections. */
export class Poster {
  readonly errors = new DeliveryErrors();
  readonly #options: PosterOptions;
  readonly #httpAgent: HttpAgent;
  readonly #httpsAgent: HttpsAgent;
  #client: Promise<AxiosInstance> | undefined;

  constructor(options: PosterOptions) {
    this.#options = options;
    // No limit on sockets: open requests to a host must not hold up another webhook to the same host (decision F3).
    const { lookup } = new HostLookup();
    const agentOptions = { keepAlive: true, timeout: IDLE_CONNECTION_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS, lookup };
    this.#httpAgent = new HttpAgent(agentOptions);
    this.#httpsAgent = new HttpsAgent(agentOptions);
  }

  /** Returns why nothing may be posted to this url, or undefined when it may. */
  refusal(url: string): string | undefined {
    const { allowedHosts = [] } = this.#options;
    return mayPostTo(url, allowedHosts) ? undefined : hostRefusal(url);
  }

  send(post: Post): Sending {
    const { clock, mayAttempt, retryWaitsMs = RETRY_WAITS_MS } = this.#options;
    const { url } = post.to;
    const body = Buffer.from(post.json, 'utf8');
    const attempts = new DeliveryAttempts({
      clock,
      retryWaitsMs: post.retry ? retryWaitsMs : [],
      headers: (attempt) => this.#headers(post, body, attempt),
      mayAttempt,
      retriesArrived: post.to.wire === undefined,
      onFailure: (failure) => this.errors.note(url, failure),
    });
    // The host may have been allowed when the webhook was registered.
    const error = this.refusal(url);
    if (error !== undefined) {
      const refused = { outcome: 'failed', attempts: 0, status: null, error, durationMs: 0, answer: '' } as const;
      return { attempts, result: Promise.resolve(refused) };
    }
    return { attempts, result: this.#post(attempts, post.to, body) };
  }

  async #post(attempts: DeliveryAttempts, { url, headers }: Target, body: Buffer): Promise<PostResult> {
    const { clock, attemptTimeoutMs: timeoutMs = ATTEMPT_TIMEOUT_MS } = this.#options;
    this.#client ??= this.#newClient();
    const client = await this.#client;
    return attempts.post(client, {
      method: 'post',
      url,
      data: body,
      transport: transport({ clock, timeoutMs, headers }),
    });
  }

  /** axios is loaded with the first post, because it costs more to load than the rest of the service. */
  async #newClient(): Promise<AxiosInstance> {
    const { default: axios } = await import('axios');
    const { default: axiosRetry } = await import('axios-retry');
    const client = axios.create({
      httpAgent: this.#httpAgent,
      httpsAgent: this.#httpsAgent,
      maxRedirects: 0,
      proxy: false,
      decompress: false,
      // The head alone decides: a body that is too large or endless must not turn a 200 into a failure.
      responseType: 'stream',
    });
    // Each attempt brings all of its headers (decision F2), so that axios need not merge its defaults.
    client.defaults.headers = {} as typeof client.defaults.headers;
    client.interceptors.request.use((config) => {
      config.attempts?.prepare(config.headers);
      return config;
    });
    axiosRetry(client);
    return client;
  }

  close(): void {
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  #headers(post: Post, body: Buffer, attempt: number): Record<string, string> {
    const nowMs = this.#options.clock.now();
    const timestampS = Math.floor(nowMs / 1000);
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      'User-Agent': `Postern/${this.#options.version}`,
      Accept: '*/*',
      'Accept-Encoding': 'identity',
      'X-Webhook-Event': post.event,
      'X-Webhook-Delivery': post.id,
      'X-Webhook-Attempt': String((post.attemptsBefore ?? 0) + attempt),
      'webhook-id': post.id,
      'webhook-timestamp': String(timestampS),
    };
    const { secret, previousSecret: previous } = post.to;
    if (secret !== null) {
      headers['X-Webhook-Signature'] = contractSignature(secret, body);
      const secrets = previous === null || previous.untilMs <= nowMs ? [secret] : [secret, previous.secret];
      headers['webhook-signature'] = secrets.map((one) => standardSignature(one, post.id, timestampS, body)).join(' ');
    }
    return headers;
  }
}

type Callback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/**
 * The addresses of receivers, as the system knows them: hosts file, DNS and Bonjour. A lookup cannot be ended and
 * holds one of a limited number of threads (Node, `dns.lookup`), so there is at most one lookup of a name at a time.
 */
class HostLookup {
  readonly #asking = new Map<string, Callback[]>();

  /** For the `lookup` of a connection. */
  readonly lookup: LookupFunction = (name, { all, ...options }, callback) => {
    this.#ask(name, options, (error, addresses) => {
      const [first] = addresses;
      if (error !== null || first === undefined) callback(error, '', 0);
      else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

  #ask(name: string, options: Parameters<LookupFunction>[1], callback: Callback): void {
    const key = JSON.stringify([name, options]);
    const waiting = this.#asking.get(key);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    const all = [callback];
    this.#asking.set(key, all);
    lookup(name, { ...options, all: true }, (error, addresses) => {
      this.#asking.delete(key);
      for (const answer of all) answer(error, addresses ?? []);
    });
  }
}

/** Hosts as URLs spell them; `*.example.net` matches every name below example.net. Empty: all. */
export type AllowedHosts = readonly string[];

function mayPostTo(url: string, allowedHosts: AllowedHosts): boolean {
  if (allowedHosts.length === 0) return true;
  const host = hostOf(url);
  return allowedHosts.some((allowed) =>
    allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed,
  );
}

/** Returns the reason for the registration and the list of deliveries. */
function hostRefusal(url: string): string {
  return `The host ${hostOf(url)} is not in webhooks.allowed_hosts of the configuration.`;
}

/** A name with the root's dot at its end is the same name. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '');
}
