import { createHash } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '../../core/model/durations.ts';
import { type FailedSend, mayHaveBeenSent } from '../../core/model/failed-send.ts';
import type { IdempotencyKey } from '../../core/model/idempotency-key.ts';
import type { Deferral } from '../../core/model/ports/deferral-ports.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { IdempotencyStore, SendRequest } from '../../core/model/ports/sending-ports.ts';
import { comparableSend } from '../../core/model/send-service.ts';
import type { Audit } from './audit.ts';
import type { StoredApproval } from './ports.ts';

/** Without an Idempotency-Key, the same text to the same people within this time counts as the same request. */
const SAME_ASK_MS = 10 * MINUTE_MS;
const HELD_ASK_MS = 30 * DAY_MS;

/** Identifies a request, so that repeating it neither sends nor asks for approval again. */
export interface Ask {
  readonly id: string;
  /**
   * A request counts as a repetition if an equal one was made since `sinceMs` (direct sends) or `heldSinceMs` (held
   * sends).
   */
  readonly sinceMs: number;
  readonly heldSinceMs: number;
  readonly hasKey: boolean;
  readonly requestHash: string;
}

/** Recognises the repeated requests of limited keys. */
export class Asks {
  readonly #audit: Audit;
  readonly #idempotency: Pick<IdempotencyStore, 'find'>;
  readonly #deferrals: Pick<Deferral, 'wasNotSent'>;
  readonly #clock: Clock;

  constructor(
    audit: Audit,
    {
      idempotency,
      deferrals,
    }: { idempotency: Pick<IdempotencyStore, 'find'>; deferrals: Pick<Deferral, 'wasNotSent'> },
    clock: Clock,
  ) {
    this.#audit = audit;
    this.#idempotency = idempotency;
    this.#deferrals = deferrals;
    this.#clock = clock;
  }

  /** Identifies the request of a key to send to `to`. */
  of(keyId: string, request: SendRequest, to: string): Ask {
    const nowMs = this.#clock.now();
    const { idempotencyKey } = request;
    const requestHash = this.#audit.hmac(comparableSend(to, request));
    if (idempotencyKey === undefined) {
      const sinceMs = nowMs - SAME_ASK_MS;
      return { id: digest([keyId, requestHash]), sinceMs, heldSinceMs: sinceMs, hasKey: false, requestHash };
    }
    const ask = digest([keyId, 'key', idempotencyKey.key]);
    return { id: ask, sinceMs: nowMs - DAY_MS, heldSinceMs: nowMs - HELD_ASK_MS, hasKey: true, requestHash };
  }

  /** Reports whether an approval was withdrawn, or approved and then scheduled, but certainly not sent. */
  hasEndedUnsent({ id, state }: StoredApproval): boolean {
    return state === 'withdrawn' || (state === 'scheduled' && this.#deferrals.wasNotSent(id));
  }

  /**
   * Looks up whether this request was allowed before. Also returns the idempotency key that prevents a second send.
   * `endedMs` is when the request's newest approval was created, if that approval `hasEndedUnsent`.
   */
  earlier(ask: Ask, nowMs: number, endedMs: number | undefined) {
    const askedMs = this.#audit.ask(ask.id, ask.sinceMs);
    const keyAt = (ms: number): IdempotencyKey => ({ kind: 'ask', key: ask.hasKey ? ask.id : `${ask.id}\0${ms}` });
    const idempotencyKey = keyAt(askedMs ?? nowMs);
    const outcome = this.#idempotency.find(idempotencyKey, nowMs)?.outcome;
    // Without an Idempotency-Key, the same text may be tried again after a failure.
    const hasFailed =
      outcome?.state === 'problem'
        ? !mayHaveBeenSent(JSON.parse(outcome.problem) as FailedSend)
        : outcome?.state === 'deferred' && this.#deferrals.wasNotSent(outcome.id);
    // The request's line in the audit log is written before its approval. So a line newer than that approval
    // belongs to a later request.
    const isOfEnded = endedMs !== undefined && askedMs !== undefined && askedMs <= endedMs;
    if (!ask.hasKey && (hasFailed || isOfEnded)) {
      const atMs = Math.max(nowMs, (askedMs ?? 0) + 1);
      return { askedMs: undefined, atMs, idempotencyKey: keyAt(atMs), isKnown: false };
    }
    return { askedMs, atMs: nowMs, idempotencyKey, isKnown: outcome !== undefined };
  }
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
