import type { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports/host.ts';
import { problem } from '../../domain/problems.ts';
import type { Headers } from './answer.ts';

const WINDOW_S = 60;

type MonotonicClock = Pick<Clock, 'monotonic'>;

/** A fixed window that begins with its first request (decision E5). */
class Window {
  readonly limit: number;
  readonly #clock: MonotonicClock;
  #endsMs = 0;
  #used = 0;

  constructor(limit: number, clock: MonotonicClock) {
    this.limit = limit;
    this.#clock = clock;
  }

  /** Starts the next window if this one is over. */
  begin(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs < this.#endsMs) return;
    this.#endsMs = nowMs + WINDOW_S * 1000;
    this.#used = 0;
  }

  get left(): number {
    return this.limit - this.#used;
  }

  /** Whole seconds until the window ends, at least 1. */
  get seconds(): number {
    return Math.max(1, Math.ceil((this.#endsMs - this.#clock.monotonic()) / 1000));
  }

  add(requests: 1 | -1): void {
    this.#used += requests;
  }
}

/**
 * The limit of the whole API, which the contract counts in one window, and the shares of it that limited keys have
 * (decision L1): half of it for each, three quarters for all of them together, so that agents cannot use up the owner's.
 */
export class RateLimit {
  readonly #clock: MonotonicClock;
  readonly #everyone: Window;
  readonly #keys: Window;
  readonly #ofEach: number;
  readonly #byKey = new Map<string, Window>();

  constructor(requestsPerWindow: number, clock: MonotonicClock) {
    this.#clock = clock;
    this.#everyone = new Window(requestsPerWindow, clock);
    this.#keys = new Window(Math.max(1, Math.floor((requestsPerWindow * 3) / 4)), clock);
    this.#ofEach = Math.max(1, Math.floor(requestsPerWindow / 2));
  }

  /** Counts one request and says in `headers` how many are left. Throws `rate_limited` when none was. */
  count(headers: Headers): void {
    const window = this.#everyone;
    window.begin();
    const isFull = window.left <= 0;
    if (!isFull) window.add(1);
    headers['RateLimit-Policy'] = `"default";q=${window.limit};w=${WINDOW_S}`;
    headers.RateLimit = `"default";r=${window.left};t=${window.seconds}`;
    if (isFull) throw refusal('rate_limited', window);
  }

  /**
   * Counts a request of a limited key, which `count` has counted. Throws `key_rate_limited` when the share of the key or
   * of all keys is used up; then the request uses up nothing of the owner's.
   */
  countKey(id: string, headers: Headers): void {
    const own = this.#byKey.get(id) ?? new Window(this.#ofEach, this.#clock);
    this.#byKey.set(id, own);
    const windows = [own, this.#keys];
    for (const window of windows) window.begin();
    const full = windows.find(({ left }) => left <= 0);
    if (full === undefined) for (const window of windows) window.add(1);
    else this.#everyone.add(-1);
    const left = Math.max(0, Math.min(...windows.map((window) => window.left)));
    headers['RateLimit-Policy'] = `${headers['RateLimit-Policy']}, "key";q=${own.limit};w=${WINDOW_S}`;
    headers.RateLimit = `${headers.RateLimit}, "key";r=${left};t=${(full ?? own).seconds}`;
    if (full !== undefined) throw refusal('key_rate_limited', full);
  }
}

function refusal(name: 'rate_limited' | 'key_rate_limited', { seconds }: Window): AppError {
  return problem(name, { seconds }, { headers: { 'Retry-After': String(seconds) } });
}
