import { randomBytes, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../../core/model/errors.ts';
import { hostClassOf } from '../../../core/model/local-network.ts';
import type { Clock } from '../../../core/model/ports/host-ports.ts';
import type { OwnListeners } from '../../../core/runtime/own-listeners.ts';
import { isPublicAddress } from '../../../core/runtime/public-address.ts';
import type { PostResult } from '../../../core/webhooks/delivery-attempts.ts';
import { type AllowedHosts, Poster, type Sending } from '../../../core/webhooks/poster.ts';
import type { CallbackFailure, StoredSubscription } from './subscription.ts';

const ATTEMPT_TIMEOUT_MS = 5000;
/** Statuses with which a receiver, or a proxy in front of it, answers while it is temporarily unavailable. */
const AWAY_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The URL of a subscription, and the secrets that sign posts to it. */
export type Callback = Pick<StoredSubscription, 'id' | 'keyId' | 'url' | 'secret' | 'previousSecret'>;

/** One attempt to post. */
export interface CallbackAttempt {
  readonly sending: Sending;
  readonly result: Promise<CallbackResult>;
}

/**
 * How an attempt ended. `taken`: a 2xx answer. `away`: no answer, or a temporary refusal. `never`: the receiver will
 * not take this event (410 or 413). `refused`: any other answer. `interrupted`: the attempt was cancelled.
 */
export interface CallbackResult {
  readonly outcome: 'taken' | 'away' | 'refused' | 'never' | 'interrupted';
  readonly failure: CallbackFailure | null;
  /** Beginning of the body of a 2xx answer; empty for any other outcome. */
  readonly answer: string;
}

interface CallbackPosterParts {
  readonly version: string;
  readonly clock: Clock;
  readonly allowedHosts: AllowedHosts;
  readonly ownListeners: OwnListeners;
  readonly caFile?: string;
}

/**
 * Posts events and control messages to the receivers of subscriptions, with a single attempt each. Never connects to a
 * private address, unless the host in the URL is visibly private, such as `192.168.1.5` or `mac.local`.
 */
export class CallbackPoster {
  readonly #poster: Poster;

  constructor(parts: CallbackPosterParts) {
    this.#poster = new Poster({
      ...parts,
      retryWaitsMs: [],
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
      // Allows a private address only if the host in the URL is visibly private, such as `192.168.1.5` or `mac.local`.
      // A key may post to such a host only if the owner listed the host, or if the host is this machine.
      isAddressAllowed: (host, address) => isPublicAddress(address) || hostClassOf(`https://${host}`) !== 'other',
    });
  }

  post(to: Callback, id: string, json: string): CallbackAttempt {
    let code: number | string = '';
    const sending = this.#poster.send({
      to: { ...to, headers: {} },
      id,
      event: '',
      json,
      retry: false,
      headers: { 'X-MCP-Subscription-Id': to.id },
      onFailure: (failure) => {
        code = failure;
      },
    });
    return { sending, result: sending.result.then((result) => resultOf(result, code)) };
  }

  /** Posts a message about the subscription itself. */
  control(to: Callback, body: { readonly type: string; readonly [name: string]: unknown }): CallbackAttempt {
    return this.post(to, `msg_${body.type}_${randomBytes(12).toString('hex')}`, JSON.stringify(body));
  }

  /**
   * Asks the receiver at a new URL to confirm that it wants the events. Throws `callback_failed` unless the answer
   * repeats the challenge.
   */
  async verify(to: Callback): Promise<void> {
    const challenge = randomBytes(24).toString('base64url');
    const { outcome, failure, answer } = await this.control(to, { type: 'verification', challenge }).result;
    if (outcome === 'taken' && isSame(challengeIn(answer), challenge)) return;
    const reason = failure ?? 'challenge_failed';
    throw new AppError('callback_failed', `The callback did not confirm that it wants these events: ${reason}.`, {
      status: 502,
      hint: 'It must answer the verification with 2xx and the {"challenge": …} that it received.',
      extra: { reason },
    });
  }

  close(): void {
    this.#poster.close();
  }
}

function resultOf({ outcome, status, answer }: PostResult, code: number | string): CallbackResult {
  if (outcome === 'delivered') return { outcome: 'taken', failure: null, answer };
  if (outcome === 'interrupted') return { outcome: 'interrupted', failure: null, answer: '' };
  if (status === null) return { outcome: 'away', failure: connectionFailure(String(code)), answer: '' };
  const failure = status >= 500 ? 'http_5xx' : 'http_4xx';
  if (status === 410 || status === 413) return { outcome: 'never', failure, answer: '' };
  return { outcome: AWAY_STATUSES.has(status) ? 'away' : 'refused', failure, answer: '' };
}

function connectionFailure(code: string): CallbackFailure {
  if (code === 'no_answer' || code === 'ETIMEDOUT') return 'timeout';
  return /CERT|SIGNED|ERR_TLS|ERR_SSL|EPROTO/.test(code) ? 'tls_error' : 'connection_refused';
}

function challengeIn(answer: string): string {
  try {
    const { challenge } = JSON.parse(answer) as { readonly challenge?: unknown };
    return typeof challenge === 'string' ? challenge : '';
  } catch {
    return '';
  }
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
