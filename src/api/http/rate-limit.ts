import type { RateLimiterRes } from 'rate-limiter-flexible';
// Not by the package's name: that loads its 30 other stores too.
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import type { Clock } from '../../domain/ports/host.ts';
import { problem } from '../../domain/problems.ts';
import type { Headers } from './answer.ts';

const WINDOW_S = 60;
/** One window for everyone: the contract counts the whole API. */
const EVERYONE = 'default';

/** Requests in a window that begins with its first one. */
interface Window {
  endsMs: number;
  count: number;
}

/**
 * The share of the limit that limited keys have (decision L1), so that agents cannot use up the owner's: half of it for
 * each, three quarters for all of them together.
 */
export class KeyRateLimit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #ofEach: number;
  readonly #ofAll: number;
  readonly #policy: string;
  readonly #all: Window = { endsMs: 0, count: 0 };
  readonly #windows = new Map<string, Window>();

  constructor(requestsPerWindow: number, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#ofEach = Math.max(1, Math.floor(requestsPerWindow / 2));
    this.#ofAll = Math.max(1, Math.floor((requestsPerWindow * 3) / 4));
    this.#policy = `"key";q=${this.#ofEach};w=${WINDOW_S}`;
  }

  /** Counts one request of a key; throws `rate_limited` when its share or that of all keys is used up. */
  count(keyId: string, headers: Headers): void {
    const nowMs = this.#clock.monotonic();
    let own = this.#windows.get(keyId);
    if (own === undefined) {
      own = { endsMs: 0, count: 0 };
      this.#windows.set(keyId, own);
    }
    const all = this.#all;
    for (const window of [own, all]) {
      if (nowMs < window.endsMs) continue;
      window.endsMs = nowMs + WINDOW_S * 1000;
      window.count = 0;
    }
    const full = own.count >= this.#ofEach ? own : all.count >= this.#ofAll ? all : undefined;
    const seconds = Math.max(1, Math.ceil(((full ?? own).endsMs - nowMs) / 1000));
    if (full === undefined) {
      own.count += 1;
      all.count += 1;
    }
    const left = full === undefined ? Math.min(this.#ofEach - own.count, this.#ofAll - all.count) : 0;
    headers['RateLimit-Policy'] = `${headers['RateLimit-Policy']}, ${this.#policy}`;
    headers.RateLimit = `${headers.RateLimit}, "key";r=${left};t=${seconds}`;
    if (full !== undefined)
      throw problem('key_rate_limited', { seconds }, { headers: { 'Retry-After': String(seconds) } });
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
