import { isAppError, isChatDbAway } from '../model/errors.ts';
import { isoSecond } from '../model/iso-second.ts';
import { type ClientOffset, isAfter, type Offset, rowOffset } from '../model/offset.ts';
import type { NewWebhook, ReplayFrom, WebhookChanges, WebhookRegistry } from '../model/ports/webhooks-ports.ts';
import { invalidRequest, problem } from '../model/problems.ts';
import {
  type DeliveryRecord,
  type DeliveryWatcher,
  type DetailedDelivery,
  type StoredWebhook,
  type WebhookStatus,
  type WebhookTestResult,
  wantsChanges,
} from '../model/webhook.ts';
import { changedWebhook, shownSettings } from '../model/webhook-settings.ts';
import { withRows } from './delivered-rows.ts';
import { DeliveryWorker, type DeliveryWorkerParts } from './delivery-worker.ts';
import { ProgressBatcher } from './progress-batcher.ts';
import { RecentAttempts } from './recent-attempts.ts';
import { SinglePosts } from './single-posts.ts';

/**
 * If chat.db was unavailable when a webhook that asks for changes was started, it is started again after this time, in
 * milliseconds.
 */
const RETRY_MS = 1000;

export interface DispatcherParts extends Omit<DeliveryWorkerParts, 'progress' | 'recentAttempts'> {
  readonly watcher?: DeliveryWatcher;
}

/**
 * The registered webhooks, each with its worker (decision F3). Adding one starts a worker, and removing one ends its
 * worker before the request is answered (decision F5).
 */
export class Dispatcher implements WebhookRegistry {
  readonly #parts: DispatcherParts;
  readonly #workerParts: DeliveryWorkerParts;
  readonly #progress: ProgressBatcher;
  readonly #workers = new Map<string, DeliveryWorker>();
  readonly #recentAttempts: RecentAttempts;
  readonly #singles: SinglePosts;
  #closing: Promise<void> | undefined;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const { watcher } = parts;
    this.#progress = new ProgressBatcher({ ...parts, onOutcome: (...ended) => watcher?.countDelivery(...ended) });
    this.#recentAttempts = new RecentAttempts((webhookId) => watcher?.countRetry(webhookId));
    this.#workerParts = { ...parts, progress: this.#progress, recentAttempts: this.#recentAttempts };
    const offsetOf = ({ id, offset }: StoredWebhook) => this.#workers.get(id)?.offset ?? offset;
    this.#singles = new SinglePosts({ ...this.#workerParts, offsetOf });
  }

  /** Starts every worker at its stored offset (decision F4). */
  start(): void {
    for (const webhook of this.#parts.store.list()) this.#begin(webhook);
  }

  list(): readonly StoredWebhook[] {
    return this.#parts.store.list();
  }

  /** Stops the webhooks of a limited key while the key is invalid, and starts them once it is valid again. */
  refresh(keyId: string): void {
    this.#progress.flush();
    for (const webhook of this.#parts.store.list().filter((one) => one.keyId === keyId)) {
      if (this.#parts.events.isValid(webhook)) this.#open(webhook);
      else {
        this.#workers.get(webhook.id)?.cancel();
        this.#workers.delete(webhook.id);
      }
    }
  }

  get(id: string): StoredWebhook | undefined {
    return this.#parts.store.get(id);
  }

  add(webhook: NewWebhook): StoredWebhook {
    if (this.#closing !== undefined) throw problem('shutting_down');
    const { store, feed } = this.#parts;
    this.#assertHost(webhook.url);
    // The feed begins to detect changes when the first webhook asks for them.
    const start = wantsChanges(webhook) ? feed.resolve(undefined, { changes: true }) : feed.lastPublished();
    const stored = store.add(webhook, start);
    this.#open(stored);
    return stored;
  }

  change(id: string, changes: WebhookChanges): StoredWebhook {
    if (this.#closing !== undefined) throw problem('shutting_down');
    const { store, clock } = this.#parts;
    this.#progress.flush();
    const before = this.#existing(id);
    const changed = changedWebhook(before, changes, clock.now());
    if (changes.url !== undefined) this.#assertHost(changes.url);
    const worker = this.#workers.get(id);
    const webhook = { ...changed, offset: this.#positionOf(changed, before, worker?.offset ?? before.offset) };
    store.update(webhook);
    worker?.update(webhook);
    return webhook;
  }

  async remove(id: string): Promise<boolean> {
    if (!this.#parts.store.remove(id)) return false;
    const worker = this.#workers.get(id);
    this.#workers.delete(id);
    worker?.cancel();
    await Promise.allSettled([worker?.ended, this.#singles.cancel(id)]);
    this.#recentAttempts.forget(id);
    return true;
  }

  status(id: string): WebhookStatus {
    const { store, feed, clock } = this.#parts;
    this.#progress.flush();
    const webhook = this.#existing(id);
    const { rowId, change } = this.#workers.get(id)?.offset ?? webhook.offset;
    const changes = wantsChanges(webhook);
    const last = feed.lastPublished({ changes });
    const behind = Math.max(0, last.rowId - rowId) + (changes ? Math.max(0, last.change - change) : 0);
    return {
      ...shownSettings(webhook, clock.now()),
      ...store.health(id),
      held: webhook.held,
      ...this.#nextAttempt(id),
      dropped: store.droppedCount(id),
      row_id: rowId,
      behind,
    };
  }

  #nextAttempt(id: string): Pick<WebhookStatus, 'next_attempt_at'> {
    const atMs = this.#workers.get(id)?.nextAttemptMs;
    return atMs === undefined ? {} : { next_attempt_at: isoSecond(atMs) };
  }

  retry(id: string): StoredWebhook {
    const webhook = this.#existing(id);
    this.#workers.get(id)?.retryNow();
    return webhook;
  }

  deliveries(id: string): readonly DeliveryRecord[] {
    this.#existing(id);
    this.#progress.flush();
    return this.#parts.store.deliveries(id);
  }

  detailedDeliveries(id: string): readonly DetailedDelivery[] {
    const records = this.deliveries(id);
    const detailed = this.#recentAttempts.detailed(this.#existing(id), records);
    return withRows(detailed, id, (rowId) => this.#parts.events.rowNow(rowId));
  }

  lastDelivery(id: string): DeliveryRecord | undefined {
    this.#existing(id);
    this.#progress.flush();
    return this.#parts.store.lastDelivery(id);
  }

  async test(id: string): Promise<WebhookTestResult> {
    return this.#singles.test(this.#existing(id));
  }

  async resend(id: string, delivery: string): Promise<WebhookTestResult> {
    const webhook = this.#existing(id);
    this.#progress.flush();
    return this.#singles.resend(webhook, delivery);
  }

  replay(id: string, from: ReplayFrom): StoredWebhook {
    const webhook = this.#existing(id);
    const { store } = this.#parts;
    const worker = this.#workers.get(id);
    this.#progress.flush();
    if (from === 'dropped') {
      store.replayDropped(id);
      worker?.replayDropped();
      return webhook;
    }
    const start = this.#replayStart(from, webhook, worker?.offset ?? webhook.offset);
    store.seek(id, start);
    worker?.seek(start);
    return { ...webhook, offset: start };
  }

  #replayStart(from: ClientOffset | 'latest', webhook: StoredWebhook, now: Offset): Offset {
    const { feed } = this.#parts;
    const changes = wantsChanges(webhook);
    if (from === 'latest') return feed.lastPublished({ changes });
    // If `from` is only a row id, it has no change number. The webhook then keeps its current change number, so that no
    // change is delivered twice.
    const isRow = 'rowId' in from && !('generation' in from);
    const start = isRow ? { rowId: from.rowId, change: now.change } : feed.resolve(from, { changes });
    if (!isAfter(start, now)) return start;
    const message = `\`after\` must be "latest", or a row id or an offset that is not beyond the webhook's position (row ${now.rowId}).`;
    throw invalidRequest([{ pointer: '/after', message }]);
  }

  /** Lets running attempts finish, and cancels them after `withinMs` (decision A7). May be called twice. */
  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  async #close(withinMs: number): Promise<void> {
    const workers = [...this.#workers.values()];
    for (const worker of workers) worker.finish();
    // Tests and resent deliveries are attempted only once, so they have no retries that `finish` could prevent.
    const cancelDeadline = this.#parts.clock.after(withinMs, () => {
      for (const worker of workers) worker.cancel();
      void this.#singles.cancel();
    });
    await Promise.allSettled([...workers.map((worker) => worker.ended), this.#singles.ended()]);
    cancelDeadline();
    this.#progress.flush();
    this.#parts.poster.close();
  }

  #begin(webhook: StoredWebhook): void {
    if (wantsChanges(webhook)) this.#openWithChanges(webhook);
    else this.#open(webhook);
  }

  /** Starts a worker once the feed detects changes: a reader that joins earlier would receive only new rows. */
  #openWithChanges(webhook: StoredWebhook): void {
    const { feed, store, clock, log } = this.#parts;
    try {
      feed.resolve(undefined, { changes: true });
    } catch (error) {
      if (isChatDbAway(error)) {
        clock.after(RETRY_MS, () => {
          const now = store.get(webhook.id);
          if (this.#closing === undefined && now !== undefined) this.#begin(now);
        });
        return;
      }
      if (!isAppError(error)) throw error;
      log.warn('a webhook asks for changes but receives only new rows', { webhook: webhook.id, reason: error.message });
    }
    this.#open(webhook);
  }

  #open(webhook: StoredWebhook): void {
    if (this.#workers.has(webhook.id) || !this.#parts.events.isValid(webhook)) return;
    const worker = new DeliveryWorker(webhook, this.#workerParts);
    this.#workers.set(webhook.id, worker);
    worker.start();
  }

  /**
   * Returns the webhook's position after its event types changed. `now` is the position before the change. The row id
   * stays. If the webhook did not ask for changes before but does now, it receives only later changes.
   */
  #positionOf(changed: StoredWebhook, before: StoredWebhook, now: Offset): Offset {
    if (wantsChanges(changed) === wantsChanges(before)) return now;
    if (!wantsChanges(changed)) return rowOffset(now.rowId);
    return { rowId: now.rowId, change: this.#parts.feed.resolve(undefined, { changes: true }).change };
  }

  #assertHost(url: string): void {
    const message = this.#parts.poster.refusal(url);
    if (message !== undefined) throw invalidRequest([{ pointer: '/url', message }]);
  }

  #existing(id: string): StoredWebhook {
    const webhook = this.#parts.store.get(id);
    if (webhook === undefined) throw problem('webhook_not_found');
    return webhook;
  }
}
