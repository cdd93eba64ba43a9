import { isAppError } from '../domain/errors.ts';
import type { EventType, LogEntry } from '../domain/event.ts';
import type { EventFeed, FeedReader } from '../domain/ports/feed.ts';
import type { Cancel, Clock, Log } from '../domain/ports/host.ts';
import type { WebhookStore } from '../domain/ports/webhooks.ts';
import type { DeliveryRecord, StoredWebhook } from '../domain/webhook.ts';
import type { PostResult } from './delivery-attempts.ts';
import { deliveryId } from './delivery-id.ts';
import type { Poster, Sending } from './poster.ts';
import type { ProgressBatcher } from './progress-batcher.ts';
import { goneRecord, postRecord } from './record.ts';

/** Entries taken from the feed at a time. */
const BATCH_SIZE = 64;
/** Until the feed or the state database is asked again after it failed. */
const RETRY_MS = 1000;

export interface DeliveryWorkerParts {
  readonly feed: EventFeed;
  readonly store: WebhookStore;
  readonly ledger: ProgressBatcher;
  readonly poster: Poster;
  readonly clock: Clock;
  readonly log: Log;
  readonly jsonOf: (entry: LogEntry, webhook: StoredWebhook) => string;
}

/**
 * One webhook's deliveries: its events in row id order, one at a time (F3). Its row id says up to where it is
 * done and moves only then (F4): delivered, dropped after the last try, not subscribed, or gone from chat.db.
 */
export class DeliveryWorker {
  readonly webhook: StoredWebhook;
  /** Resolves when nothing is sent any more, after `cancel` or `finish`. */
  readonly ended: Promise<void>;
  readonly #parts: DeliveryWorkerParts;
  readonly #types: ReadonlySet<EventType>;
  #reader: FeedReader;
  #generation: number;
  /** Done up to here. */
  #rowId: number;
  /** Taken from the feed and not done; a row id of the feed itself stands behind them. */
  #taken: readonly LogEntry[] = [];
  #next = 0;
  #takenUpTo: number;
  #sending: Sending | undefined;
  #isOver = false;
  #mayHaveMore = true;
  #wake: (() => void) | undefined;

  constructor(webhook: StoredWebhook, parts: DeliveryWorkerParts) {
    this.webhook = webhook;
    this.#parts = parts;
    this.#types = new Set(webhook.events);
    this.#rowId = webhook.rowId;
    this.#takenUpTo = webhook.rowId;
    this.#reader = this.#join(webhook.rowId);
    this.#generation = this.#reader.generation();
    this.ended = this.#run();
  }

  /** Row id up to which this webhook is done. */
  get rowId(): number {
    return this.#rowId;
  }

  /** Ends at once, a running try and a waiting retry included (F5). */
  cancel(): void {
    this.#end();
    this.#sending?.posting.cancel();
  }

  /** Ends after the running try, without another one; what is not done comes again after the restart (A7). */
  finish(): void {
    this.#end();
    this.#sending?.posting.finish();
  }

  /** Goes on from `rowId`, which is stored already; what is under way does not move the row id any more. */
  seek(rowId: number): void {
    this.#reader.close();
    this.#reader = this.#join(rowId);
    this.#generation = this.#reader.generation();
    this.#rowId = rowId;
    this.#parts.ledger.move(this.webhook.id, rowId);
    this.#takenUpTo = rowId;
    this.#taken = [];
    this.#next = 0;
    this.#mayHaveMore = true;
    this.#wake?.();
  }

  #join(rowId: number): FeedReader {
    return this.#parts.feed.resume(rowId, () => this.#noteMore());
  }

  #noteMore(): void {
    if (this.#reader.generation() !== this.#generation) {
      // The log was started over (C4, C5), and the store has moved this webhook if it was replaced.
      const { feed, store } = this.#parts;
      this.seek(store.get(this.webhook.id)?.rowId ?? feed.lastPublished());
    }
    this.#mayHaveMore = true;
    this.#wake?.();
  }

  #end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      try {
        const entry = this.#taken[this.#next];
        if (entry !== undefined) await this.#handle(entry);
        else if (!this.#take()) await this.#more();
        else if (this.#taken.length === BATCH_SIZE) await turn();
      } catch (error) {
        const isAway = isAppError(error) && error.kind === 'unavailable';
        if (!isAway) this.#parts.log.error('a webhook lane failed and goes on', { webhook: this.webhook.id, error });
        await this.#more(RETRY_MS);
      }
    }
    this.#reader.close();
  }

  /** Takes the next entries; false when there is nothing to do. */
  #take(): boolean {
    if (this.#takenUpTo > this.#rowId) this.#noteGone(this.#takenUpTo);
    this.#mayHaveMore = false;
    const batch = this.#reader.take(BATCH_SIZE);
    this.#taken = batch.entries;
    this.#next = 0;
    this.#takenUpTo = batch.upTo;
    return batch.entries.length > 0 || batch.upTo > this.#rowId;
  }

  /** Waits until the feed may have more, or for `atMostMs`. */
  async #more(atMostMs?: number): Promise<void> {
    if (this.#isOver || (this.#mayHaveMore && atMostMs === undefined)) return;
    let cancel: Cancel | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (atMostMs !== undefined) cancel = this.#parts.clock.after(atMostMs, resolve);
    });
    cancel?.();
    this.#wake = undefined;
  }

  async #handle(entry: LogEntry): Promise<void> {
    if (entry.rowId > this.#rowId + 1) this.#noteGone(entry.rowId - 1);
    if (this.#types.has(entry.event.type)) {
      await this.#deliver(entry);
      return;
    }
    this.#next += 1;
    this.#done(entry.rowId);
  }

  async #deliver(entry: LogEntry): Promise<void> {
    const { poster, jsonOf } = this.#parts;
    const { id: webhookId, url, secret } = this.webhook;
    const reader = this.#reader;
    // Databases that need not give a row a guid (B1) must not make all of its events look like repeats of one.
    const id = deliveryId(webhookId, entry.guid || `row ${entry.rowId}`);
    const json = jsonOf(entry, this.webhook);
    const sending = poster.send({ url, secret, id, event: entry.event.type, json, retry: true });
    this.#sending = sending;
    const result = await sending.result;
    this.#sending = undefined;
    if (result.outcome === 'interrupted') return;
    this.#report(entry, result);
    const record = postRecord(id, entry.event.type, entry.rowId, result, this.#parts.clock);
    // Another reader means another place to go on from: a replay, or the log was replaced meanwhile.
    if (reader !== this.#reader) this.#done(this.#rowId, record);
    else {
      this.#next += 1;
      this.#done(entry.rowId, record);
    }
  }

  /** Rows up to `upTo` were deleted before they could be delivered (F4). */
  #noteGone(upTo: number): void {
    const first = this.#rowId + 1;
    const id = deliveryId(this.webhook.id, `gone ${first}-${upTo}`);
    this.#done(upTo, goneRecord(id, first, upTo, this.#parts.clock));
  }

  #done(rowId: number, record?: DeliveryRecord): void {
    this.#rowId = rowId;
    this.#parts.ledger.note(this.webhook.id, rowId, record);
  }

  #report(entry: LogEntry, result: PostResult): void {
    const fields = { webhook: this.webhook.id, event: entry.event.type, row_id: entry.rowId, status: result.status };
    if (result.outcome === 'delivered') this.#parts.log.debug('an event was delivered to a webhook', fields);
    else {
      const { origin } = new URL(this.webhook.url);
      const { attempts, error } = result;
      this.#parts.log.warn('an event was dropped by a webhook', { ...fields, origin, attempts, error });
    }
  }
}

/** Whoever is far behind lets requests and other lanes have their turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
