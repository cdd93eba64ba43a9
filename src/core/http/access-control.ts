import { assertAllowed, type Caller, type Callers } from '../model/caller.ts';
import { problem } from '../model/problems.ts';
import type { Answer, Headers } from './answer.ts';
import { ApiKeys, unauthorized } from './api-keys.ts';
import { OPEN_WEB_SOCKET } from './events/routes.ts';
import type { Exchange } from './exchange.ts';
import { KeylessRequests } from './keyless-requests.ts';
import {
  hasNoHost,
  isUninvited,
  OriginPolicy,
  type OriginSettings,
  originNotAllowed,
  SOCKET_POLICY,
} from './origin-policy.ts';
import { RateLimit } from './rate-limit.ts';
import { API, pathOf, type Route } from './route.ts';
import type { ServedRoute } from './router.ts';
import { GET_HEALTH } from './status/routes.ts';

export interface AccessSettings extends OriginSettings {
  readonly rateLimitPerMinute: number;
}

export interface AccessControlParts {
  readonly settings: AccessSettings;
  readonly apiKey: string;
  readonly callers: Callers;
  /** The operations that are served. */
  readonly routes: readonly Pick<ServedRoute, 'route'>[];
  /**
   * Paths of pages that contain no data of the user, such as `/ready`. GET and HEAD requests for them need no key and
   * are not counted (decision E9).
   */
  readonly openPaths: Pick<ReadonlySet<string>, 'has'>;
  /** Recognises paths whose requests are passed on to another service, which checks and counts them. */
  readonly isPassedOn?: ((path: string) => boolean) | undefined;
}

/** The paths that balancers ask, some of them without a Host. */
const PROBED: ReadonlySet<string> = new Set(['/ready', pathOf(GET_HEALTH)]);

/**
 * The headers of answers that a page of a listed origin may read. The star stands for those that a single operation
 * has; it counts because no request carries cookies (Fetch, 3.3.4).
 */
const EXPOSED =
  'Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Idempotent-Replayed, Postern-Partial, Preference-Applied, *';

/** The answer to a CORS preflight from an allowed page. The star of its headers does not include `Authorization`. */
const PREFLIGHT: Answer = {
  status: 204,
  headers: {
    'Access-Control-Allow-Methods': 'GET, HEAD, POST, PATCH, DELETE',
    'Access-Control-Allow-Headers':
      'X-API-Key, Authorization, Content-Type, Idempotency-Key, X-Request-Id, Prefer, Content-Disposition, *',
    'Access-Control-Max-Age': '600',
  },
};

/**
 * Checks each request in this order: Host and Origin, rate limit, key (decision E3). Outside the API, refuses requests
 * for unknown paths without counting them (decision S3).
 */
export class AccessControl {
  readonly guard: OriginPolicy;
  /** Creates a guard like `guard`, for the port of another protocol. */
  readonly newGuard: () => OriginPolicy;
  readonly #limit: RateLimit;
  readonly #keys: ApiKeys;
  readonly #callers: Callers;
  readonly #openPaths: Pick<ReadonlySet<string>, 'has'>;
  /**
   * Key: the path of an operation that needs no key in a header. Value: the operation takes the key from the query
   * (`query`), needs no key (`none`), or needs a sign-in code (`code`). Only an exact match counts. Any other spelling
   * of a path needs a key in a header, which is the safe default.
   */
  readonly #keyLocations: ReadonlyMap<string, Route['key']>;
  /** The paths of operations that are not under `API`, the prefix of all others. */
  readonly #outside: ReadonlySet<string>;
  /** The paths where the refusal of a key does not say where the owner's is. */
  readonly #forLimitedKeys: ReadonlySet<string>;
  readonly #isPassedOn: (path: string) => boolean;
  readonly #keyless = new KeylessRequests();

  constructor({ settings, apiKey, callers, routes, openPaths, isPassedOn = () => false }: AccessControlParts) {
    this.newGuard = () => new OriginPolicy(settings);
    this.guard = this.newGuard();
    this.#limit = new RateLimit(settings.rateLimitPerMinute);
    this.#keys = new ApiKeys(apiKey, callers);
    this.#callers = callers;
    this.#openPaths = openPaths;
    const all: readonly Route[] = routes.map(({ route }) => route);
    this.#keyLocations = new Map(all.filter(({ key }) => key !== 'header').map((one) => [pathOf(one), one.key]));
    this.#outside = new Set(all.filter(({ isOutside }) => isOutside).map(pathOf));
    this.#forLimitedKeys = new Set(all.filter(({ isForLimitedKeys }) => isForLimitedKeys).map(pathOf));
    this.#isPassedOn = isPassedOn;
  }

  /**
   * Returns undefined if the request may proceed. Returns the answer to a CORS preflight. If the request is refused,
   * throws the error to answer with. Sets the exchange's caller, unless the path needs no key.
   */
  async admit(exchange: Exchange): Promise<Answer | undefined> {
    const admitted = this.#admit(exchange);
    await admitted.catch(() => undefined);
    if (!exchange.hasCaller) await this.#countKeyless(exchange);
    return admitted;
  }

  async #admit(exchange: Exchange): Promise<Answer | undefined> {
    const { request, method, path, rawQuery, headers, arrival } = exchange;
    const guard = arrival === 'socket' ? SOCKET_POLICY : this.guard;
    const isReading = method === 'GET' || method === 'HEAD';
    const isProbe = isReading && arrival === 'port' && PROBED.has(path) && hasNoHost(request);
    if (!isProbe) guard.checkHost(request);
    const source = guard.source(request);
    const isOpenPage = isReading && this.#openPaths.has(path);
    if (isUninvited(source, isOpenPage)) throw originNotAllowed(arrival);
    if (source === 'listed') allowOrigin(headers, request.headers.origin ?? '');
    if (isOpenPage) return undefined;
    if (this.#isPassedOn(path)) return this.#admitPassedOn(exchange, source === 'listed');
    if (this.#isNowhere(path) && !this.#openPaths.has(path)) throw problem('not_found');
    await this.#limit.count(headers);
    const isPreflight = method === 'OPTIONS' && 'access-control-request-method' in request.headers;
    if (isPreflight && source === 'listed') return PREFLIGHT;
    const keyLocation = this.#keyLocations.get(path);
    if (keyLocation === 'none' && isReading) return undefined;
    if (keyLocation === 'code') {
      // A browser sends an Origin with every POST, so a POST without one is not from a page of this service.
      if (!isReading && (source !== 'own' || request.headers.origin === undefined)) {
        throw problem('own_origin_required');
      }
      return undefined;
    }
    const caller = keyLocation === 'query' ? this.#keys.inQuery(rawQuery, request) : this.#keys.inHeader(request);
    if (caller === undefined) throw unauthorized(request, this.#forLimitedKeys.has(path));
    if (caller.key !== undefined) await this.#limit.countKey(caller.key.id, headers);
    exchange.caller = caller;
    return undefined;
  }

  /**
   * Admits a request that another service will check. Only the owner's key makes it a request of this service's owner;
   * without it, what the other service refuses or needs no key for counts here.
   */
  async #admitPassedOn(exchange: Exchange, isListed: boolean): Promise<Answer | undefined> {
    const { request, method } = exchange;
    if (method === 'OPTIONS' && isListed && 'access-control-request-method' in request.headers) return PREFLIGHT;
    const caller = this.#keys.inHeader(request);
    if (caller !== undefined) {
      exchange.caller = caller;
      return undefined;
    }
    await this.#limit.assertRoom();
    exchange.onKeyless = () => void this.#limit.count({}).catch(() => undefined);
    return undefined;
  }

  /**
   * Admits a request at the port of another protocol; `guard` is the port's guard. Returns false unless `key` is a
   * valid limited key: even the owner's key is refused.
   */
  async admitWire(exchange: Exchange, guard: OriginPolicy, key: string | undefined): Promise<boolean> {
    const admitted = this.#admitWire(exchange, guard, key);
    if ((await admitted.catch(() => false)) === false) await this.#countKeyless(exchange);
    return admitted;
  }

  async #admitWire(exchange: Exchange, guard: OriginPolicy, key: string | undefined): Promise<boolean> {
    const { request, headers, arrival } = exchange;
    guard.checkHost(request);
    if (isUninvited(guard.source(request), false)) throw originNotAllowed(arrival);
    await this.#limit.count(headers);
    const caller = key === undefined ? undefined : this.#callers.find(key);
    if (caller?.key === undefined) return false;
    await this.#limit.countKey(caller.key.id, headers);
    exchange.caller = caller;
    return true;
  }

  /** Takes back the counting of a request that only continues another. */
  async uncount({ key }: Caller): Promise<void> {
    if (key !== undefined) await this.#limit.uncountKey(key.id);
  }

  /**
   * Admits a request with a valid access token of `caller`. Counts it like a request with the caller's key.
   */
  async admitToken(exchange: Exchange, caller: Caller): Promise<void> {
    const { headers } = exchange;
    await this.#limit.count(headers);
    if (caller.key !== undefined) await this.#limit.countKey(caller.key.id, headers);
    exchange.caller = caller;
  }

  /**
   * Admits a WebSocket handshake with a valid key. At the TCP port, a page of any origin may connect if it has such a
   * key (decision E4).
   */
  async admitHandshake(exchange: Exchange): Promise<Caller> {
    const admitted = this.#admitHandshake(exchange);
    if ((await admitted.catch(() => undefined)) === undefined) await this.#countKeyless(exchange);
    return admitted;
  }

  async #admitHandshake(exchange: Exchange): Promise<Caller> {
    const { request, rawQuery, headers, arrival } = exchange;
    if (arrival === 'socket') {
      SOCKET_POLICY.checkHost(request);
      if (isUninvited(SOCKET_POLICY.source(request), false)) throw originNotAllowed(arrival);
    } else this.guard.checkHost(request);
    const caller = this.#keys.inQuery(rawQuery, request);
    // A foreign page's handshake without a valid key is not counted, so that the page cannot use up the rate limit.
    if (caller === undefined && isUninvited(this.guard.source(request), false)) throw unauthorized(request);
    await this.#limit.count(headers);
    if (caller === undefined) throw unauthorized(request);
    if (caller.key !== undefined) await this.#limit.countKey(caller.key.id, headers);
    assertAllowed(caller, OPEN_WEB_SOCKET.access);
    return caller;
  }

  /**
   * Reports whether a path is neither under `API` nor an operation outside it. Also true for pages, which the caller
   * checks separately.
   */
  #isNowhere(path: string): boolean {
    return path.startsWith('/') && path !== API && !path.startsWith(`${API}/`) && !this.#outside.has(path);
  }

  /**
   * Counts a request without a valid key as open until its answer has been read, because the request uses memory for
   * that long. If too many are open, throws `too_many_without_key`, or `rate_limited` if the rate limit is reached as
   * well. Does not count requests at the Unix socket.
   */
  async #countKeyless(exchange: Exchange): Promise<void> {
    if (exchange.arrival === 'socket') return;
    const refusal = this.#keyless.take(exchange);
    if (refusal === undefined) return;
    const { headers } = exchange;
    if (headers.RateLimit === undefined) await this.#limit.count(headers);
    throw refusal;
  }
}

function allowOrigin(headers: Headers, origin: string): void {
  headers['Access-Control-Allow-Origin'] = origin;
  headers['Access-Control-Expose-Headers'] = EXPOSED;
  headers.Vary = 'Origin';
}
