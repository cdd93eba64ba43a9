import { isPromise } from 'node:util/types';
import type { KV } from '@nats-io/kv';

/**
 * Pending requests to the broker. A test's clock passes seconds in an instant, so it waits for these first: otherwise a
 * broker that needs 50 ms would be too slow to renew a lease of seven seconds.
 */
export class Unanswered {
  readonly #requests = new Set<Promise<unknown>>();

  /** Counts a request until it ends, and returns it. */
  note<Result>(request: Promise<Result>): Promise<Result> {
    this.#requests.add(request);
    const end = (): void => void this.#requests.delete(request);
    request.then(end, end);
    return request;
  }

  /** Returns the bucket with every request to it counted. */
  in(bucket: KV): KV {
    return new Proxy(bucket, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]): unknown => {
          const result: unknown = Reflect.apply(value, target, given);
          return isPromise(result) ? this.note(result) : result;
        };
      },
    });
  }

  /**
   * Resolves when no request is pending and the answers have caused no new ones. The NATS client ends a request over a
   * cut line after 5 s.
   */
  async settled(): Promise<void> {
    do {
      await Promise.allSettled(this.#requests);
      await new Promise<void>((resolve) => void setImmediate(resolve));
    } while (this.#requests.size > 0);
  }
}
