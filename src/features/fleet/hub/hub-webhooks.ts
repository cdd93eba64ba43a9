import { randomUUID } from 'node:crypto';
import type { ConsumerInfo } from '@nats-io/jetstream';
import { rowOffset } from '../../../core/model/offset.ts';
import type {
  NewWebhook,
  ReplayFrom,
  WebhookChanges,
  WebhookRegistry,
} from '../../../core/model/ports/webhooks-ports.ts';
import { invalidRequest, problem } from '../../../core/model/problems.ts';
import { type WebhookSummary, webhookSummary } from '../../../core/model/status.ts';
import {
  type DeliveryRecord,
  type DetailedDelivery,
  MAX_WEBHOOKS,
  type StoredWebhook,
  type WebhookStatus,
  type WebhookTestResult,
} from '../../../core/model/webhook.ts';
import { changedWebhook, newStoredWebhook, shownSettings } from '../../../core/model/webhook-settings.ts';
import { fleetProblem } from '../problems.ts';
import { EVENTS, unlessMissing } from '../protocol/subjects.ts';
import { dropped, healthOf } from './deliveries.ts';
import type { HubFeed } from './hub-feed.ts';
import { placeOf } from './place.ts';
import { streamEntry } from './stream-entry.ts';
import { consumerName, restarted, retryHeld, startAfter, type WebhookRecord } from './webhook-record.ts';
import { WebhookTable } from './webhook-table.ts';
import { type WebhookParts, WebhookWorker } from './webhook-worker.ts';

export interface HubWebhooksParts extends WebhookParts {
  readonly feed: HubFeed;
}

/** The webhooks of the fleet. Every hub knows all of them, and delivers to each. */
export class HubWebhooks implements WebhookRegistry {
  readonly #parts: HubWebhooksParts;
  readonly #table: WebhookTable;
  readonly #workers = new Map<string, WebhookWorker>();
  /** The newest replay of dropped events of each webhook. Each begins when the one before has ended. */
  readonly #replays = new Map<string, Promise<void>>();
  #isClosing = false;

  constructor(parts: HubWebhooksParts) {
    this.#parts = parts;
    this.#table = new WebhookTable({ ...parts, onChange: (id) => this.#changed(id) });
  }

  start(): void {
    this.#table.start();
  }

  async close(withinMs: number): Promise<void> {
    this.#isClosing = true;
    const workers = [...this.#workers.values()];
    for (const worker of workers) worker.stop();
    const cancel = this.#parts.clock.after(withinMs, () => {
      for (const worker of workers) worker.stop(true);
    });
    await Promise.allSettled(workers.map(({ ended }) => ended));
    cancel();
    await this.#table.close();
    this.#parts.deliveries.close();
  }

  list(): readonly StoredWebhook[] {
    return this.#table.all().map(({ webhook }) => webhook);
  }

  get(id: string): StoredWebhook | undefined {
    return this.#table.get(id)?.webhook;
  }

  async add(given: NewWebhook): Promise<StoredWebhook> {
    const { clock, feed } = this.#parts;
    this.#assertPossible(given);
    const newest = feed.lastPublished();
    const webhook = newStoredWebhook(randomUUID(), given, rowOffset(0), clock.now());
    if (this.list().length >= MAX_WEBHOOKS) throw problem('too_many_webhooks', { max: MAX_WEBHOOKS });
    await this.#table.create({ webhook, n: 1, ...startAfter(newest) });
    return webhook;
  }

  async change(id: string, changes: WebhookChanges): Promise<StoredWebhook> {
    this.#assertPossible(changes);
    const nowMs = this.#parts.clock.now();
    // A held event is attempted at once with the new settings.
    const changed = (record: WebhookRecord): WebhookRecord =>
      retryHeld({ ...record, webhook: changedWebhook(record.webhook, changes, nowMs) });
    return (await this.#write(id, changed)).webhook;
  }

  async remove(id: string): Promise<boolean> {
    const record = this.#table.get(id);
    if (record === undefined) return false;
    const worker = this.#workers.get(id);
    await this.#table.remove(id);
    worker?.stop(true);
    await worker?.ended;
    await this.#deleteConsumer(record);
    return true;
  }

  async status(id: string): Promise<WebhookStatus> {
    const record = this.#existing(id);
    const { webhook } = record;
    const [deliveries, consumer] = await Promise.all([this.#parts.deliveries.of(id), this.#consumer(record)]);
    return {
      ...shownSettings(webhook, this.#parts.clock.now()),
      ...healthOf(deliveries, webhook),
      held: webhook.held,
      dropped: dropped(deliveries).length,
      row_id: consumer?.ack_floor.stream_seq ?? 0,
      behind: consumer === undefined ? 0 : consumer.num_pending + consumer.num_ack_pending,
    };
  }

  async retry(id: string): Promise<StoredWebhook> {
    return (await this.#write(id, retryHeld)).webhook;
  }

  async deliveries(id: string): Promise<readonly DeliveryRecord[]> {
    this.#existing(id);
    return (await this.#parts.deliveries.of(id)).map(({ tries: _tries, answer: _answer, ...record }) => record);
  }

  async detailedDeliveries(id: string): Promise<readonly DetailedDelivery[]> {
    const { held } = this.#existing(id).webhook;
    const all = await this.#parts.deliveries.of(id);
    if (held === null) return all;
    const { row_id, attempts, since, error } = held;
    const now = { id: held.id, at: since, event: 'message.received', row_id, outcome: 'held', attempts } as const;
    return [{ ...now, status: null, error, duration_ms: 0, tries: [] }, ...all];
  }

  async lastDelivery(id: string): Promise<DeliveryRecord | undefined> {
    return (await this.deliveries(id))[0];
  }

  async summaries(): Promise<readonly WebhookSummary[]> {
    const summary = async (one: StoredWebhook): Promise<WebhookSummary> =>
      webhookSummary(one, await this.status(one.id), await this.lastDelivery(one.id));
    return Promise.all(this.list().map(summary));
  }

  test(id: string): Promise<WebhookTestResult> {
    return this.#parts.deliveries.test(this.#existing(id).webhook);
  }

  /**
   * Posts the event of a delivery again, under the same id. Throws `delivery_not_found`, and `test_in_progress` unless
   * it `waits`.
   */
  async resend(id: string, delivery: string, waits = false): Promise<WebhookTestResult> {
    const { webhook } = this.#existing(id);
    const { tail, envelope, deliveries } = this.#parts;
    const isKnown = (await deliveries.of(id)).some((one) => one.id === delivery);
    const found = isKnown ? await tail.stored({ last_by_subj: delivery }) : undefined;
    const place = { ...tail.last, rowId: found?.seq ?? 0, atMs: found?.time.getTime() ?? 0 };
    const entry = found && streamEntry(found, place, envelope);
    if (entry === undefined) throw problem('delivery_not_found');
    return deliveries.resend(entry, webhook, waits);
  }

  async replay(id: string, from: ReplayFrom): Promise<StoredWebhook> {
    const record = this.#existing(id);
    const { feed } = this.#parts;
    if (from === 'dropped') {
      this.#replays.set(id, this.#replayDropped(id, this.#replays.get(id)));
      return record.webhook;
    }
    const newest = feed.lastPublished();
    const place = from === 'latest' ? newest : placeOf(await feed.resolve(from));
    const floor = (await this.#consumer(record))?.ack_floor.stream_seq ?? newest.rowId;
    if (from !== 'latest' && place.rowId > Math.max(floor, record.last?.seq ?? 0)) {
      const message = '`after` must be "latest", or an offset that is not beyond the position of the webhook.';
      throw invalidRequest([{ pointer: '/after', message }]);
    }
    return (await this.#write(id, (one) => restarted(one, startAfter(place)))).webhook;
  }

  async #replayDropped(id: string, before: Promise<void> | undefined): Promise<void> {
    const { deliveries, tail } = this.#parts;
    await before;
    try {
      for (const { id: delivery, row_id } of dropped(await deliveries.of(id)).toReversed()) {
        const isThere = (await tail.stored({ last_by_subj: delivery })) !== undefined;
        if (isThere) await this.resend(id, delivery, true);
        else deliveries.gone(id, { id: delivery, seq: row_id }, 'The stream does not have the event any more.');
      }
    } catch (error) {
      this.#parts.log.warn('dropped events were not all delivered again', { webhook: id, error });
    }
  }

  /** Follows what any hub has changed. */
  #changed(id: string): void {
    const worker = this.#workers.get(id);
    if (this.#table.get(id) === undefined) {
      worker?.stop(true);
      this.#workers.delete(id);
      this.#replays.delete(id);
    } else if (worker !== undefined) worker.refresh();
    else if (!this.#isClosing) {
      this.#workers.set(id, new WebhookWorker(id, this.#table, this.#parts));
    }
  }

  async #write(id: string, change: (record: WebhookRecord) => WebhookRecord): Promise<WebhookRecord> {
    let before = this.#existing(id);
    const written = await this.#table.write(id, (record) => {
      before = record;
      return change(record);
    });
    if (written === undefined) throw problem('webhook_not_found');
    if (written.n !== before.n) await this.#deleteConsumer(before);
    return written;
  }

  /** Deletes the consumer of a record that is over, which the broker would keep. */
  async #deleteConsumer(record: WebhookRecord): Promise<void> {
    const { consumers } = await this.#parts.connection.manager();
    await consumers.delete(EVENTS, consumerName(record)).catch(() => false);
  }

  #assertPossible({ url, include }: WebhookChanges): void {
    if (this.#isClosing) throw problem('shutting_down');
    if (include !== undefined && include.size > 0) throw fleetProblem('include_at_the_mac');
    const message = url === undefined ? undefined : this.#parts.deliveries.refusal(url);
    if (message !== undefined) throw invalidRequest([{ pointer: '/url', message }]);
  }

  async #consumer(record: WebhookRecord): Promise<ConsumerInfo | undefined> {
    const { consumers } = await this.#parts.connection.manager();
    return unlessMissing(() => consumers.info(EVENTS, consumerName(record)));
  }

  #existing(id: string): WebhookRecord {
    const record = this.#table.get(id);
    if (record === undefined) throw problem('webhook_not_found');
    return record;
  }
}
