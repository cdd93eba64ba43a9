import type { RateLimiterRes } from 'rate-limiter-flexible';
// Not by the package's name: that loads its 30 other stores too.
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import { problem } from '../domain/problems.ts';
import type { Headers } from './answer.ts';

const WINDOW_S = 60;
/** One window for everyone: the contract counts the whole API. */
const EVERYONE = 'default';

/** All limited keys together. */
const ALL_KEYS = 'keys';

/** The share of the limit that limited keys have (decision L1), so that agents cannot use up the owner's. */
export class KeyRateLimit {
  readonly #ofEach: RateLimiterMemory;
  readonly #ofAll: RateLimiterMemory;
  readonly #policy: string;

  constructor(requestsPerWindow: number, windowS = WINDOW_S) {
    const each = Math.max(1, Math.floor(requestsPerWindow / 2));
    this.#ofEach = new RateLimiterMemory({ points: each, duration: windowS });
    this.#ofAll = new RateLimiterMemory({
      points: Math.max(1, Math.floor((requestsPerWindow * 3) / 4)),
      duration: windowS,
    });
    this.#policy = `"key";q=${each};w=${windowS}`;
  }

  /** Counts one request of a key; throws `rate_limited` when its share or that of all keys is used up. */
  async count(keyId: string, headers: Headers): Promise<void> {
    try {
      const { remainingPoints, msBeforeNext } = await this.#ofEach.consume(keyId);
      await this.#ofAll.consume(ALL_KEYS);
      this.#tell(headers, remainingPoints, msBeforeNext);
    } catch (refusal) {
      if (!isRefusal(refusal)) throw refusal;
      const seconds = this.#tell(headers, 0, refusal.msBeforeNext);
      throw problem('key_rate_limited', { seconds }, { headers: { 'Retry-After': String(seconds) } });
    }
  }

  #tell(headers: Headers, left: number, msBeforeNext: number): number {
    const seconds = Math.min(Math.max(Math.ceil(msBeforeNext / 1000), 1), WINDOW_S);
    headers['RateLimit-Policy'] = `${headers['RateLimit-Policy']}, ${this.#policy}`;
    headers.RateLimit = `${headers.RateLimit}, "key";r=${left};t=${seconds}`;
    return seconds;
  }
}

/** Decision E5: a fixed window that begins with its first request. */
export class RateLimit {
  readonly #limiter: RateLimiterMemory;
  readonly #windowS: number;
  readonly #policy: string;

  constructor(requestsPerWindow: number, windowS = WINDOW_S) {
    this.#limiter = new RateLimiterMemory({ points: requestsPerWindow, duration: windowS });
    this.#windowS = windowS;
    this.#policy = `"${EVERYONE}";q=${requestsPerWindow};w=${windowS}`;
  }

  /** Counts one request and says in `headers` how many are left; throws `rate_limited` when none was. */
  async count(headers: Headers): Promise<void> {
    try {
      this.#tell(headers, await this.#limiter.consume(EVERYONE));
    } catch (refusal) {
      if (!isRefusal(refusal)) throw refusal;
      const seconds = this.#tell(headers, refusal);
      throw problem('rate_limited', { seconds }, { headers: { 'Retry-After': String(seconds) } });
    }
  }

  /** Takes back the count of a request that a limit beneath this one refused. */
  async giveBack(): Promise<void> {
    await this.#limiter.reward(EVERYONE);
  }

  /** Gives the whole seconds until the window ends. */
  #tell(headers: Headers, { remainingPoints, msBeforeNext }: RateLimiterRes): number {
    // A wall clock that was set back must not make anybody wait longer than a window.
    const seconds = Math.min(Math.max(Math.ceil(msBeforeNext / 1000), 1), this.#windowS);
    headers['RateLimit-Policy'] = this.#policy;
    headers.RateLimit = `"${EVERYONE}";r=${remainingPoints};t=${seconds}`;
    return seconds;
  }
}

/** The limiter rejects with its result; anything else is an error. */
function isRefusal(reason: unknown): reason is RateLimiterRes {
  return typeof reason === 'object' && reason !== null && 'msBeforeNext' in reason;
}
