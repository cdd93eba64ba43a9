import type { RateLimiterRes } from 'rate-limiter-flexible';
// Imports one file, because the package's entry would load its 30 other stores too.
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import type { ProblemName } from '../model/problems.ts';
import { problem } from '../model/problems.ts';
import type { Headers } from './answer.ts';

const WINDOW_S = 60;
/** Name of the window that counts all requests together. */
const EVERYONE = 'default';
const ALL_KEYS = 'keys';

type RateProblem = Extract<ProblemName, 'rate_limited' | 'key_rate_limited'>;

/**
 * Counts requests in fixed windows, each beginning with its first request (decision E5). A limited key may use half of
 * the limit, and all limited keys together three quarters, so that agents leave a quarter to the owner.
 */
export class RateLimit {
  readonly #windowS: number;
  readonly #everyone: RateLimiterMemory;
  readonly #eachKey: RateLimiterMemory;
  readonly #allKeys: RateLimiterMemory;

  constructor(requestsPerWindow: number, windowS = WINDOW_S) {
    const window = (share: number): RateLimiterMemory =>
      new RateLimiterMemory({ points: Math.max(1, Math.floor(requestsPerWindow * share)), duration: windowS });
    this.#windowS = windowS;
    this.#everyone = window(1);
    this.#eachKey = window(1 / 2);
    this.#allKeys = window(3 / 4);
  }

  /**
   * Counts one request, and sets the RateLimit headers. Rejects with `rate_limited` if the limit was already reached.
   */
  async count(headers: Headers): Promise<void> {
    const { counted, isFull } = await consume(this.#everyone, EVERYONE);
    headers['RateLimit-Policy'] = this.#policy(EVERYONE, this.#everyone);
    headers.RateLimit = this.#state(EVERYONE, counted);
    if (isFull) throw this.#refusal('rate_limited', counted);
  }

  /** Rejects with `rate_limited` if the limit is reached. Counts nothing. */
  async assertRoom(): Promise<void> {
    const counted = await this.#everyone.get(EVERYONE);
    if (counted !== null && counted.remainingPoints <= 0) throw this.#refusal('rate_limited', counted);
  }

  /**
   * Counts a request of a limited key. Call `count` first. Rejects with `key_rate_limited` if this key has used up its
   * share, or all limited keys together have used up their common share. A rejected request does not count towards the
   * whole limit.
   */
  async countKey(id: string, headers: Headers): Promise<void> {
    const own = await consume(this.#eachKey, id);
    const all = own.isFull ? own : await consume(this.#allKeys, ALL_KEYS);
    if (all.isFull) {
      await this.#everyone.reward(EVERYONE);
      if (!own.isFull) await this.#eachKey.reward(id);
    }
    const { counted } = all.isFull || all.counted.remainingPoints < own.counted.remainingPoints ? all : own;
    headers['RateLimit-Policy'] = `${headers['RateLimit-Policy']}, ${this.#policy('key', this.#eachKey)}`;
    headers.RateLimit = `${headers.RateLimit}, ${this.#state('key', counted)}`;
    if (all.isFull) throw this.#refusal('key_rate_limited', counted);
  }

  /** Takes back a request that `count` and `countKey` have counted. */
  async uncountKey(id: string): Promise<void> {
    await this.#everyone.reward(EVERYONE);
    await this.#eachKey.reward(id);
    await this.#allKeys.reward(ALL_KEYS);
  }

  #policy(name: string, { points }: RateLimiterMemory): string {
    return `"${name}";q=${points};w=${this.#windowS}`;
  }

  #state(name: string, counted: RateLimiterRes): string {
    return `"${name}";r=${counted.remainingPoints};t=${this.#secondsLeft(counted)}`;
  }

  #refusal(name: RateProblem, counted: RateLimiterRes): Error {
    const seconds = this.#secondsLeft(counted);
    return problem(name, { seconds }, { headers: { 'Retry-After': String(seconds) } });
  }

  /**
   * Returns the seconds until the window ends, rounded up. The result is at least 1 and at most the length of the
   * window, even if the wall clock was set back.
   */
  #secondsLeft({ msBeforeNext }: RateLimiterRes): number {
    return Math.min(Math.max(Math.ceil(msBeforeNext / 1000), 1), this.#windowS);
  }
}

/** Counts one request. When the limit is reached, the limiter rejects with its result instead of an error. */
async function consume(
  limiter: RateLimiterMemory,
  key: string,
): Promise<{ readonly counted: RateLimiterRes; readonly isFull: boolean }> {
  try {
    return { counted: await limiter.consume(key), isFull: false };
  } catch (reason) {
    if (typeof reason !== 'object' || reason === null || !('msBeforeNext' in reason)) throw reason;
    return { counted: reason as RateLimiterRes, isFull: true };
  }
}
