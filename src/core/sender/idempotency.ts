import { createHash } from 'node:crypto';
import { AppError, errorCode, isAppError } from '../model/errors.ts';
import { type IdempotencyKey, storedKey } from '../model/idempotency-key.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { EarlierUse, IdempotencyStore, SendRequest, StoredOutcome } from '../model/ports/sending-ports.ts';
import { problem } from '../model/problems.ts';
import { comparableSend } from '../model/send-service.ts';

/** An outcome that is returned to a repeated request. With any other outcome, the repeated request fails. */
export type EarlierSend = Extract<StoredOutcome, { readonly state: 'confirmed' | 'provisional' }>;

/** Ensures at most one send per `Idempotency-Key`, even across a crash (decision D9). */
export class Idempotency {
  readonly #store: IdempotencyStore;
  readonly #clock: Clock;
  readonly #log: Log;
  /** The sends that wait or run in this process. Key: the idempotency key. Value: the request's hash. */
  readonly #inFlight = new Map<string, string>();

  constructor(store: IdempotencyStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Registers a send with this key as waiting or running, until the returned function is called. Stores nothing. If
   * another send with the key is registered, throws `send_in_progress`, or `idempotency_key_reused` if the two requests
   * differ.
   */
  enter(key: IdempotencyKey, requestHash: string): Cancel {
    const stored = storedKey(key);
    const other = this.#inFlight.get(stored);
    if (other !== undefined && other !== requestHash) throw problem('idempotency_key_reused');
    if (other !== undefined) throw problem('send_in_progress');
    this.#inFlight.set(stored, requestHash);
    return () => void this.#inFlight.delete(stored);
  }

  /**
   * Returns the outcome of an earlier send with this key, or throws its problem again. Throws `idempotency_key_reused`
   * if the earlier request differs.
   */
  find(key: IdempotencyKey, requestHash: string): EarlierSend | undefined {
    const earlier = this.#store.find(key, this.#clock.now());
    return earlier && outcomeOf(earlier, requestHash);
  }

  /** Claims the key durably. Returns undefined if this send may run; otherwise acts like `find`. */
  claim(key: IdempotencyKey, requestHash: string): EarlierSend | undefined {
    const earlier = this.#store.claim(key, requestHash, this.#clock.now());
    return earlier === 'claimed' ? undefined : outcomeOf(earlier, requestHash);
  }

  /**
   * Stores the failure of a send. Stores an unexpected failure as `send_outcome_unknown`, because a message may have
   * been sent before it.
   */
  keepFailure(key: IdempotencyKey, error: unknown): void {
    const failure = isAppError(error) ? error : problem('send_outcome_unknown');
    this.keep(key, { state: 'problem', problem: toText(failure) });
  }

  /**
   * Stores the outcome of a send, before the client is answered. If storing fails, logs the failure and does not throw.
   */
  keep(key: IdempotencyKey, outcome: StoredOutcome): void {
    try {
      this.#store.finish(key, outcome);
    } catch (error) {
      // The client still receives the outcome, but a repeat of its request will not. The key stays claimed, so that
      // nothing is sent twice.
      this.#log.error('could not store the outcome of a send', { code: errorCode(error) });
    }
  }
}

function outcomeOf(earlier: EarlierUse, requestHash: string): EarlierSend {
  if (earlier.requestHash !== requestHash) throw problem('idempotency_key_reused');
  const { outcome } = earlier;
  switch (outcome.state) {
    case 'confirmed':
    case 'provisional':
      return outcome;
    case 'deferred':
      throw problem('idempotency_key_reused');
    case 'problem':
      throw toError(outcome.problem);
    // The key is not in flight, so `running` means a send whose outcome could not be stored.
    case 'running':
    case 'interrupted':
      throw problem('send_interrupted');
  }
}

/** Returns a hash by which two requests are compared, so that no text has to be stored. */
export function requestHash(request: SendRequest): string {
  return createHash('sha256').update(comparableSend(request.recipient, request)).digest('hex');
}

function toText({ status, code, message, hint, extra }: AppError): string {
  return JSON.stringify({ status, code, message, hint, extra });
}

/** Restores a stored problem. */
function toError(text: string): AppError {
  const stored = JSON.parse(text) as Pick<AppError, 'status' | 'code' | 'message' | 'extra'> & { hint?: string };
  const { status, code, message, hint, extra } = stored;
  const headers = { 'Idempotent-Replayed': 'true' };
  return new AppError(code, message, { status, ...(hint !== undefined && { hint }), extra, headers });
}
