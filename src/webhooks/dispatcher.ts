import { randomUUID } from 'node:crypto';
import { AppError } from '../domain/errors.ts';
import { eventJson, type LogEntry } from '../domain/event.ts';
import type { EventFeed } from '../domain/ports/feed.ts';
import type { Clock, Log } from '../domain/ports/host.ts';
import type { NewWebhook, WebhookRegistry, WebhookStore } from '../domain/ports/webhooks.ts';
import type { DeliveryRecord, StoredWebhook, WebhookStatus, WebhookTestResult } from '../domain/webhook.ts';
import type { DeliveryAttempts } from './delivery-attempts.ts';
import { deliveryId } from './delivery-id.ts';
import { DeliveryWorker, type DeliveryWorkerParts } from './delivery-worker.ts';
import type { Poster, Sending } from './poster.ts';
import { ProgressBatcher } from './progress-batcher.ts';
import { postRecord } from './record.ts';

export interface DispatcherParts {
  readonly feed: EventFeed;
  readonly store: WebhookStore;
  readonly poster: Poster;
  readonly clock: Clock;
  readonly log: Log;
  /** The JSON for a webhook that asked for details (section H); without it everyone gets the plain event. */
  readonly detailedJson?: (entry: LogEntry) => string;
  readonly onOutcome?: (outcome: DeliveryRecord['outcome']) => void;
}

/** Every registered webhook and its lane (F3): adding starts one, removing ends it before it answers (F5). */
export class Dispatcher implements WebhookRegistry {
  readonly #parts: DispatcherParts;
  readonly #workerParts: DeliveryWorkerParts;
  readonly #progress: ProgressBatcher;
  readonly #workers = new Map<string, DeliveryWorker>();
  /** Test posts under way: of which webhook, and the end, record included. */
  readonly #tests = new Map<DeliveryAttempts, { readonly id: string; readonly ended: Promise<unknown> }>();
  #closing: Promise<void> | undefined;

  constructor(parts: DispatcherParts) {
    const { detailedJson = eventJson } = parts;
    this.#parts = parts;
    this.#progress = new ProgressBatcher(parts);
    this.#workerParts = {
      ...parts,
      ledger: this.#progress,
      jsonOf: (entry, webhook) => (webhook.includeDetails ? detailedJson(entry) : eventJson(entry)),
    };
  }

  /** Takes up every lane where it was left (F4). */
  start(): void {
    for (const webhook of this.#parts.store.list()) this.#open(webhook);
  }

  list(): readonly StoredWebhook[] {
    return this.#parts.store.list();
  }

  get(id: string): StoredWebhook | undefined {
    return this.#parts.store.get(id);
  }

  add(webhook: NewWebhook): StoredWebhook {
    if (this.#closing !== undefined) throw shuttingDown();
    const { store, feed } = this.#parts;
    const stored = store.add(webhook, feed.lastPublished());
    this.#open(stored);
    return stored;
  }

  async remove(id: string): Promise<boolean> {
    if (!this.#parts.store.remove(id)) return false;
    const lane = this.#workers.get(id);
    this.#workers.delete(id);
    lane?.cancel();
    const tests = [...this.#tests].filter(([, test]) => test.id === id);
    for (const [posting] of tests) posting.cancel();
    await Promise.allSettled([lane?.ended, ...tests.map(([, { ended }]) => ended)]);
    return true;
  }

  status(id: string): WebhookStatus {
    const { store, feed } = this.#parts;
    this.#progress.flush();
    const rowId = this.#workers.get(id)?.rowId ?? this.#existing(id).rowId;
    return { ...store.health(id), row_id: rowId, behind: Math.max(0, feed.lastPublished() - rowId) };
  }

  deliveries(id: string): readonly DeliveryRecord[] {
    this.#existing(id);
    this.#progress.flush();
    return this.#parts.store.deliveries(id);
  }

  async test(id: string): Promise<WebhookTestResult> {
    const { url, secret } = this.#existing(id);
    const testId = deliveryId(id, randomUUID());
    const json = JSON.stringify({ type: 'webhook.test', data: { webhook_id: id } });
    const sending = this.#parts.poster.send({ url, secret, id: testId, event: 'webhook.test', json, retry: false });
    const ended = this.#testEnd(id, testId, sending);
    this.#tests.set(sending.posting, { id, ended });
    return ended.finally(() => this.#tests.delete(sending.posting));
  }

  async #testEnd(id: string, testId: string, sending: Sending): Promise<WebhookTestResult> {
    const { store, clock } = this.#parts;
    const result = await sending.result;
    const now = store.get(id);
    if (now === undefined) throw notFound();
    if (result.outcome === 'interrupted') throw shuttingDown();
    const rowId = this.#workers.get(id)?.rowId ?? now.rowId;
    this.#progress.note(id, rowId, postRecord(testId, 'webhook.test', rowId, result, clock));
    return {
      id: testId,
      delivered: result.outcome === 'delivered',
      status: result.status,
      error: result.error,
      duration_ms: result.durationMs,
      answer: result.answer === '' ? null : result.answer,
    };
  }

  replay(id: string, after: number): StoredWebhook {
    const webhook = this.#existing(id);
    const rowId = this.#workers.get(id)?.rowId ?? webhook.rowId;
    if (!Number.isSafeInteger(after) || after < 0 || after > rowId) {
      const message = `"after" must be a row id from 0 to ${rowId}, where the webhook is now.`;
      throw new AppError('invalid', 'invalid_request', message, { mistakes: [{ pointer: '/after', message }] });
    }
    this.#progress.flush();
    this.#parts.store.advance(id, after);
    this.#workers.get(id)?.seek(after);
    return { ...webhook, rowId: after };
  }

  /** Decision A7: running tries are finished, no other one begins; after `withinMs` they are ended. Twice is fine. */
  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  async #close(withinMs: number): Promise<void> {
    const lanes = [...this.#workers.values()];
    const tests = [...this.#tests];
    for (const lane of lanes) lane.finish();
    // A test is one try, and so needs no such word.
    const cancelDeadline = this.#parts.clock.after(withinMs, () => {
      for (const lane of lanes) lane.cancel();
      for (const [posting] of tests) posting.cancel();
    });
    await Promise.allSettled([...lanes.map((lane) => lane.ended), ...tests.map(([, { ended }]) => ended)]);
    cancelDeadline();
    this.#progress.flush();
    this.#parts.poster.close();
  }

  #open(webhook: StoredWebhook): void {
    if (this.#workers.has(webhook.id)) return;
    this.#workers.set(webhook.id, new DeliveryWorker(webhook, this.#workerParts));
  }

  #existing(id: string): StoredWebhook {
    const webhook = this.#parts.store.get(id);
    if (webhook === undefined) throw notFound();
    return webhook;
  }
}

function notFound(): AppError {
  return new AppError('not_found', 'webhook_not_found', 'There is no webhook with this id.');
}

function shuttingDown(): AppError {
  return new AppError('unavailable', 'shutting_down', 'The service is shutting down.');
}
