import { isOnThisMachine } from '../../../core/model/callback-hosts.ts';
import type { Caller } from '../../../core/model/caller.ts';
import type { LogEntry } from '../../../core/model/event.ts';
import { isRowEntry } from '../../../core/model/event.ts';
import type { Offset } from '../../../core/model/offset.ts';
import type { ConsumerTask, EventConsumer, Handled, RowFeed } from '../../../core/model/ports/feed-ports.ts';
import type { Cancel, Clock, Log } from '../../../core/model/ports/host-ports.ts';
import { Wakeup } from '../../../core/runtime/wakeup.ts';
import { eventOccurrence } from '../event-occurrence.ts';
import type { CallbackAttempt, CallbackPoster, CallbackResult } from './callback-poster.ts';
import type { SubscriptionStore } from './ports.ts';
import { type StoredSubscription, type SubscriptionHealth, subscriptionFilter } from './subscription.ts';

/** Pauses between attempts to post a refused event: five attempts in 13 minutes, then the event is skipped. */
const REFUSED_WAITS_MS: readonly number[] = [5000, 30_000, 120_000, 600_000];
/**
 * First and longest pause between attempts while the receiver is away. The pause doubles each time. Attempts continue
 * for as long as the subscription lives.
 */
const AWAY_FIRST_MS = 2000;
const AWAY_MOST_MS = 300_000;
/**
 * Longest time until progress is stored. After a crash, the events posted within this time are posted again, under the
 * same ids.
 */
const STORE_AFTER_MS = 100;

export interface SubscriptionWorkerParts {
  readonly feed: RowFeed;
  /** Reads a row again. Returns undefined if it was deleted from chat.db. */
  readonly rowNow: (rowId: number) => LogEntry | undefined;
  readonly store: SubscriptionStore;
  readonly poster: CallbackPoster;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the ports of a limited key; undefined if the key has expired or was revoked. */
  readonly callerOf: (keyId: string) => Caller | undefined;
}

const DONE = { isDone: true } as const;
const AGAIN = { isDone: false } as const;

/** Posts the events of one subscription in order, one at a time, independent of other receivers. */
export class SubscriptionWorker {
  readonly #parts: SubscriptionWorkerParts;
  readonly #consumer: EventConsumer;
  readonly #wakeup: Wakeup;
  readonly #isWanted: (entry: LogEntry) => boolean;
  #subscription: StoredSubscription;
  #health: SubscriptionHealth;
  #attempt: CallbackAttempt | undefined;
  /** Number of attempts in a row that found no receiver. */
  #away = 0;
  /** The newest row at the end of the last wait. Those up to it may have changed meanwhile, and are read again. */
  #waitedUpTo = 0;
  /** Number of attempts in which the receiver refused the current post. */
  #refusals = 0;
  #isStopped = false;
  #cancelStoring: Cancel | undefined;

  constructor(subscription: StoredSubscription, parts: SubscriptionWorkerParts) {
    this.#parts = parts;
    this.#subscription = subscription;
    this.#health = subscription.health;
    this.#wakeup = new Wakeup(parts.clock);
    this.#isWanted = subscriptionFilter(
      subscription.name,
      subscription.arguments,
      () => parts.callerOf(subscription.keyId)?.key,
    );
    const task: ConsumerTask<undefined> = {
      name: `subscription/${subscription.id}`,
      storedOffset: () => {
        const stored = parts.store.get(subscription.id);
        // The consumer also calls `storedOffset` after chat.db was replaced. The store then reports a gap, because the
        // events between the old offset and the new one are unknown.
        if (stored?.health.hasGap === true) this.#health = { ...this.#health, hasGap: true };
        return stored?.offset ?? parts.feed.lastPublished();
      },
      first: () => (this.#health.hasGap ? this.#postGap() : undefined),
      handle: (entry) => this.#handle(entry),
      gone: () => undefined,
      progress: () => this.#store(),
    };
    this.#consumer = parts.feed.consume(task);
    this.#consumer.start();
  }

  /** The offset up to which every event is done: posted, skipped, or not wanted. */
  get offset(): Offset {
    return this.#consumer.offset;
  }

  get health(): SubscriptionHealth {
    return this.#health;
  }

  /** Applies a refreshed subscription, which is already stored, and immediately attempts what is waiting. */
  update(subscription: StoredSubscription): void {
    this.#subscription = subscription;
    this.#health = subscription.health;
    this.#begin();
    this.#wakeup.wake();
  }

  /** Stops the worker and cancels a running attempt. Resolves once nothing is being posted. */
  async stop(): Promise<void> {
    await this.#end((attempt) => attempt.sending.attempts.cancel());
  }

  /** Stops the worker. Resolves once the running attempt has ended. */
  async finish(): Promise<void> {
    await this.#end(() => {});
  }

  async #end(end: (attempt: CallbackAttempt) => void): Promise<void> {
    this.#isStopped = true;
    this.#consumer.stop();
    this.#wakeup.close();
    if (this.#attempt !== undefined) end(this.#attempt);
    await this.#consumer.ended;
    this.flush();
  }

  /**
   * Stores the offset and the health of the subscription. If storing fails, tries again after `STORE_AFTER_MS`, unless
   * the worker has stopped.
   */
  flush(): void {
    this.#cancelStoring?.();
    this.#cancelStoring = undefined;
    const { store, log } = this.#parts;
    try {
      store.advance(this.#subscription.id, this.offset, this.#health);
    } catch (error) {
      log.error('could not store the progress of a subscription, retrying', { error });
      if (!this.#isStopped) this.#store();
    }
  }

  #store(): void {
    this.#cancelStoring ??= this.#parts.clock.after(STORE_AFTER_MS, () => this.flush());
  }

  async #handle(entry: LogEntry): Promise<Handled<undefined>> {
    const { keyId, url, arguments: asked } = this.#subscription;
    if (!isRowEntry(entry) || !this.#isWanted(entry)) return DONE;
    const caller = this.#parts.callerOf(keyId);
    if (caller === undefined) {
      await this.#wait(AWAY_MOST_MS);
      return AGAIN;
    }
    if (!caller.feed.admits(entry)) return DONE;
    const now = entry.rowId > this.#waitedUpTo ? entry : this.#parts.rowNow(entry.rowId);
    if (now === undefined || !isRowEntry(now)) return DONE;
    const content = asked.content ?? (isOnThisMachine(url) ? 'full' : 'ids');
    const occurrence = eventOccurrence(now, content);
    const cursor = this.#parts.feed.offsetText(entry.offset, undefined);
    const result = await this.#post((poster, to) =>
      poster.post(to, occurrence.eventId, JSON.stringify({ ...occurrence, cursor })),
    );
    return (await this.#isOver(result)) ? DONE : AGAIN;
  }

  /**
   * Tells the receiver that events were missed. A receiver that does not support this message learns of the gap from
   * the answer to its next refresh.
   */
  async #postGap(): Promise<void> {
    const cursor = this.#parts.feed.offsetText(this.offset, undefined);
    const result = await this.#post((poster, to) => poster.control(to, { type: 'gap', cursor }));
    const isRefused = result.outcome === 'refused';
    if (!(await this.#isOver(isRefused ? { ...result, outcome: 'never' } : result))) return;
    this.#health = { ...this.#health, hasGap: false };
    this.#store();
  }

  async #post(begin: (poster: CallbackPoster, to: StoredSubscription) => CallbackAttempt): Promise<CallbackResult> {
    if (this.#isStopped) return { outcome: 'interrupted', failure: null, answer: '' };
    const attempt = begin(this.#parts.poster, this.#subscription);
    this.#attempt = attempt;
    try {
      return await attempt.result;
    } finally {
      this.#attempt = undefined;
    }
  }

  /** Records how an attempt ended. Resolves to false, after a wait, if another attempt should follow. */
  async #isOver({ outcome, failure }: CallbackResult): Promise<boolean> {
    if (outcome === 'interrupted') return false;
    const nowMs = this.#parts.clock.now();
    if (outcome === 'taken') {
      this.#begin();
      this.#health = { ...this.#health, lastDeliveryMs: nowMs, lastError: null, failedSinceMs: null };
      return true;
    }
    const failedSinceMs = this.#health.failedSinceMs ?? nowMs;
    this.#health = { ...this.#health, lastError: failure, failedSinceMs };
    const waitMs =
      outcome === 'away'
        ? Math.min(AWAY_FIRST_MS * 2 ** this.#away, AWAY_MOST_MS)
        : REFUSED_WAITS_MS[outcome === 'never' ? REFUSED_WAITS_MS.length : this.#refusals];
    if (waitMs === undefined) {
      this.#begin();
      this.#health = { ...this.#health, hasSkipped: true };
      this.#parts.log.warn('gave up delivering an event to a subscription', {
        subscription: this.#subscription.id,
        failure,
      });
      return true;
    }
    this.#away = outcome === 'away' ? this.#away + 1 : 0;
    if (outcome !== 'away') this.#refusals += 1;
    this.#store();
    await this.#wait(waitMs);
    return false;
  }

  /** Forgets the failed attempts. */
  #begin(): void {
    this.#away = 0;
    this.#refusals = 0;
  }

  async #wait(ms: number): Promise<void> {
    if (!this.#isStopped) await this.#wakeup.wait(ms);
    this.#waitedUpTo = this.#parts.feed.lastPublished().rowId;
  }
}
