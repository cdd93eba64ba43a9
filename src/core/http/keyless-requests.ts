import type { AppError } from '../model/errors.ts';
import { problem } from '../model/problems.ts';
import type { Exchange } from './exchange.ts';

/** Maximum number of open requests without a valid key, across all connections. The issuer's host counts separately. */
const MAX_KEYLESS = 256;
const RETRY_S = 5;

/** Bounds the number of open requests without a valid key. Each uses memory until its answer has been read. */
export class KeylessRequests {
  #count = 0;

  /**
   * Counts a request without a key until its exchange is over. If `MAX_KEYLESS` requests are already counted, returns
   * the error to answer with instead, and makes the connection close after that answer.
   */
  take(exchange: Exchange): AppError | undefined {
    if (this.#count >= MAX_KEYLESS) {
      exchange.headers.Connection = 'close';
      return problem('too_many_without_key', { seconds: RETRY_S }, { headers: { 'Retry-After': String(RETRY_S) } });
    }
    this.#count += 1;
    exchange.whenOver(() => {
      this.#count -= 1;
    });
    return undefined;
  }
}
