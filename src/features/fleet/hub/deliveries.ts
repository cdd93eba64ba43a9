import { randomUUID } from 'node:crypto';
import { NO_INCLUDES } from '../../../core/model/include.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import { problem } from '../../../core/model/problems.ts';
import type {
  DeliveryRecord,
  DetailedDelivery,
  StoredWebhook,
  WebhookHealth,
  WebhookTestResult,
} from '../../../core/model/webhook.ts';
import type { Counters } from '../../../core/runtime/counters.ts';
import type { EventJson } from '../../../core/schema/event-json.ts';
import type { PostResult } from '../../../core/webhooks/delivery-attempts.ts';
import { logEnd, postRecord, requestedPost } from '../../../core/webhooks/delivery-record.ts';
import type { Post, Poster, Sending } from '../../../core/webhooks/poster.ts';
import type { FleetParts } from '../protocol/connection.ts';
import { HUBS } from '../protocol/envelope.ts';
import { DELIVERIES, deliverySubject } from '../protocol/subjects.ts';
import type { StreamEntry } from './stream-entry.ts';
import { readStream } from './stream-pages.ts';

/** A finished delivery, with its attempts. */
type LoggedDelivery = DetailedDelivery & Pick<DeliveryRecord, 'outcome'>;

type Ended = Pick<PostResult, 'attemptRecords' | 'answer'>;

export interface DeliveriesParts extends FleetParts {
  readonly poster: Poster;
  readonly json: EventJson;
  readonly counters: Counters;
}

/** Posts to receivers of webhooks, and keeps the newest deliveries of each, which every hub can show. */
export class Deliveries {
  readonly #parts: DeliveriesParts;
  /** The posts that clients asked for and that are running, one for each webhook. */
  readonly #requested = new Map<string, Promise<unknown>>();

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
  }

  close(): void {
    this.#parts.poster.close();
  }

  /** Returns why nothing may be posted to this URL; undefined if it is allowed. */
  refusal(url: string): string | undefined {
    return this.#parts.poster.refusal(url);
  }

  async post(
    entry: StreamEntry,
    to: StoredWebhook,
    how: Pick<Post, 'retry' | 'obeysReceiver' | 'attemptsBefore' | 'mayAttempt'>,
  ): Promise<Sending> {
    const { poster, json } = this.#parts;
    const { subject, event } = entry;
    return poster.send({ to, id: subject, event: event.type, json: await json(entry, NO_INCLUDES), ...how });
  }

  /** Records that the delivery of an event has ended. */
  ended({ subject, event, rowId }: StreamEntry, webhook: StoredWebhook, result: PostResult): void {
    const { clock, counters, log } = this.#parts;
    const record = postRecord(subject, event.type, rowId, result, clock);
    this.#add(webhook.id, record, result);
    counters.deliveries.inc({ outcome: record.outcome });
    logEnd(record, webhook, log);
  }

  /** Records that an event will never be delivered, and why. */
  gone(webhook: string, { id, seq }: { readonly id: string; readonly seq: number }, error: string): void {
    const at = isoSecond(this.#parts.clock.now());
    const none = { attempts: 0, status: null, duration_ms: 0 } as const;
    const record = { id, at, event: 'gone', row_id: seq, outcome: 'gone', error, ...none } as const;
    this.#add(webhook, record, { attemptRecords: [], answer: '' });
  }

  test(to: StoredWebhook): Promise<WebhookTestResult> {
    const json = JSON.stringify({ type: 'webhook.test', data: { webhook_id: to.id } });
    return this.#once(to, { id: randomUUID(), event: 'webhook.test', json }, 0);
  }

  /**
   * Posts the event of a delivery again, under the same id. While a test or another such post is running, `waits` for
   * its end, or throws `test_in_progress`.
   */
  async resend(entry: StreamEntry, to: StoredWebhook, waits: boolean): Promise<WebhookTestResult> {
    const json = await this.#parts.json(entry, NO_INCLUDES);
    while (waits && this.#requested.has(to.id)) await this.#requested.get(to.id);
    return this.#once(to, { id: entry.subject, event: entry.event.type, json }, entry.rowId);
  }

  /** Returns the deliveries of a webhook, newest first. */
  async of(webhook: string): Promise<readonly LoggedDelivery[]> {
    const { connection, envelope } = this.#parts;
    const subject = deliverySubject(webhook);
    const { messages } = await readStream(connection, DELIVERIES, { filter_subjects: subject });
    const opened = messages.flatMap(({ data }) => {
      try {
        return envelope.openJson(HUBS, subject, data) as LoggedDelivery;
      } catch {
        return [];
      }
    });
    return opened.toReversed();
  }

  async #once(
    to: StoredWebhook,
    post: Pick<Post, 'id' | 'json'> & Pick<DeliveryRecord, 'event'>,
    seq: number,
  ): Promise<WebhookTestResult> {
    if (this.#requested.has(to.id)) throw problem('test_in_progress');
    const sending = this.#parts.poster.send({ ...post, to, retry: false }).result;
    this.#requested.set(to.id, sending);
    try {
      const result = await sending;
      if (result.outcome === 'interrupted') throw problem('shutting_down');
      const record = postRecord(post.id, post.event, seq, result, this.#parts.clock);
      this.#add(to.id, record, result);
      return requestedPost(record, result.answer);
    } finally {
      this.#requested.delete(to.id);
    }
  }

  /** Does not wait for the broker: the record of a delivery is not worth delaying the next one. */
  #add(webhook: string, record: DeliveryRecord, { attemptRecords: tries, answer }: Ended): void {
    const { connection, envelope } = this.#parts;
    const subject = deliverySubject(webhook);
    const delivery = { ...record, tries, ...(answer !== '' && { answer: answer.slice(0, 2048) }) };
    try {
      connection.nc.publish(subject, envelope.sealJson(HUBS, subject, delivery));
    } catch {
      // The connection is being closed; the delivery itself is done.
    }
  }
}

/** Returns the deliveries that failed and were not delivered later, newest first. */
export function dropped(deliveries: readonly LoggedDelivery[]): readonly LoggedDelivery[] {
  const isNewest = ({ id }: LoggedDelivery, index: number): boolean =>
    deliveries.findIndex((one) => one.id === id) === index;
  return deliveries.filter((one, index) => one.outcome === 'dropped' && isNewest(one, index));
}

/** Returns what the deliveries say about the receiver's health. */
export function healthOf(deliveries: readonly LoggedDelivery[], { enabled, held }: StoredWebhook): WebhookHealth {
  const posts = deliveries.filter(({ event }) => event !== 'webhook.test' && event !== 'gone');
  const success = posts.findIndex(({ outcome }) => outcome === 'delivered');
  const failures = success === -1 ? posts.length : success;
  const working = held !== null ? 'held' : failures > 0 ? 'failing' : 'healthy';
  return {
    state: enabled ? working : 'paused',
    consecutive_failures: failures,
    last_success_at: posts[success]?.at ?? null,
  };
}
