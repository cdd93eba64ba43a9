import type { Readable } from 'node:stream';
import type { AxiosError, AxiosHeaders, AxiosInstance, AxiosRequestConfig, AxiosResponse } from 'axios';
import type {} from 'axios-retry';
import { errorCode } from '../model/errors.ts';
import { isoSecond } from '../model/iso-second.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import type { AttemptRecord } from '../model/webhook.ts';
import { readAnswerBody } from './answer-body.ts';
import { failureSentence, refusalSentence } from './delivery-errors.ts';
import { allowsRetry, askedWaitMs, neverArrived, type RetryPolicy } from './retry-policy.ts';

/**
 * How a delivery ended. `interrupted`: it was cancelled, or `finish` prevented a further attempt, so its outcome is
 * still undecided.
 */
export interface PostResult {
  readonly outcome: 'delivered' | 'failed' | 'interrupted';
  /** Number of the delivery's attempts, those of earlier posts included. */
  readonly attempts: number;
  /** HTTP status that answered the last attempt; null if that attempt got no answer. */
  readonly status: number | null;
  /** The error of the last attempt as a sentence; null if the event was delivered. */
  readonly error: string | null;
  /** True if the last attempt certainly did not reach the receiver. */
  readonly neverArrived?: true;
  /** The wait that the receiver's last answer asks for. */
  readonly askedWaitMs?: number;
  /** Milliseconds from the start of the first attempt to the end of the last one, including the waits in between. */
  readonly durationMs: number;
  /** Beginning of the body that answered the last attempt; empty if that attempt got no answer. */
  readonly answer: string;
  /** This post's attempts that were not cancelled, in order. */
  readonly attemptRecords: readonly AttemptRecord[];
}

export interface DeliveryAttemptsParts {
  readonly clock: Clock;
  readonly retry: RetryPolicy;
  /** Returns the headers of the attempt with this number, counted from 1 (decision F2). */
  readonly headers: (attempt: number) => Readonly<Record<string, string>>;
  /** Called right before each attempt. False ends the delivery, as `cancel` does. */
  readonly mayAttempt?: (() => boolean) | undefined;
  /** Called for each failed attempt that was not cancelled, with the status of the answer or the code of the error. */
  readonly onFailure: (failure: number | string) => void;
}

/** How one attempt ended. */
interface Attempt {
  readonly status: number | null;
  readonly error: string | null;
  readonly body?: Promise<Buffer>;
  readonly neverArrived?: boolean;
  readonly askedWaitMs?: number | undefined;
}

declare module 'axios' {
  interface AxiosRequestConfig {
    /** The delivery that this request belongs to. An interceptor calls the delivery's `prepare` before each attempt. */
    readonly attempts?: DeliveryAttempts;
  }
}

/** The attempts to deliver one event to one receiver. axios makes an attempt; axios-retry waits and repeats it. */
export class DeliveryAttempts {
  readonly #parts: DeliveryAttemptsParts;
  readonly #cancelled = new AbortController();
  #attempts = 0;
  /** How the last attempt ended; undefined while an attempt is running. */
  #last: Attempt | undefined;
  #mayRetry = true;
  readonly #attemptRecords: AttemptRecord[] = [];
  #begun = { at: '', monotonicMs: 0 };

  constructor(parts: DeliveryAttemptsParts) {
    this.#parts = parts;
  }

  /** Ends the delivery immediately, and aborts a running attempt (decision F5). */
  cancel(): void {
    this.#mayRetry = false;
    this.#cancelled.abort();
  }

  /** Lets a running attempt finish and prevents retries (decision A7). */
  finish(): void {
    this.#mayRetry = false;
    if (typeof this.#last?.error === 'string') this.#cancelled.abort();
  }

  /** Begins an attempt and sets its headers. If `mayAttempt` returns false, cancels the delivery instead. */
  prepare(headers: AxiosHeaders): void {
    if (this.#parts.mayAttempt?.() === false) this.cancel();
    // axios makes no request if its signal is aborted.
    if (this.#cancelled.signal.aborted) return;
    const { clock } = this.#parts;
    this.#attempts += 1;
    this.#last = undefined;
    this.#begun = { at: isoSecond(clock.now()), monotonicMs: clock.monotonic() };
    headers.set(this.#parts.headers(this.#attempts));
  }

  /** Makes the attempts. Must be called only once. */
  async post(client: AxiosInstance, request: AxiosRequestConfig): Promise<PostResult> {
    const { clock, retry } = this.#parts;
    const startedAtMs = clock.monotonic();
    const { signal } = this.#cancelled;
    try {
      const response = await client.request({
        ...request,
        signal,
        attempts: this,
        'axios-retry': {
          retries: retry.waitsMs.length,
          retryCondition: (error) => this.#mayRetry && allowsRetry(retry, error, clock.now()),
          retryDelay: (number) => retry.waitsMs[number - 1] ?? 0,
          onRetry: (_retry, error) => {
            this.#noteFailure(error);
            // If `finish` was called after `retryCondition` was checked, it could not cancel the wait that begins now.
            if (!this.#mayRetry) this.cancel();
          },
        },
      });
      this.#end({ status: response.status, error: null, body: this.#bodyOf(response) });
    } catch (error) {
      if (!signal.aborted) this.#noteFailure(error as AxiosError);
    }
    const answer = await this.#last?.body;
    return {
      outcome: this.#outcome(),
      attempts: this.#attempts,
      status: this.#last?.status ?? null,
      error: this.#last?.error ?? null,
      ...(this.#last?.neverArrived === true && { neverArrived: true }),
      ...(this.#last?.askedWaitMs !== undefined && { askedWaitMs: this.#last.askedWaitMs }),
      durationMs: Math.round(clock.monotonic() - startedAtMs),
      answer: answer?.toString('utf8') ?? '',
      attemptRecords: this.#attemptRecords,
    };
  }

  #outcome(): PostResult['outcome'] {
    if (this.#last === undefined) return 'interrupted';
    if (this.#last.error === null) return 'delivered';
    const hasRetries = this.#attempts <= this.#parts.retry.waitsMs.length;
    return hasRetries && !this.#mayRetry ? 'interrupted' : 'failed';
  }

  #noteFailure(error: AxiosError): void {
    const { response, config } = error;
    this.#parts.onFailure(response?.status ?? errorCode(error) ?? 'unknown');
    this.#end(
      response === undefined
        ? { status: null, error: failureSentence(error, config?.url), neverArrived: neverArrived(error) }
        : {
            status: response.status,
            error: refusalSentence(response.status),
            body: this.#bodyOf(response),
            askedWaitMs: askedWaitMs(response.headers['retry-after'], this.#parts.clock.now()),
          },
    );
  }

  #end(attempt: Attempt): void {
    this.#last = attempt;
    const { status, error } = attempt;
    const { at, monotonicMs } = this.#begun;
    const durationMs = Math.round(this.#parts.clock.monotonic() - monotonicMs);
    this.#attemptRecords.push({ at, status, error, duration_ms: durationMs });
  }

  #bodyOf({ data }: AxiosResponse): Promise<Buffer> {
    return readAnswerBody(data as Readable, this.#parts.clock);
  }
}
