import type { Caller } from '../domain/caller.ts';
import type { LogEntry } from '../domain/event.ts';
import type { IncludeSet } from '../domain/include.ts';
import type { Offset } from '../domain/offset.ts';
import type { ConsumerTask, EventConsumer, EventFeed, Handled } from '../domain/ports/feed.ts';
import type { Clock, Log } from '../domain/ports/host.ts';
import type { WebhookStore } from '../domain/ports/webhooks.ts';
import { problem } from '../domain/problems.ts';
import { type DeliveryRecord, type StoredWebhook, type WebhookEventType, wantsChanges } from '../domain/webhook.ts';
import type { EventJson } from '../wire/event-json.ts';
import { deliveryId, deliveryName, goneRecord, postRecord } from './delivery-record.ts';
import type { Poster, Sending } from './poster.ts';
import type { ProgressBatcher } from './progress-batcher.ts';

export interface DeliveryWorkerParts {
  readonly feed: EventFeed;
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

/** The deliveries of one webhook: its events in order, one at a time, whatever the other webhooks do (decision F3). */
export class DeliveryWorker {
  readonly webhook: StoredWebhook;
  readonly #parts: DeliveryWorkerParts;
  readonly #types: ReadonlySet<WebhookEventType>;
  readonly #consumer: EventConsumer;
  #sending: Sending | undefined;
  #isStopped = false;

  constructor(webhook: StoredWebhook, parts: DeliveryWorkerParts) {
    this.webhook = webhook;
    this.#parts = parts;
    const changes = wantsChanges(webhook);
    // A range of changed messages comes with either of the other two (decision I3).
    this.#types = new Set([...webhook.events, ...(changes ? (['messages.changed'] as const) : [])]);
    const { id } = webhook;
    const { feed, store, progress, clock } = parts;
    const task: ConsumerTask<DeliveryRecord> = {
      name: `webhook/${id}`,
      storedOffset() {
        const offset = store.get(id)?.offset ?? feed.lastPublished({ changes });
        progress.move(id, offset);
        return offset;
      },
      handle: (entry) => this.#handle(entry),
      gone: (first, last) => goneRecord(id, first, last, clock),
      progress: (offset, record) => progress.note(id, offset, record),
    };
    this.#consumer = feed.consume(task, { changes });
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
    this.#sending?.attempts.cancel();
  }

  /**
   * Ends after the running attempt, without another one; what is not done comes again after the restart (decision A7).
   */
  finish(): void {
    this.#isStopped = true;
    this.#consumer.stop();
    this.#sending?.attempts.finish();
  }

  /** Goes on from `offset`, which is stored already; what is being delivered does not move the offset any more. */
  seek(offset: Offset): void {
    this.#parts.progress.move(this.webhook.id, offset);
    this.#consumer.seek(offset);
  }

  async #handle(entry: LogEntry): Promise<Handled<DeliveryRecord>> {
    const { id: webhookId, url, secret, include } = this.webhook;
    const { type } = entry.event;
    if (!this.#types.has(type)) return { isDone: true };
    const { poster, json, ready, clock } = this.#parts;
    await ready(include);
    if (this.#isStopped) return { isDone: false };
    const caller = this.#caller();
    // What the key may not read counts as not subscribed.
    if (caller?.admits?.(entry) === false) return { isDone: true };
    const id = deliveryId(webhookId, deliveryName(entry));
    const text = json(entry, include, caller?.eventView?.());
    this.#sending = poster.send({ url, secret, id, event: type, json: text, retry: true });
    const result = await this.#sending.result;
    this.#sending = undefined;
    if (result.outcome === 'interrupted') return { isDone: false };
    const fields = { webhook: webhookId, event: type, row_id: entry.rowId, status: result.status };
    if (result.outcome === 'delivered') this.#parts.log.debug('delivered an event to a webhook', fields);
    else {
      const { attempts, error } = result;
      const { origin } = new URL(url);
      this.#parts.log.warn('dropped an event for a webhook', { ...fields, origin, attempts, error });
    }
    return { isDone: true, record: postRecord(id, type, entry.rowId, result, clock) };
  }

  /** The limited key that the webhook belongs to; undefined for the owner's. Without a valid key it stands still. */
  #caller(): Caller | undefined {
    const { keyId } = this.webhook;
    if (keyId === null) return undefined;
    const caller = this.#parts.callerOf?.(keyId);
    if (caller === undefined) throw problem('unauthorized');
    return caller;
  }
}
