import type { Readable } from 'node:stream';
import type { AxiosAdapter, AxiosError } from 'axios';
import type { IAxiosRetryConfig } from 'axios-retry';
import { errorCode } from '../../domain/errors.ts';
import { localNetworkAdvice } from '../../domain/local-network.ts';
import type { Clock } from '../../domain/ports/host.ts';
import { isTlsFailure } from './delivery-errors.ts';

/** How a delivery ended. `interrupted`: it was cancelled, or the shutdown forbade another attempt; not done. */
export interface PostResult {
  readonly outcome: 'delivered' | 'failed' | 'interrupted';
  readonly attempts: number;
  /** Status of the last answer, null when there was none. */
  readonly status: number | null;
  /** What went wrong last, one sentence; null when it was delivered. */
  readonly error: string | null;
  /** From the first attempt's start to the end. */
  readonly durationMs: number;
  /** The beginning of the last answer's body. */
  readonly answer: string;
}

export interface DeliveryAttemptsParts {
  readonly clock: Clock;
  readonly attemptTimeoutMs: number;
  /** Milliseconds to wait before each retry; as many retries as there are waits. */
  readonly retryWaitsMs: readonly number[];
  /** The headers of one attempt; they change from attempt to attempt (decision F2). */
  readonly headers: (attempt: number) => Readonly<Record<string, string>>;
  /** Asked right before each attempt; false ends the delivery, as `cancel` does. */
  readonly mayAttempt?: (() => boolean) | undefined;
  /** Called for each attempt that failed by itself, with the status of the answer or the code of the error. */
  readonly onFailure?: ((failure: number | string) => void) | undefined;
}

/** The attempts to deliver one event to one receiver, as an adapter for axios and options for axios-retry. */
export class DeliveryAttempts {
  readonly #parts: DeliveryAttemptsParts;
  readonly #startedAtMs: number;
  #attempts = 0;
  #status: number | null = null;
  #error: string | null = null;
  #body: Promise<Buffer> | undefined;
  /** Of the running attempt. */
  #attempt: AbortController | undefined;
  #isCancelled = false;
  /** Aborted when no other attempt may begin: ends the wait before a retry. */
  readonly #noRetry = new AbortController();

  constructor(parts: DeliveryAttemptsParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonic();
  }

  /** Ends at once, a running attempt included (decision F5). */
  cancel(): void {
    this.#isCancelled = true;
    this.#noRetry.abort();
    this.#attempt?.abort();
  }

  /** Lets a running attempt finish, but no retry begins (decision A7). */
  finish(): void {
    this.#noRetry.abort();
  }

  /** Makes one attempt through axios' own adapter, with headers and a time limit of its own. */
  adapter(http: AxiosAdapter): AxiosAdapter {
    return async (config) => {
      if (this.#parts.mayAttempt?.() === false) this.cancel();
      if (this.#isCancelled) throw new Error('cancelled before it began');
      const { clock, attemptTimeoutMs, headers } = this.#parts;
      this.#attempts += 1;
      this.#status = null;
      this.#body = undefined;
      this.#attempt = new AbortController();
      config.signal = this.#attempt.signal;
      config.headers.set(headers(this.#attempts));
      let isTimedOut = false;
      // axios' own timeout measures silence; this one holds for the whole attempt (decision F2).
      const cancelTimeout = clock.after(attemptTimeoutMs, () => {
        isTimedOut = true;
        this.#attempt?.abort();
      });
      try {
        const response = await http(config);
        this.#status = response.status;
        this.#error = null;
        this.#body = readResponseBody(response.data as Readable, clock);
        return response;
      } catch (error) {
        this.#error = isTimedOut
          ? `The receiver did not answer within ${attemptTimeoutMs / 1000} s.`
          : this.#noteFailure(error as AxiosError);
        const code = isTimedOut ? 'no_answer' : (this.#status ?? errorCode(error) ?? 'unknown');
        if (!this.#isCancelled) this.#parts.onFailure?.(code);
        throw error;
      } finally {
        cancelTimeout();
      }
    };
  }

  /** For the `axios-retry` option of the request. */
  get retryOptions(): IAxiosRetryConfig {
    const { retryWaitsMs } = this.#parts;
    return {
      retries: retryWaitsMs.length,
      retryCondition: () => !this.#noRetry.signal.aborted,
      retryDelay: (retry) => retryWaitsMs[retry - 1] ?? 0,
      // axios-retry ends its wait when this signal is aborted.
      onRetry: (_retry, _error, config) => {
        config.signal = this.#noRetry.signal;
      },
    };
  }

  /** Call it once axios is done. */
  async result(): Promise<PostResult> {
    const answer = await this.#body;
    return {
      outcome: this.#outcome(),
      attempts: this.#attempts,
      status: this.#status,
      error: this.#error,
      durationMs: Math.round(this.#parts.clock.monotonic() - this.#startedAtMs),
      answer: answer?.toString('utf8') ?? '',
    };
  }

  #outcome(): PostResult['outcome'] {
    if (this.#attempts > 0 && this.#error === null) return 'delivered';
    const hasRetries = this.#attempts <= this.#parts.retryWaitsMs.length;
    return this.#isCancelled || (this.#noRetry.signal.aborted && hasRetries) ? 'interrupted' : 'failed';
  }

  #noteFailure(error: AxiosError): string {
    const { response } = error;
    if (response === undefined) return failureSentence(error, error.config?.url);
    this.#status = response.status;
    this.#body = readResponseBody(response.data as Readable, this.#parts.clock);
    return refusalSentence(response.status);
  }
}

/** Decision F2: at most this much of an answer is read. */
const MAX_BYTES = 64 * 1024;
/** The head has decided; a body that takes longer would only delay the next delivery. */
const MAX_MS = 1000;
/** As much of it is kept to show what the receiver said. */
const KEPT_BYTES = 4 * 1024;

/**
 * Reads the body of an answer so that its connection can be used again; one that is too large or too slow
 * has its connection destroyed. Returns the beginning of it. Never throws: the head alone decides (decision F2).
 */
function readResponseBody(body: Readable, clock: Clock): Promise<Buffer> {
  if (body.closed) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let bytes = 0;
    const cancel = clock.after(MAX_MS, () => body.destroy());
    body.on('data', (chunk: Buffer) => {
      if (bytes < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - bytes));
      bytes += chunk.length;
      if (bytes > MAX_BYTES) body.destroy();
    });
    const finish = (): void => {
      cancel();
      resolve(Buffer.concat(kept));
    };
    body.on('error', finish);
    body.on('end', finish);
    body.on('close', finish);
  });
}

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The receiver refused the connection.',
  ECONNRESET: 'The receiver closed the connection without an answer.',
  EPIPE: 'The receiver closed the connection without an answer.',
  ETIMEDOUT: 'The receiver did not accept the connection in time.',
  ENOTFOUND: 'The host name of the receiver is unknown.',
  EAI_AGAIN: 'The host name of the receiver could not be looked up.',
  EHOSTUNREACH: 'The receiver cannot be reached.',
  ENETUNREACH: 'The network of the receiver cannot be reached.',
};

/**
 * What went wrong with a try that got no answer, as one sentence. Never holds the url: its path may be a secret
 * (decision A6). Names Local Network where macOS may be the one that refused.
 */
export function failureSentence(error: unknown, url = ''): string {
  const code = errorCode(error) ?? 'unknown';
  const advice = localNetworkAdvice(code, [url]);
  return advice === undefined ? sentenceFor(code) : `${sentenceFor(code)} ${advice}`;
}

function sentenceFor(code: string): string {
  const sentence = SENTENCES[code];
  if (sentence !== undefined) return sentence;
  if (code.startsWith('HPE_')) return `The answer of the receiver is not HTTP (${code}).`;
  if (isTlsFailure(code)) return `The TLS connection failed (${code}).`;
  return `The request failed (${code}).`;
}

/** What an answer outside 2xx means, as one sentence. */
export function refusalSentence(status: number): string {
  const what = `The receiver answered ${status}`;
  return status >= 300 && status < 400 ? `${what}; redirects are not followed.` : `${what}.`;
}
