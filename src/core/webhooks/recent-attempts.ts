import { isoSecond } from '../model/iso-second.ts';
import type { AttemptRecord, DeliveryRecord, DetailedDelivery, StoredWebhook } from '../model/webhook.ts';
import type { PostResult } from './delivery-attempts.ts';

/**
 * Maximum number of deliveries whose attempts are kept, for all webhooks together. With the answers, they take 2 MB at
 * most.
 */
const KEPT = 500;
/**
 * Number of newest attempts kept per delivery. A held delivery is attempted until it succeeds, so it may have many.
 */
const ATTEMPTS = 10;
/** Number of bytes kept from the beginning of an answer (decision Z2). */
const ANSWER_BYTES = 2048;

type KeptAttempts = Pick<DetailedDelivery, 'tries' | 'answer'>;

/**
 * Keeps the attempts of recent deliveries, and what receivers answered to failed ones. Only in memory: answers are
 * another program's text, and never reach state.db or the log (decision Z2).
 */
export class RecentAttempts {
  /**
   * Key: webhook id, delivery id and time of an ended delivery. Value: the delivery's attempts. The oldest delivery is
   * first.
   */
  readonly #ended = new Map<string, KeptAttempts>();
  /** Key: a webhook's id. Value: the webhook's held delivery. */
  readonly #held = new Map<string, DetailedDelivery>();

  readonly #onRetry: (webhookId: string) => void;

  /** `onRetry` is called after each failed attempt of a held delivery. */
  constructor(onRetry: (webhookId: string) => void) {
    this.#onRetry = onRetry;
  }

  /** Keeps the attempts of a delivery that failed and is held. */
  keepHeld(webhookId: string, held: Omit<DetailedDelivery, 'outcome'>, result: PostResult): void {
    this.#held.set(webhookId, { ...held, outcome: 'held', ...this.#attemptsOf(webhookId, held.id, result) });
    this.#onRetry(webhookId);
  }

  /** Keeps the attempts of a finished delivery, including those made while it was held. */
  end(webhookId: string, record: DeliveryRecord, result: PostResult): void {
    const kept = this.#attemptsOf(webhookId, record.id, result);
    if (this.#held.get(webhookId)?.id === record.id) this.#held.delete(webhookId);
    // A single attempt that got no answer need not be kept: the record already shows everything about it.
    if (kept.answer === undefined && record.attempts === 1) return;
    this.#ended.set(keyOf(webhookId, record), kept);
    for (const [oldest] of this.#ended) {
      if (this.#ended.size <= KEPT) break;
      this.#ended.delete(oldest);
    }
  }

  /** Forgets the held delivery of a removed webhook. */
  forget(webhookId: string): void {
    this.#held.delete(webhookId);
  }

  /** Returns the records with their known attempts, preceded by the held delivery. */
  detailed({ id, held }: StoredWebhook, records: readonly DeliveryRecord[]): readonly DetailedDelivery[] {
    const now = this.#held.get(id);
    const all = records.map((record) => ({
      ...record,
      ...(this.#ended.get(keyOf(id, record)) ?? onlyAttempt(record)),
    }));
    return now !== undefined && held?.id === now.id ? [now, ...all] : all;
  }

  #attemptsOf(webhookId: string, id: string, { attemptRecords, outcome, answer }: PostResult): KeptAttempts {
    const before = this.#held.get(webhookId);
    const all = [...(before?.id === id ? (before.tries ?? []) : []), ...attemptRecords];
    const tries = all.slice(-ATTEMPTS);
    if (outcome !== 'failed' || answer === '') return { tries };
    return { tries, answer: Buffer.from(answer, 'utf8').subarray(0, ANSWER_BYTES).toString('utf8') };
  }
}

function keyOf(webhookId: string, { id, at }: DeliveryRecord): string {
  return `${webhookId} ${id} ${at}`;
}

/** Returns the attempt of a delivery that had only one, derived from its record. Returns {} for any other delivery. */
function onlyAttempt({ at, attempts, status, error, duration_ms }: DeliveryRecord): {
  tries?: readonly AttemptRecord[];
} {
  if (attempts !== 1) return {};
  return { tries: [{ at: isoSecond(Date.parse(at) - duration_ms), status, error, duration_ms }] };
}
