import type { Readable } from 'node:stream';
import type { AxiosError, InternalAxiosRequestConfig } from 'axios';
import type { Cancel, Clock } from '../domain/ports.ts';
import { readAnswer } from './answer.ts';
import { failureSentence, refusalSentence } from './failure.ts';

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

export interface PostingParts {
  readonly clock: Clock;
  readonly attemptTimeoutMs: number;
  readonly retries: number;
  /** The headers of one try; they change from try to try (F2). */
  readonly headers: (attempt: number) => Readonly<Record<string, string>>;
}

/** The tries of one event at one receiver, from the first to the last. axios and axios-retry drive it. */
export class Posting {
  readonly #parts: PostingParts;
  readonly #startedAtMs: number;
  #attempts = 0;
  #status: number | null = null;
  #error: string | null = null;
  #answer: Buffer = Buffer.alloc(0);
  /** Ends what is going on now: a try or the wait before the next one. */
  #current: AbortController | undefined;
  #isWaiting = false;
  #isTimedOut = false;
  #isCancelled = false;
  #isLast = false;
  #cancelDeadline: Cancel | undefined;

  constructor(parts: PostingParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.monotonic();
  }

  /** Ends it at once, a running try included (F5). */
  cancel(): void {
    this.#isCancelled = true;
    this.#current?.abort();
  }

  /** Lets a running try finish, but no other one begins (A7). */
  finish(): void {
    this.#isLast = true;
    if (this.#isWaiting) this.#current?.abort();
  }

  /** A try begins: gives it headers, a time limit and a way to end it. */
  begin(config: InternalAxiosRequestConfig): void {
    if (this.#isCancelled || (this.#isLast && this.#attempts > 0)) throw new Error('the posting was ended');
    const { clock, attemptTimeoutMs, headers } = this.#parts;
    this.#attempts += 1;
    this.#status = null;
    this.#isWaiting = false;
    this.#isTimedOut = false;
    const attempt = new AbortController();
    this.#current = attempt;
    config.signal = attempt.signal;
    config.headers.set(headers(this.#attempts));
    // axios measures silence in places; the limit of F2 holds for the whole try, a dribbling head included.
    this.#cancelDeadline = clock.after(attemptTimeoutMs, () => {
      this.#isTimedOut = true;
      attempt.abort();
    });
  }

  /** A try has failed: says whether another one may follow. */
  mayRetry(error: AxiosError): boolean {
    this.#note(error);
    void this.#readRefusal(error);
    return !this.#isCancelled && !this.#isLast;
  }

  /** The wait before the next try begins; axios-retry cuts it short when the signal is aborted. */
  wait(config: { signal?: unknown }): void {
    this.#isWaiting = true;
    this.#current = new AbortController();
    config.signal = this.#current.signal;
    if (this.#isCancelled || this.#isLast) this.#current.abort();
  }

  /** A 2xx head arrived. */
  async succeed(status: number, body: Readable): Promise<PostResult> {
    this.#cancelDeadline?.();
    this.#status = status;
    this.#error = null;
    this.#answer = await readAnswer(body, this.#parts.clock);
    return this.#result('delivered');
  }

  /** No try is left, or none may follow. */
  async giveUp(error: AxiosError): Promise<PostResult> {
    // A wait that was cut short ends with what `begin` threw; the failure before it is noted already.
    if (!this.#isWaiting) {
      this.#note(error);
      await this.#readRefusal(error);
    }
    const hasTriesLeft = this.#attempts <= this.#parts.retries;
    return this.#result(this.#isCancelled || (this.#isLast && hasTriesLeft) ? 'interrupted' : 'failed');
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
      this.#answer = await readAnswer(error.response.data as Readable, this.#parts.clock);
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
