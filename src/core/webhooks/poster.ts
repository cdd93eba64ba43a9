import { createHmac } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { AxiosInstance } from 'axios';
import { endpointOf } from '../model/callback-hosts.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import type { StoredWebhook } from '../model/webhook.ts';
import { certificatesIn } from '../runtime/certificates.ts';
import { type AddressRule, HostLookup } from '../runtime/host-lookup.ts';
import type { OwnListeners } from '../runtime/own-listeners.ts';
import { DeliveryAttempts, type PostResult } from './delivery-attempts.ts';
import { DeliveryErrors, OWN_PORT_REFUSAL } from './delivery-errors.ts';
import { transport } from './delivery-transport.ts';
import { RETRY_WAITS_MS } from './retry-policy.ts';

/** Milliseconds within which the status and headers of an attempt's answer must arrive (decision F2). */
const ATTEMPT_TIMEOUT_MS = 10_000;
/**
 * Time after which an idle connection is closed. Common servers close idle connections after 5 s. The shorter time
 * prevents sending an event on a connection that the server is just closing.
 */
const IDLE_CONNECTION_MS = 4000;
/** Maximum number of idle connections kept: one for each webhook that may exist (decision F1). */
const MAX_IDLE_CONNECTIONS = 64;

export interface PosterParts {
  readonly version: string;
  readonly clock: Clock;
  readonly retryWaitsMs?: readonly number[];
  readonly attemptTimeoutMs?: number;
  readonly allowedHosts?: AllowedHosts;
  /** A PEM file with certificates that are trusted besides the usual ones; "" for none. */
  readonly caFile?: string;
  /** Reports whether connecting to the address of a host name is allowed. Default: always. */
  readonly isAddressAllowed?: AddressRule;
  /** This service's own ports, where no receiver of a limited key may be (decision AB12). */
  readonly ownListeners?: OwnListeners | undefined;
}

/** The receiver of events, with its secrets and headers. `keyId` is null for a receiver of the owner. */
export type Target = Pick<StoredWebhook, 'url' | 'secret' | 'previousSecret' | 'headers' | 'wire' | 'keyId'>;

/** A post in progress; `attempts` can end it early. */
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
  /** False for a post that is attempted only once. */
  readonly retry: boolean;
  /** True for a webhook that holds: a `Retry-After` or 410 then ends the retries. */
  readonly obeysReceiver?: boolean;
  /**
   * Number of earlier attempts of this delivery. `X-Webhook-Attempt` is one higher for the first attempt of this post.
   */
  readonly attemptsBefore?: number;
  /** Headers in place of those that begin with `X-Webhook-`, for a post that is no webhook's. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called right before each attempt; false cancels the delivery. */
  readonly mayAttempt?: (() => boolean) | undefined;
  /** Called for each failed attempt, with the status of the answer or the code of the error. */
  readonly onFailure?: (failure: number | string) => void;
}

/** Posts events to receivers (decision F2) over connections that are kept open. */
export class Poster {
  readonly errors = new DeliveryErrors();
  readonly #parts: PosterParts;
  readonly #httpAgent: HttpAgent;
  readonly #httpsAgent: HttpsAgent;
  #client: Promise<AxiosInstance> | undefined;

  constructor(parts: PosterParts) {
    this.#parts = parts;
    // The agents have no limit on sockets: open requests to a host must not delay another webhook at the same host
    // (decision F3).
    const { lookup } = new HostLookup(parts.isAddressAllowed);
    const agentOptions = { keepAlive: true, timeout: IDLE_CONNECTION_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS, lookup };
    this.#httpAgent = new HttpAgent(agentOptions);
    // One context for all connections: reading the usual certificates takes some milliseconds.
    const trusted = parts.caFile && { secureContext: contextWith(parts.caFile) };
    this.#httpsAgent = new HttpsAgent({ ...agentOptions, ...trusted });
  }

  /** Returns why nothing may be posted to this URL; undefined if it is allowed. */
  refusal(url: string): string | undefined {
    const { allowedHosts = [] } = this.#parts;
    return mayPostTo(url, allowedHosts) ? undefined : hostRefusal(url);
  }

  send(post: Post): Sending {
    const { clock, retryWaitsMs = RETRY_WAITS_MS } = this.#parts;
    const { attemptsBefore = 0, to } = post;
    const { url } = to;
    const body = Buffer.from(post.json, 'utf8');
    const attempts = new DeliveryAttempts({
      clock,
      retry: {
        waitsMs: post.retry ? retryWaitsMs : [],
        retriesArrived: to.wire === undefined,
        obeysReceiver: post.obeysReceiver === true,
      },
      headers: (attempt) => this.#headers(post, body, attempt),
      mayAttempt: post.mayAttempt,
      onFailure: (failure) => {
        this.errors.note(url, failure);
        post.onFailure?.(failure);
      },
    });
    // `allowedHosts` may have changed since the webhook was registered, and may no longer allow the webhook's host.
    const error = this.refusal(url) ?? this.#ownRefusal(to);
    if (error !== undefined) {
      const refused = {
        outcome: 'failed',
        attempts: attemptsBefore,
        status: null,
        error,
        neverArrived: true,
        durationMs: 0,
        answer: '',
        attemptRecords: [],
      } as const;
      return { attempts, result: Promise.resolve(refused) };
    }
    const result = this.#post(attempts, to, body);
    return {
      attempts,
      result: result.then((ended) => ({ ...ended, attempts: attemptsBefore + ended.attempts })),
    };
  }

  /** Returns why a receiver of a limited key gets nothing; undefined if it may, or if only a lookup can tell. */
  #ownRefusal({ url, keyId }: Target): string | undefined {
    const isOwn = keyId !== null && this.#parts.ownListeners?.isNamed(endpointOf(url)) === true;
    return isOwn ? OWN_PORT_REFUSAL : undefined;
  }

  /** Returns the lookup for a receiver of a limited key whose name could lead to this service; else undefined. */
  #guardedLookup({ url, keyId }: Target): LookupFunction | undefined {
    const { ownListeners, isAddressAllowed } = this.#parts;
    const { port } = endpointOf(url);
    if (keyId === null || ownListeners?.hasPort(port) !== true) return undefined;
    const isElsewhere: AddressRule = (_host, address) => !ownListeners.isOwnAddress(address, port);
    return new HostLookup(isAddressAllowed, isElsewhere).lookup;
  }

  async #post(attempts: DeliveryAttempts, to: Target, body: Buffer): Promise<PostResult> {
    const { url, headers } = to;
    const { clock, attemptTimeoutMs: timeoutMs = ATTEMPT_TIMEOUT_MS } = this.#parts;
    this.#client ??= this.#newClient();
    const client = await this.#client;
    return attempts.post(client, {
      method: 'post',
      url,
      data: body,
      transport: transport({ clock, timeoutMs, headers, lookup: this.#guardedLookup(to) }),
    });
  }

  /** Creates the client. Loads axios at the first post only: it takes longer to load than the rest of the service. */
  async #newClient(): Promise<AxiosInstance> {
    const { default: axios } = await import('axios');
    const { default: axiosRetry } = await import('axios-retry');
    const client = axios.create({
      httpAgent: this.#httpAgent,
      httpsAgent: this.#httpsAgent,
      maxRedirects: 0,
      proxy: false,
      decompress: false,
      // Only the status decides: a body that is too large or endless must not turn a 200 into a failure.
      responseType: 'stream',
      // Bodies are bytes in both directions, so there is nothing to convert.
      transformRequest: [],
      transformResponse: [],
    });
    // Each attempt sets all of its headers, so axios need not merge defaults.
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
    const nowMs = this.#parts.clock.now();
    const timestampS = Math.floor(nowMs / 1000);
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      'User-Agent': `Postern/${this.#parts.version}`,
      Accept: '*/*',
      'Accept-Encoding': 'identity',
      ...ownHeaders(post, attempt),
      'webhook-id': post.id,
      'webhook-timestamp': String(timestampS),
    };
    const { secret, previousSecret: previous } = post.to;
    if (secret !== null) {
      if (post.headers === undefined) headers['X-Webhook-Signature'] = contractSignature(secret, body);
      const secrets = previous === null || previous.untilMs <= nowMs ? [secret] : [secret, previous.secret];
      headers['webhook-signature'] = secrets.map((one) => standardSignature(one, post.id, timestampS, body)).join(' ');
    }
    return headers;
  }
}

/**
 * The start has checked the file. If it is gone since, the receivers that need it fail, with a sentence that names it.
 */
function contextWith(caFile: string): SecureContext {
  const found = certificatesIn(caFile);
  return createSecureContext({ ca: [...rootCertificates, ...('certificates' in found ? found.certificates : [])] });
}

function ownHeaders(post: Post, attempt: number): Readonly<Record<string, string>> {
  if (post.headers !== undefined) return post.headers;
  return {
    'X-Webhook-Event': post.event,
    'X-Webhook-Delivery': post.id,
    'X-Webhook-Attempt': String((post.attemptsBefore ?? 0) + attempt),
  };
}

/** Hosts as URLs spell them; `*.example.net` matches every name below example.net. If empty, all hosts are allowed. */
export type AllowedHosts = readonly string[];

function mayPostTo(url: string, allowedHosts: AllowedHosts): boolean {
  if (allowedHosts.length === 0) return true;
  const host = hostOf(url);
  return allowedHosts.some((allowed) =>
    allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed,
  );
}

/**
 * Returns the sentence that says why the URL is refused, for the answer to a registration and the list of deliveries.
 */
function hostRefusal(url: string): string {
  return `The host ${hostOf(url)} is not in webhooks.allowed_hosts of the configuration.`;
}

/** Returns the URL's host without a final dot, which would not change its meaning. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '');
}

/**
 * Returns the value of `X-Webhook-Signature`: `sha256=` and the hex HMAC-SHA256 of the raw body. The HMAC key is the
 * secret's UTF-8 bytes.
 */
export function contractSignature(secret: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/**
 * Returns the `webhook-signature` of Standard Webhooks 1.0: base64 HMAC-SHA256 of `id.timestamp.body` (decision F2).
 * The HMAC key is the bytes of a secret of that standard, else the UTF-8 bytes of the secret.
 */
export function standardSignature(secret: string, id: string, timestampS: number, body: Uint8Array): string {
  const hmac = createHmac('sha256', standardSecretBytes(secret) ?? secret)
    .update(`${id}.${timestampS}.`)
    .update(body);
  return `v1,${hmac.digest('base64')}`;
}

const STANDARD_SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?)$/;

/** Returns the bytes of a secret of Standard Webhooks, `whsec_` and base64; undefined for a text in another form. */
export function standardSecretBytes(secret: string): Buffer | undefined {
  const base64 = STANDARD_SECRET.exec(secret)?.[1];
  return base64 === undefined || base64 === '' ? undefined : Buffer.from(base64, 'base64');
}
