import { randomUUID } from 'node:crypto';
import type { Offset } from '../model/offset.ts';
import { problem } from '../model/problems.ts';
import type { DeliveryRecord, StoredWebhook, WebhookTestResult } from '../model/webhook.ts';
import type { DeliveryAttempts } from './delivery-attempts.ts';
import { deliveryId, deliveryName, postRecord, requestedPost } from './delivery-record.ts';
import type { DeliveryWorkerParts } from './delivery-worker.ts';
import type { Post } from './poster.ts';

export interface SinglePostsParts
  extends Pick<DeliveryWorkerParts, 'events' | 'store' | 'poster' | 'progress' | 'clock' | 'recentAttempts'> {
  /** Returns the offset up to which a webhook's events are done. */
  readonly offsetOf: (webhook: StoredWebhook) => Offset;
}

/**
 * Makes the posts that a client requests: a test, or a delivery that is sent again. Attempts each post once,
 * immediately. Throws `test_in_progress` while another such post to the same webhook is running.
 */
export class SinglePosts {
  readonly #parts: SinglePostsParts;
  /** Key: a webhook's id. Value: the running post to the webhook; `attempts` is set once the post is being sent. */
  readonly #running = new Map<string, { attempts?: DeliveryAttempts; ended: Promise<unknown> }>();

  constructor(parts: SinglePostsParts) {
    this.#parts = parts;
  }

  test(to: StoredWebhook): Promise<WebhookTestResult> {
    const json = JSON.stringify({ type: 'webhook.test', data: { webhook_id: to.id } });
    const post = { to, id: deliveryId(to.id, randomUUID()), event: 'webhook.test', json, retry: false } as const;
    return this.#once(to, async () => ({ post, rowId: this.#parts.offsetOf(to).rowId }));
  }

  /**
   * Reads the event of a finished delivery again and sends it under the same id. Throws `delivery_not_found` if the
   * delivery was not for a new row, or if the event is gone or no longer visible to the webhook's key.
   */
  resend(to: StoredWebhook, delivery: string): Promise<WebhookTestResult> {
    return this.#once(to, async () => {
      const { store } = this.#parts;
      const record = store.deliveries(to.id).find(({ id }) => id === delivery);
      const post = record && (await this.#postOf(to, record));
      if (record === undefined || post === undefined) throw problem('delivery_not_found');
      return { post, rowId: record.row_id };
    });
  }

  /** Cancels the posts to one webhook, or to all. Resolves once none is in progress. */
  async cancel(webhookId?: string): Promise<void> {
    const found = [...this.#running].filter(([id]) => webhookId === undefined || id === webhookId);
    for (const [, { attempts }] of found) attempts?.cancel();
    await Promise.allSettled(found.map(([, { ended }]) => ended));
  }

  /** Resolves once no post is in progress. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
  }

  async #postOf(to: StoredWebhook, record: DeliveryRecord): Promise<Post | undefined> {
    const { events, offsetOf } = this.#parts;
    const entry = events.dropped({ rowId: record.row_id, change: 0 }, to, offsetOf(to));
    // The entry's delivery id differs from the record's id if the delivery was for a change or a test, or if chat.db
    // was replaced since.
    if (entry === undefined || deliveryId(to.id, deliveryName(entry)) !== record.id) return undefined;
    await events.ready(to);
    const caller = events.callerOf(to);
    if (caller?.feed.admits(entry) === false) return undefined;
    const json = await events.text(to, entry, caller);
    // While the text was made, the key's rights may have shrunk.
    if (events.callerOf(to)?.feed.admits(entry) === false) return undefined;
    return json === undefined ? undefined : { to, id: record.id, event: entry.event.type, json, retry: false };
  }

  async #once(to: StoredWebhook, make: () => Promise<{ post: Post; rowId: number }>): Promise<WebhookTestResult> {
    if (this.#running.has(to.id)) throw problem('test_in_progress');
    const running: { attempts?: DeliveryAttempts; ended: Promise<unknown> } = { ended: Promise.resolve() };
    this.#running.set(to.id, running);
    const result = this.#result(to, make, running).finally(() => this.#running.delete(to.id));
    running.ended = result;
    return result;
  }

  async #result(
    { id }: StoredWebhook,
    make: () => Promise<{ post: Post; rowId: number }>,
    running: { attempts?: DeliveryAttempts },
  ): Promise<WebhookTestResult> {
    const { store, clock, poster, progress, recentAttempts, offsetOf } = this.#parts;
    const { post, rowId } = await make();
    // The webhook may have been removed while the event was read.
    if (store.get(id) === undefined) throw problem('webhook_not_found');
    const sending = poster.send(post);
    running.attempts = sending.attempts;
    const result = await sending.result;
    const now = store.get(id);
    if (now === undefined) throw problem('webhook_not_found');
    if (result.outcome === 'interrupted') throw problem('shutting_down');
    const record = postRecord(post.id, post.event as DeliveryRecord['event'], rowId, result, clock);
    recentAttempts.end(id, record, result);
    progress.note(id, offsetOf(now), record);
    if (result.outcome === 'delivered' && post.event !== 'webhook.test') {
      store.endReplayed(id, { rowId, change: 0 }, false);
    }
    return requestedPost(record, result.answer);
  }
}
