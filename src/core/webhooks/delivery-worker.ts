import { HOUR_MS } from '../model/durations.ts';
import type { LogEntry } from '../model/event.ts';
import { eventFilter } from '../model/event-filter.ts';
import { isAfter, type Offset, rowOffset } from '../model/offset.ts';
import { parsedUrl } from '../model/parsed-url.ts';
import type { ConsumerTask, EventConsumer, Handled, RowFeed } from '../model/ports/feed-ports.ts';
import type { Clock, Log } from '../model/ports/host-ports.ts';
import type { EndedDelivery, WebhookStore } from '../model/ports/webhooks-ports.ts';
import { type DeliveryRecord, type HeldDelivery, type StoredWebhook, wantsChanges } from '../model/webhook.ts';
import { Wakeup } from '../runtime/wakeup.ts';
import type { DeliveredEvents } from './delivered-events.ts';
import type { PostResult } from './delivery-attempts.ts';
import { deliveryId, deliveryName, goneRecord, heldDelivery, logEnd, postRecord } from './delivery-record.ts';
import { DroppedReplay } from './dropped-replay.ts';
import { HeldDeliveries } from './held-deliveries.ts';
import type { Post, Poster, Sending } from './poster.ts';
import type { ProgressBatcher } from './progress-batcher.ts';
import type { RecentAttempts } from './recent-attempts.ts';
import { holdWaitMs } from './retry-policy.ts';

export interface DeliveryWorkerParts {
  readonly feed: RowFeed;
  readonly events: DeliveredEvents;
  readonly store: WebhookStore;
  readonly progress: ProgressBatcher;
  readonly poster: Poster;
  readonly clock: Clock;
  readonly log: Log;
  readonly recentAttempts: RecentAttempts;
}

type Decision =
  | { readonly kind: 'post'; readonly post: Post }
  /**
   * The event needs no delivery: not subscribed, filtered out, not visible to the webhook's key, or deleted
   * meanwhile. Only a deleted event has a `record`.
   */
  | { readonly kind: 'over'; readonly record?: DeliveryRecord }
  /** The webhook is paused, or its worker is ending. */
  | { readonly kind: 'not_now' };

/**
 * Makes the deliveries of one webhook: its events in order, one at a time, independent of other webhooks (decision F3).
 * An event is *attempted* three times. Then it is *dropped*, or *held*: retried until it succeeds. A *replay*
 * delivers again what was dropped, or everything after an offset. Each attempt uses the settings that were valid when
 * it began.
 */
export class DeliveryWorker {
  readonly #parts: DeliveryWorkerParts;
  readonly #consumer: EventConsumer;
  #webhook: StoredWebhook;
  #isSubscribed: (entry: LogEntry) => boolean;
  #sending: Sending | undefined;
  readonly #held: HeldDeliveries;
  /**
   * Unix time in milliseconds of the held delivery's next attempt; undefined during an attempt, and
   * if there is none.
   */
  #nextAttemptMs: number | undefined;
  /** After a restart, the Unix time in milliseconds until which the receiver asked to be left alone; NaN if never. */
  #askedUntilMs: number;
  /** The newest event at the end of the last wait. Those up to it may have changed meanwhile, and are read again. */
  #waitedUpTo = rowOffset(0);
  readonly #replay: DroppedReplay;
  readonly #wakeup: Wakeup;
  /** Incremented when changed settings or a new position make a running delivery outdated. */
  #revision = 0;
  #isStopped = false;

  constructor(webhook: StoredWebhook, parts: DeliveryWorkerParts) {
    this.#parts = parts;
    this.#webhook = webhook;
    this.#isSubscribed = this.#filterOf(webhook);
    const { id } = webhook;
    const { feed, store, progress, clock } = parts;
    this.#wakeup = new Wakeup(clock);
    this.#held = new HeldDeliveries((held) => this.#storeHeld(held));
    this.#replay = new DroppedReplay(parts, this.#held);
    const task: ConsumerTask<EndedDelivery> = {
      name: `webhook/${id}`,
      storedOffset: () => {
        const offset = store.get(id)?.offset ?? feed.lastPublished({ changes: wantsChanges(this.#webhook) });
        progress.move(id, offset);
        this.#held.restore(null);
        return offset;
      },
      first: () => (this.#replay.isDue ? this.#replayNext() : undefined),
      handle: (entry) => this.#handle(entry),
      gone: (first, last) => (parts.events.hasLost(first, last) ? goneRecord(id, first, last, clock) : undefined),
      progress: (offset, record) => progress.note(id, offset, record),
    };
    this.#consumer = feed.consume(task, { changes: wantsChanges(webhook) });
    this.#held.restore(webhook.held);
    this.#askedUntilMs = Date.parse(webhook.held?.retry_after ?? '');
    this.#replay.restore(webhook);
  }

  start(): void {
    this.#consumer.start();
  }

  /**
   * The offset up to which every event is done: delivered, dropped, not subscribed, or gone from chat.db (decision F4).
   */
  get offset(): Offset {
    return this.#consumer.offset;
  }

  get nextAttemptMs(): number | undefined {
    return this.#nextAttemptMs;
  }

  #filterOf(webhook: StoredWebhook): (entry: LogEntry) => boolean {
    return eventFilter(webhook, () => this.#parts.events.keyOf(webhook));
  }

  /** Attempts a held delivery now instead of waiting until it is due. */
  retryNow(): void {
    this.#wakeup.wake();
  }

  /** Resolves once nothing is being sent, after `cancel` or `finish`. */
  get ended(): Promise<void> {
    return this.#consumer.ended;
  }

  /** Stops the worker immediately, and cancels a running attempt or a waiting retry (decision F5). */
  cancel(): void {
    this.#isStopped = true;
    this.#consumer.stop();
    this.#wakeup.wake();
    this.#sending?.attempts.cancel();
  }

  /** Stops the worker after the running attempt. Unfinished events are delivered after the restart (decision A7). */
  finish(): void {
    this.#isStopped = true;
    this.#consumer.stop();
    this.#outdate();
  }

  /**
   * Applies changed settings, which are already stored. A running attempt finishes with the old settings; later
   * attempts use the new ones.
   */
  update(webhook: StoredWebhook): void {
    const before = this.#webhook;
    this.#webhook = webhook;
    this.#isSubscribed = this.#filterOf(webhook);
    const changes = wantsChanges(webhook);
    if (changes !== wantsChanges(before)) {
      this.#held.endAll();
      this.#parts.progress.move(webhook.id, webhook.offset);
      this.#consumer.seek(webhook.offset, { changes });
    }
    if (!before.enabled && webhook.enabled) this.#noteWaited();
    this.#outdate();
  }

  /** Continues from `offset`, which is already stored. The event being delivered no longer moves the offset. */
  seek(offset: Offset): void {
    this.#parts.progress.move(this.#webhook.id, offset);
    this.#held.restore(null);
    this.#consumer.seek(offset);
    this.#outdate();
  }

  /** Redelivers the dropped events before the next event (decision P6). */
  replayDropped(): void {
    this.#replay.ask();
    // Ends the wait for the held delivery's next attempt, so that the dropped events are delivered first.
    this.#wakeup.wake();
    this.#consumer.wake();
  }

  async #replayNext(): Promise<void> {
    const webhook = this.#webhook;
    if (!webhook.enabled) return this.#wait();
    await this.#replay.next(
      webhook,
      () => this.offset,
      (entry) => this.#handle(entry),
    );
  }

  /** Delivers one event in three steps: decide, post, conclude. An unfinished event is handled again. */
  async #handle(entry: LogEntry): Promise<Handled<EndedDelivery>> {
    const decision = await this.#decide(entry);
    if (decision.kind === 'not_now') return { isDone: false };
    if (decision.kind === 'over') {
      this.#held.end();
      return { isDone: true, record: decision.record };
    }
    const revision = this.#revision;
    const result = await this.#post(decision.post);
    return this.#conclude(entry, decision.post.id, result, revision !== this.#revision);
  }

  async #decide(entry: LogEntry): Promise<Decision> {
    const webhook = this.#webhook;
    if (!webhook.enabled) {
      await this.#wait();
      return { kind: 'not_now' };
    }
    if (!this.#isSubscribed(entry)) return { kind: 'over' };
    const { events, clock } = this.#parts;
    await events.ready(webhook);
    if (this.#isStopped) return { kind: 'not_now' };
    const caller = events.callerOf(webhook);
    // Skips events that the key may not read, like events that the webhook did not subscribe to.
    if (caller?.feed.admits(entry) === false) return { kind: 'over' };
    if (await this.#isTooEarly()) return { kind: 'not_now' };
    const id = deliveryId(webhook.id, deliveryName(entry));
    if (this.#held.now?.id !== id) this.#held.end();
    const isFresh = this.#held.now === null && isAfter(entry.offset, this.#waitedUpTo);
    const now = isFresh ? entry : events.current(entry);
    if (now === undefined) return { kind: 'over', record: goneRecord(webhook.id, entry.rowId, entry.rowId, clock) };
    const attemptsBefore = this.#held.now?.attempts ?? 0;
    const revision = this.#revision;
    const text = await events.text(webhook, now, caller);
    // While the text was made, the webhook's settings or its key's rights may have changed.
    if (this.#isStopped || revision !== this.#revision) return { kind: 'not_now' };
    if (text === undefined) return { kind: 'over' };
    // A held event gets a single attempt. If that fails, the next one follows later.
    const retry = attemptsBefore === 0;
    const obeysReceiver = webhook.on_failure === 'hold';
    const post = { to: webhook, id, event: entry.event.type, json: text, retry, obeysReceiver, attemptsBefore };
    return { kind: 'post', post };
  }

  async #post(post: Post): Promise<PostResult> {
    this.#sending = this.#parts.poster.send(post);
    const result = await this.#sending.result;
    this.#sending = undefined;
    return result;
  }

  /**
   * Finishes an event after its attempts, or holds it. If the settings or the position changed meanwhile, ignores a
   * failure that may be repeated.
   */
  async #conclude(
    entry: LogEntry,
    id: string,
    result: PostResult,
    isOutdated: boolean,
  ): Promise<Handled<EndedDelivery>> {
    const { clock, log, recentAttempts } = this.#parts;
    const { outcome } = result;
    // Receivers of another program's protocol cannot detect a repeat, so an event that may have arrived is not sent
    // again, even if the attempts were interrupted.
    const mayRepeat = this.#webhook.wire === undefined || result.neverArrived === true || result.error === null;
    if (mayRepeat && (outcome === 'interrupted' || (outcome === 'failed' && isOutdated))) return { isDone: false };
    if (outcome === 'failed' && mayRepeat && this.#webhook.on_failure === 'hold') {
      await this.#retryAfter(result, entry, id);
      return { isDone: false };
    }
    this.#held.end();
    const record = postRecord(id, entry.event.type, entry.rowId, result, clock);
    logEnd(record, this.#webhook, log);
    recentAttempts.end(this.#webhook.id, record, result);
    if (outcome === 'delivered') return { isDone: true, record };
    return { isDone: true, record: { ...record, position: { rowId: entry.offset.rowId, change: entry.change ?? 0 } } };
  }

  /** Stores a failed attempt and waits until the next one is due; pauses if the receiver wants no more deliveries. */
  async #retryAfter(result: PostResult, entry: LogEntry, id: string): Promise<void> {
    const { clock, log, recentAttempts } = this.#parts;
    const isFirst = this.#held.now === null;
    const held = heldDelivery(id, entry.rowId, result, this.#held.now, clock);
    this.#held.set(held);
    recentAttempts.keepHeld(this.#webhook.id, postRecord(id, entry.event.type, entry.rowId, result, clock), result);
    const { attempts, error } = held;
    if (isFirst) {
      const fields = { webhook: this.#webhook.id, event: entry.event.type, row_id: entry.rowId, attempts, error };
      log.warn('holding an event for a webhook, retrying until it succeeds', fields);
    }
    if (held.gone !== true) return this.#waitForAttempt(holdWaitMs(result));
    const { id: webhook, url } = this.#webhook;
    this.#webhook = { ...this.#webhook, enabled: false };
    log.warn('paused a webhook whose receiver answered 410', { webhook, origin: parsedUrl(url)?.origin });
  }

  async #waitForAttempt(waitMs: number): Promise<void> {
    this.#nextAttemptMs = this.#parts.clock.now() + waitMs;
    await this.#wait(waitMs);
    this.#nextAttemptMs = undefined;
    this.#noteWaited();
  }

  /** After a restart, waits for as long as the receiver still asks for. Returns true if it waited. */
  async #isTooEarly(): Promise<boolean> {
    const leftMs = this.#askedUntilMs - this.#parts.clock.now();
    this.#askedUntilMs = Number.NaN;
    if (!this.#held.isAny || !(leftMs > 0)) return false;
    // The limit holds although the clock may have been set back.
    await this.#waitForAttempt(Math.min(leftMs, HOUR_MS));
    return true;
  }

  /**
   * Stores which delivery is held, if any. The store pauses the webhook if its receiver wants no more deliveries.
   */
  #storeHeld(held: HeldDelivery | null): void {
    const { store, log } = this.#parts;
    try {
      store.setHeld(this.#webhook.id, held);
    } catch (error) {
      log.error('could not store that an event is held', { webhook: this.#webhook.id, error });
    }
  }

  /**
   * Lets the running attempt finish, but prevents its retries. If the attempt fails, the event is handled again with
   * the changed webhook, unless the worker was stopped.
   */
  #outdate(): void {
    this.#revision += 1;
    this.#wakeup.wake();
    this.#sending?.attempts.finish();
  }

  #noteWaited(): void {
    this.#waitedUpTo = this.#parts.feed.lastPublished({ changes: wantsChanges(this.#webhook) });
  }

  /** Waits until the worker is woken, or for at most `atMostMs` milliseconds. */
  async #wait(atMostMs?: number): Promise<void> {
    if (!this.#isStopped) await this.#wakeup.wait(atMostMs);
  }
}
