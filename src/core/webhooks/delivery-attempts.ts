import type { Readable } from 'node:stream';
import type { AxiosError, AxiosHeaders, AxiosInstance, AxiosRequestConfig, AxiosResponse } from 'axios';
import type {} from 'axios-retry';
import { HOUR_MS } from '../model/durations.ts';
import { errorCode } from '../model/errors.ts';
import { isoSecond } from '../model/iso-second.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import type { AttemptRecord } from '../model/webhook.ts';
import { failureSentence, refusalSentence } from './delivery-errors.ts';

/** Milliseconds before the second and the third attempt of a failed delivery, as the contract requires. */
export const RETRY_WAITS_MS: readonly number[] = [1000, 5000];

const LONGEST_HOLD_MS = 300_000;

/**
 * Returns the wait after a failed post of a held delivery, in milliseconds (decision P3): what the receiver asks for,
 * else 10 s after the third failed attempt, then twice as long each time, at most 5 min. A post without an attempt waits
 * the longest: its host is not allowed, and a change of the settings ends the wait.
 */
export function holdWaitMs({ attempts, attemptRecords, askedWaitMs: askedMs }: PostResult): number {
  if (askedMs !== undefined) return askedMs;
  if (attemptRecords.length === 0) return LONGEST_HOLD_MS;
  const retries = Math.max(0, attempts - RETRY_WAITS_MS.length - 1);
  return Math.min(10_000 * 2 ** retries, LONGEST_HOLD_MS);
}

/** The status with which a receiver says that it wants no more deliveries (decision AB10). */
export const GONE = 410;
/** The longest wait that a receiver may ask for. */
const MAX_ASKED_MS = HOUR_MS;

/**
 * Returns the wait that a `Retry-After` header asks for, in milliseconds: seconds or a date, at most an hour (decision
 * AB10). Returns undefined if it asks for none.
 */
export function askedWaitMs(header: unknown, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  const written = header.trim();
  const ms = /^\d+$/.test(written) ? Number(written) * 1000 : Date.parse(written) - nowMs;
  return ms > 0 ? Math.min(ms, MAX_ASKED_MS) : undefined;
}

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
  /** Milliseconds to wait before each retry, one item per retry. */
  readonly retryWaitsMs: readonly number[];
  /** Returns the headers of the attempt with this number, counted from 1 (decision F2). */
  readonly headers: (attempt: number) => Readonly<Record<string, string>>;
  /** Called right before each attempt. False ends the delivery, as `cancel` does. */
  readonly mayAttempt?: (() => boolean) | undefined;
  /** If false, an attempt is repeated only if it certainly did not reach the receiver. Default: true. */
  readonly retriesArrived?: boolean;
  /** If true, a receiver that says when to come back, or never, gets no retry. Default: false. */
  readonly obeysReceiver?: boolean | undefined;
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
    const { clock, retryWaitsMs, retriesArrived = true, obeysReceiver = false } = this.#parts;
    const startedAtMs = clock.monotonic();
    const { signal } = this.#cancelled;
    try {
      const response = await client.request({
        ...request,
        signal,
        attempts: this,
        'axios-retry': {
          retries: retryWaitsMs.length,
          retryCondition: (error) =>
            this.#mayRetry &&
            (retriesArrived || neverArrived(error)) &&
            !(obeysReceiver && (error.response?.status === GONE || this.#askedWaitMs(error) !== undefined)),
          retryDelay: (retry) => retryWaitsMs[retry - 1] ?? 0,
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
    const hasRetries = this.#attempts <= this.#parts.retryWaitsMs.length;
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
            askedWaitMs: this.#askedWaitMs(error),
          },
    );
  }

  #askedWaitMs({ response }: AxiosError): number | undefined {
    return askedWaitMs(response?.headers['retry-after'], this.#parts.clock.now());
  }

  #end(attempt: Attempt): void {
    this.#last = attempt;
    const { status, error } = attempt;
    const { at, monotonicMs } = this.#begun;
    const durationMs = Math.round(this.#parts.clock.monotonic() - monotonicMs);
    this.#attemptRecords.push({ at, status, error, duration_ms: durationMs });
  }

  #bodyOf({ data }: AxiosResponse): Promise<Buffer> {
    return readResponseBody(data as Readable, this.#parts.clock);
  }
}

/** Codes of errors that occur before there is a connection. Nothing has then reached the receiver. */
const UNREACHED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
]);

function neverArrived(error: AxiosError): boolean {
  return error.response === undefined && UNREACHED.has(errorCode(error) ?? '');
}

/** Maximum number of bytes read from the body of an answer (decision F2). */
const MAX_BYTES = 64 * 1024;
/** Maximum number of chunks read: reading 64 kB byte by byte would keep the service busy. */
const MAX_CHUNKS = 1024;
/**
 * Longest time for reading a body. The status has already decided the outcome, so waiting would only delay the next
 * delivery.
 */
const MAX_MS = 1000;
/** Number of bytes of the body that are kept, to show what the receiver answered. */
const KEPT_BYTES = 4 * 1024;

/**
 * Reads the body of an answer so that its connection can be used again; destroys the connection if the body is too
 * large or too slow. Returns the beginning of the body. Never throws, because the status alone decides the outcome.
 */
function readResponseBody(body: Readable, clock: Clock): Promise<Buffer> {
  if (body.closed) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let bytes = 0;
    let chunks = 0;
    const cancel = clock.after(MAX_MS, () => body.destroy());
    body.on('data', (chunk: Buffer) => {
      if (bytes < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - bytes));
      bytes += chunk.length;
      chunks += 1;
      if (bytes <= MAX_BYTES && chunks < MAX_CHUNKS) return;
      // Chunks that have arrived already would still be handed over.
      body.removeAllListeners('data');
      body.destroy();
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
