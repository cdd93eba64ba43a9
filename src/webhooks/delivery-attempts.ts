import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import type { AxiosError } from 'axios';
import type { Cancel, Clock } from '../domain/ports/host.ts';
import { failureSentence, refusalSentence } from './failure.ts';
import { readResponseBody } from './response-body.ts';

/** How a posting ended. `interrupted`: it was cancelled, or the shutdown forbade another try; not done. */
export interface PostResult {
  readonly outcome: 'delivered' | 'failed' | 'interrupted';
  readonly attempts: number;
  /** Status of the last answer, null when there was none. */
  readonly status: number | null;
  /** What went wrong last, one sentence; null when it was delivered. */
  readonly error: string | null;
  /** From the first try's start to the end. */
  readonly durationMs: number;
  /** The beginning of the last answer's body. */
  readonly answer: string;
}

export interface DeliveryAttemptsParts {
  readonly clock: Clock;
  readonly attemptTimeoutMs: number;
  readonly retries: number;
  /** The headers of one try; they change from try to try (F2). */
  readonly headers: (attempt: number) => Readonly<Record<string, string>>;
}

/**
 * The tries of one event at one receiver, from the first to the last. axios is given it as its transport and calls
 * `request` for every try, which is where a try gets its headers, its time limit and its end; axios-retry asks
 * `mayRetry` and tells of the `wait`.
 */
export class DeliveryAttempts {
  readonly #parts: DeliveryAttemptsParts;
  readonly #startedAtMs: number;
  #attempts = 0;
  #status: number | null = null;
  #error: string | null = null;
  #answer: Buffer = Buffer.alloc(0);
  /** The running try, and the wait before the next one. */
  #request: ClientRequest | undefined;
  #waiting: AbortController | undefined;
  #isTimedOut = false;
  #isCancelled = false;
  #isLast = false;
  #cancelDeadline: Cancel | undefined;

  constructor(parts: DeliveryAttemptsParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonic();
  }

  /** Ends it at once, a running try included (F5). */
  cancel(): void {
    this.#isCancelled = true;
    this.#request?.destroy();
    this.#waiting?.abort();
  }

  /** Lets a running try finish, but no other one begins (A7). */
  finish(): void {
    this.#isLast = true;
    this.#waiting?.abort();
  }

  /** Begins a try. The signature is that of `http.request`. */
  request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest {
    if (this.#isCancelled || (this.#isLast && this.#attempts > 0)) throw new Error('the posting was ended');
    const { clock, attemptTimeoutMs, headers } = this.#parts;
    this.#attempts += 1;
    this.#status = null;
    this.#waiting = undefined;
    this.#isTimedOut = false;
    const open = options.protocol === 'https:' ? httpsRequest : httpRequest;
    options.headers = Object.assign(options.headers ?? {}, headers(this.#attempts));
    const request = open(options, (response) => {
      // `HTTP/1.1 000` gets past Node's parser, and axios takes a status of 0 for a success.
      if (response.statusCode !== 0) onResponse(response);
      else request.destroy(Object.assign(new Error('status 000'), { code: 'HPE_INVALID_STATUS' }));
    });
    // Nobody asked for another protocol: 101 is an answer like any other outside 2xx. Node leaves it to whoever listens.
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      onResponse(response);
    });
    this.#request = request;
    // axios measures silence; the limit of F2 holds for the whole try, a dribbling head included.
    this.#cancelDeadline = clock.after(attemptTimeoutMs, () => {
      this.#isTimedOut = true;
      request.destroy();
    });
    return request;
  }

  /** A try has failed: says whether another one may follow. */
  mayRetry(error: AxiosError): boolean {
    if (!this.#hasTriesLeft()) return false;
    this.#note(error);
    void this.#readRefusal(error);
    return !this.#isCancelled && !this.#isLast;
  }

  /** The wait before the next try begins; axios-retry cuts it short when the signal is aborted. */
  wait(config: { signal?: unknown }): void {
    this.#waiting = new AbortController();
    config.signal = this.#waiting.signal;
    if (this.#isCancelled || this.#isLast) this.#waiting.abort();
  }

  /** A 2xx head arrived. */
  async succeed(status: number, body: Readable): Promise<PostResult> {
    this.#cancelDeadline?.();
    this.#status = status;
    this.#error = null;
    this.#answer = await readResponseBody(body, this.#parts.clock);
    return this.#result('delivered');
  }

  /** No try is left, or none may follow. */
  async giveUp(error: AxiosError): Promise<PostResult> {
    // A wait that was cut short ends in no try; the failure before it is noted already.
    if (this.#waiting === undefined) {
      this.#note(error);
      await this.#readRefusal(error);
    }
    return this.#result(this.#isCancelled || (this.#isLast && this.#hasTriesLeft()) ? 'interrupted' : 'failed');
  }

  #hasTriesLeft(): boolean {
    return this.#attempts <= this.#parts.retries;
  }

  #note(error: AxiosError): void {
    this.#cancelDeadline?.();
    if (error.response !== undefined) {
      this.#status = error.response.status;
      this.#error = refusalSentence(error.response.status);
    } else if (this.#isTimedOut) {
      this.#error = `The receiver did not answer within ${this.#parts.attemptTimeoutMs / 1000} s.`;
    } else this.#error = failureSentence(error);
  }

  async #readRefusal(error: AxiosError): Promise<void> {
    if (error.response !== undefined) {
      this.#answer = await readResponseBody(error.response.data as Readable, this.#parts.clock);
    }
  }

  #result(outcome: PostResult['outcome']): PostResult {
    return {
      outcome,
      attempts: this.#attempts,
      status: this.#status,
      error: this.#error,
      durationMs: Math.round(this.#parts.clock.monotonic() - this.#startedAtMs),
      answer: this.#answer.toString('utf8'),
    };
  }
}
