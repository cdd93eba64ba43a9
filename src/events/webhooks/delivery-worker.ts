import type { Caller } from '../../domain/caller.ts';
import type { LogEntry, RowEntry } from '../../domain/event.ts';
import type { IncludeSet } from '../../domain/include.ts';
import type { Offset } from '../../domain/offset.ts';
import type { ConsumerTask, EventConsumer, EventFeed, Handled } from '../../domain/ports/feed.ts';
import type { Clock, Log } from '../../domain/ports/host.ts';
import type { DroppedEvent, EndedDelivery, WebhookStore } from '../../domain/ports/webhooks.ts';
import { problem } from '../../domain/problems.ts';
import { type HeldDelivery, type StoredWebhook, type WebhookEventType, wantsChanges } from '../../domain/webhook.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import type { EventJson } from '../../schema/event-json.ts';
import type { PostResult } from './delivery-attempts.ts';
import { deliveryId, deliveryName, goneRecord, heldDelivery, postRecord } from './delivery-record.ts';
import { eventFilter, subscribedTypes } from './event-filter.ts';
import type { Poster, Sending } from './poster.ts';
import type { ProgressBatcher } from './progress-batcher.ts';

/** Decision P3: waits before the attempts after the third one. */
const FIRST_HOLD_MS = 10_000;
const MAX_HOLD_MS = 300_000;
const FIRST_ATTEMPTS = 3;

export interface DeliveryWorkerParts {
  readonly feed: EventFeed;
  /** A row as it is now; undefined when it was deleted from chat.db. */
  readonly rowNow: (rowId: number) => RowEntry | undefined;
  readonly store: WebhookStore;
  readonly progress: ProgressBatcher;
  readonly poster: Poster;
  readonly clock: Clock;
  readonly log: Log;
  readonly json: EventJson;
  /** Resolves when what is to be included can be had; undefined when it can be now. */
  readonly ready: (include: IncludeSet) => Promise<void> | undefined;
  /** What a limited key may see now; undefined when it has expired or was revoked. */
  readonly callerOf?: ((keyId: string) => Caller | undefined) | undefined;
}

/**
 * The deliveries of one webhook: its events in order, one at a time, whatever the other webhooks do (decision F3).
 * Its settings may change at any time; each attempt is made by those of its beginning.
 */
export class DeliveryWorker {
  readonly #parts: DeliveryWorkerParts;
  readonly #consumer: EventConsumer;
  #webhook: StoredWebhook;
  #types: ReadonlySet<WebhookEventType>;
  #matches: (entry: LogEntry) => boolean;
  #sending: Sending | undefined;
  #held: HeldDelivery | null = null;
  /** Whether there may be dropped events to deliver again. */
  #isReplaying = false;
  readonly #wakeup: Wakeup;
  /** Counts what makes a running delivery outdated: other settings, or another position. */
  #revision = 0;
  #isStopped = false;

  constructor(webhook: StoredWebhook, parts: DeliveryWorkerParts) {
    this.#parts = parts;
    this.#webhook = webhook;
    this.#types = subscribedTypes(webhook);
    this.#matches = eventFilter(webhook.filter);
    const { id } = webhook;
    const { feed, store, progress, clock } = parts;
    this.#wakeup = new Wakeup(clock);
    const task: ConsumerTask<EndedDelivery> = {
      name: `webhook/${id}`,
      storedOffset: () => {
        const offset = store.get(id)?.offset ?? feed.lastPublished({ changes: wantsChanges(this.#webhook) });
        progress.move(id, offset);
        this.#held = null;
        this.#isReplaying = false;
        return offset;
      },
      first: () => (this.#isReplaying ? this.#replayNext() : undefined),
      handle: (entry) => this.#handle(entry),
      gone: (first, last) => goneRecord(id, first, last, clock),
      progress: (offset, record) => progress.note(id, offset, record),
    };
    this.#consumer = feed.consume(task, { changes: wantsChanges(webhook) });
    this.#held = webhook.held;
    this.#isReplaying = store.nextReplayed(id) !== undefined;
  }

  start(): void {
    this.#consumer.start();
  }

  /**
   * Everything up to here is done: delivered, dropped after the last attempt, not subscribed, or gone from chat.db
   * (decision F4).
   */
  get offset(): Offset {
    return this.#consumer.offset;
  }

  /** Resolves when nothing is sent any more, after `cancel` or `finish`. */
  get ended(): Promise<void> {
    return this.#consumer.ended;
  }

  /** Ends at once, a running attempt and a waiting retry included (decision F5). */
  cancel(): void {
    this.#isStopped = true;
    this.#consumer.stop();
    this.#wakeup.wake();
    this.#sending?.attempts.cancel();
  }

  /**
   * Ends after the running attempt, without another one; what is not done comes again after the restart (decision A7).
   */
  finish(): void {
    this.#isStopped = true;
    this.#consumer.stop();
    this.#outdate();
  }

  /** Takes other settings, which are stored already. A running attempt ends, and the next one is made by these. */
  update(webhook: StoredWebhook): void {
    const before = this.#webhook;
    this.#webhook = webhook;
    this.#types = subscribedTypes(webhook);
    this.#matches = eventFilter(webhook.filter);
    const changes = wantsChanges(webhook);
    // After a pause the rows are read again, as they are now.
    const isResumed = !before.enabled && webhook.enabled && this.#sending === undefined;
    if (changes !== wantsChanges(before) || isResumed) {
      if (!isResumed && this.#held !== null) this.#hold(null);
      this.#parts.progress.move(webhook.id, webhook.offset);
      this.#consumer.seek(webhook.offset, { changes });
    }
    this.#outdate();
  }

  /** Goes on from `offset`, which is stored already; what is being delivered does not move the offset any more. */
  seek(offset: Offset): void {
    this.#parts.progress.move(this.#webhook.id, offset);
    this.#held = null;
    this.#isReplaying = false;
    this.#consumer.seek(offset);
    this.#outdate();
  }

  /** Delivers what was dropped again, before the next event (decision P6). */
  replayDropped(): void {
    this.#isReplaying = true;
    // Not after what is being held just now.
    this.#wakeup.wake();
    this.#consumer.wake();
  }

  async #replayNext(): Promise<void> {
    const { id, enabled } = this.#webhook;
    const { store, progress, clock } = this.#parts;
    if (!enabled) return this.#wait();
    const place = store.nextReplayed(id);
    if (place === undefined) {
      this.#isReplaying = false;
      return;
    }
    const entry = this.#entryAt(place);
    const handled =
      entry === undefined
        ? { isDone: true as const, record: goneRecord(id, place.rowId, place.rowId, clock) }
        : await this.#handle(entry);
    if (!handled.isDone) return;
    store.endReplayed(id, place, handled.record?.outcome === 'dropped');
    if (handled.record !== undefined) progress.note(id, this.offset, { ...handled.record, place: undefined });
  }

  async #handle(entry: LogEntry): Promise<Handled<EndedDelivery>> {
    const webhook = this.#webhook;
    if (!webhook.enabled) {
      await this.#wait();
      return { isDone: false };
    }
    const { id: webhookId, include } = webhook;
    const { type } = entry.event;
    if (!this.#types.has(type) || !this.#matches(entry)) return this.#skip();
    const { poster, json, ready, clock } = this.#parts;
    await ready(include);
    if (this.#isStopped) return { isDone: false };
    const caller = this.#caller();
    // What the key may not read counts as not subscribed.
    if (caller?.feed.admits(entry) === false) return this.#skip();
    const id = deliveryId(webhookId, deliveryName(entry));
    if (this.#held !== null && this.#held.id !== id) this.#hold(null);
    const held = this.#held;
    const now = held === null ? entry : this.#asItIsNow(entry);
    if (now === undefined) {
      this.#hold(null);
      return { isDone: true, record: goneRecord(webhookId, entry.rowId, entry.rowId, clock) };
    }
    const revision = this.#revision;
    const text = (caller?.json ?? json)(now, include);
    const attemptsBefore = held?.attempts ?? 0;
    const retry = attemptsBefore === 0;
    this.#sending = poster.send({ to: webhook, id, event: type, json: text, retry, attemptsBefore });
    const sent = await this.#sending.result;
    this.#sending = undefined;
    if (sent.outcome === 'interrupted') return { isDone: false };
    const result = held === null ? sent : { ...sent, attempts: attemptsBefore + sent.attempts };
    if (result.outcome === 'failed') {
      if (revision !== this.#revision) return { isDone: false };
      if (this.#webhook.on_failure === 'hold') {
        await this.#holdAfter(result, entry, held, id);
        return { isDone: false };
      }
    }
    if (held !== null) this.#hold(null);
    this.#logEnd(result, entry);
    const record = postRecord(id, type, entry.rowId, result, clock);
    if (result.outcome === 'delivered') return { isDone: true, record };
    return { isDone: true, record: { ...record, place: { rowId: entry.offset.rowId, change: entry.change ?? 0 } } };
  }

  /** What was held is not to be delivered any more, where it was this. */
  #skip(): Handled<EndedDelivery> {
    if (this.#held !== null) this.#hold(null);
    return { isDone: true };
  }

  /** Notes a failed attempt and waits until the next one is due. */
  async #holdAfter(result: PostResult, entry: LogEntry, before: HeldDelivery | null, id: string): Promise<void> {
    const held = heldDelivery(id, entry.rowId, result, before, this.#parts.clock);
    this.#hold(held);
    const { attempts, error } = held;
    if (before === null) {
      const fields = { webhook: this.#webhook.id, event: entry.event.type, row_id: entry.rowId, attempts, error };
      this.#parts.log.warn('holding an event for a webhook, retrying until it succeeds', fields);
    }
    await this.#wait(Math.min(FIRST_HOLD_MS * 2 ** Math.max(0, attempts - FIRST_ATTEMPTS), MAX_HOLD_MS));
  }

  #hold(held: HeldDelivery | null): void {
    this.#held = held;
    const { store, log } = this.#parts;
    try {
      store.hold(this.#webhook.id, held);
    } catch (error) {
      log.error('could not store that an event is held', { webhook: this.#webhook.id, error });
    }
  }

  #logEnd({ outcome, status, attempts, error }: PostResult, { event, rowId }: LogEntry): void {
    const { id, url } = this.#webhook;
    const { log } = this.#parts;
    const fields = { webhook: id, event: event.type, row_id: rowId, status };
    if (outcome === 'delivered') log.debug('delivered an event to a webhook', fields);
    else log.warn('dropped an event for a webhook', { ...fields, origin: new URL(url).origin, attempts, error });
  }

  /** A new row is read again; a change is told as it was. */
  #asItIsNow(entry: LogEntry): LogEntry | undefined {
    if (entry.change !== undefined) return entry;
    const row = this.#parts.rowNow(entry.rowId);
    return row === undefined ? undefined : { ...entry, guid: row.guid, event: row.event };
  }

  /** undefined when it is gone. */
  #entryAt({ rowId, change }: DroppedEvent): LogEntry | undefined {
    const { feed, rowNow } = this.#parts;
    if (change > 0) {
      const [entry] = feed.page({ rowId, change: change - 1 }, 1, { changes: true }).entries;
      return entry?.change === change ? entry : undefined;
    }
    const row = rowNow(rowId);
    if (row === undefined || !wantsChanges(this.#webhook)) return row;
    return { ...row, offset: { rowId, change: this.offset.change }, generation: feed.changeGeneration() };
  }

  /** The running attempt is the last one of its delivery, which is handled again. */
  #outdate(): void {
    this.#revision += 1;
    this.#wakeup.wake();
    this.#sending?.attempts.finish();
  }

  /** Until something changes, or for `atMostMs`. */
  async #wait(atMostMs?: number): Promise<void> {
    if (!this.#isStopped) await this.#wakeup.wait(atMostMs);
  }

  /** The limited key that the webhook belongs to; undefined for the owner's. Without a valid key it stands still. */
  #caller(): Caller | undefined {
    const { keyId } = this.#webhook;
    if (keyId === null) return undefined;
    const caller = this.#parts.callerOf?.(keyId);
    if (caller === undefined) throw problem('unauthorized');
    return caller;
  }
}
