import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { LogEntry } from '../../../core/model/event.ts';
import { eventFilter } from '../../../core/model/event-filter.ts';
import { NO_INCLUDES } from '../../../core/model/include.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import type { Counters } from '../../../core/runtime/counters.ts';
import type { EventJson } from '../../../core/schema/event-json.ts';
import { GONE, holdWaitMs, type PostResult } from '../../../core/webhooks/delivery-attempts.ts';
import { logEnd, postRecord, retriedDelivery } from '../../../core/webhooks/delivery-record.ts';
import type { Poster, Sending } from '../../../core/webhooks/poster.ts';
import type { FleetParts } from '../protocol/connection.ts';
import { every } from '../protocol/every.ts';
import { EVENTS, endInDoubt, unlessMissing } from '../protocol/subjects.ts';
import { addDelivery } from './delivery-log.ts';
import { Loop } from './loop.ts';
import { type StreamEntry, storedAtMs, streamEntry } from './stream-entry.ts';
import type { StreamTail } from './stream-tail.ts';
import {
  ACK_WAIT_MS,
  consumerConfig,
  consumerName,
  type LastDone,
  restarted,
  type WebhookRecord,
} from './webhook-record.ts';
import type { WebhookTable } from './webhook-table.ts';

const WORKING_EVERY_MS = 1500;
const SAVE_EVERY_MS = 1000;

export interface WebhookParts extends FleetParts {
  readonly tail: StreamTail;
  readonly poster: Poster;
  readonly json: EventJson;
  readonly counters: Counters;
}

/**
 * This hub's part of a webhook's deliveries. Every hub pulls from the webhook's consumer, and the broker gives one event
 * at a time to one of them, in order.
 */
export class WebhookWorker {
  readonly #id: string;
  readonly #table: WebhookTable;
  readonly #parts: WebhookParts;
  readonly #loop: Loop;
  readonly ended: Promise<void>;
  #messages: ConsumerMessages | undefined;
  #sending: Sending | undefined;
  /** The progress of this hub in consumer number `n`, which the others may not know yet. */
  #last: (LastDone & { readonly n: number }) | undefined;
  #cancelSave: Cancel | undefined;
  /** The event that the broker has given to this hub. */
  #message: JsMsg | undefined;
  /** When this process was last seen to run. */
  #ranMs: number;
  readonly #cancelTick: Cancel;

  constructor(id: string, table: WebhookTable, parts: WebhookParts) {
    this.#id = id;
    this.#table = table;
    this.#parts = parts;
    this.#ranMs = parts.clock.monotonic();
    this.#cancelTick = every(parts.clock, WORKING_EVERY_MS, () => this.#tick());
    this.#loop = new Loop(parts, `the events of the webhook ${id} cannot be read`, () => this.#turn());
    this.ended = this.#loop.ended.then(() => this.#end());
  }

  /** Makes the worker read its record again. */
  refresh(): void {
    this.#messages?.stop();
    this.#sending?.attempts.finish();
    this.#loop.wake();
  }

  /** Stops after the running attempt; with `now`, ends it too. */
  stop(now = false): void {
    void this.#loop.close();
    this.refresh();
    if (now) this.#sending?.attempts.cancel();
  }

  /** The record as this hub knows it; undefined once the webhook is removed. */
  get #record(): WebhookRecord | undefined {
    return this.#table.get(this.#id);
  }

  #write(change: (record: WebhookRecord) => WebhookRecord): Promise<boolean> {
    return this.#table.tryWrite(this.#id, change);
  }

  async #turn(): Promise<void> {
    const known = this.#record;
    if (known === undefined) void this.#loop.close();
    if (!known?.webhook.enabled || this.#table.isStale || !this.#parts.tail.isFilled) return;
    await this.#deliver(known);
    this.#loop.succeeded();
  }

  async #end(): Promise<void> {
    this.#cancelTick();
    this.#cancelSave?.();
    if (this.#last !== undefined) await this.#save().catch(() => undefined);
  }

  async #deliver(known: WebhookRecord): Promise<void> {
    const { connection, tail } = this.#parts;
    const manager = await tail.manager();
    if (!(await this.#isInStream(known))) return;
    const name = consumerName(known);
    const get = (): Promise<Consumer> => connection.js.consumers.get(EVENTS, name);
    let consumer = await unlessMissing(get);
    if (consumer === undefined) {
      await manager.consumers.add(EVENTS, consumerConfig(known));
      consumer = await get();
    }
    const messages = await consumer.consume({ max_messages: 1, expires: 4000, idle_heartbeat: 1000 });
    this.#messages = messages;
    void endInDoubt(messages);
    const isCurrent = (): boolean => {
      const now = this.#record;
      return !this.#loop.isClosed && !this.#table.isStale && tail.isFilled && now?.n === known.n && now.webhook.enabled;
    };
    try {
      if (!isCurrent()) return;
      for await (const message of messages) {
        if (this.#hasSlept()) break;
        if (isCurrent()) await this.#handle(message, isCurrent);
        else message.nak();
        if (!isCurrent()) break;
      }
    } finally {
      messages.stop();
    }
  }

  /**
   * Returns whether the stream is still the one that was delivered from. If not, the webhook begins again at the time of
   * its last delivery: a consumer that is ahead of its stream would skip everything up to its old position.
   */
  async #isInStream(known: WebhookRecord): Promise<boolean> {
    const { tail } = this.#parts;
    const manager = await tail.manager();
    const { created, state } = await manager.streams.info(EVENTS);
    const last = this.#newest(known);
    if (created === known.stream) {
      if (last === undefined || (last.seq <= state.last_seq && last.seq < state.first_seq)) return true;
      if (await tail.isStill({ rowId: last.seq, atMs: last.ms })) return true;
    }
    const isMoved = await this.#write((record) =>
      record.n === known.n
        ? restarted(record, created, last === undefined ? { after: 0 } : { sinceMs: last.ms })
        : record,
    );
    if (isMoved) await manager.consumers.delete(EVENTS, consumerName(known)).catch(() => false);
    return false;
  }

  async #handle(message: JsMsg, isCurrent: () => boolean): Promise<void> {
    const { tail, envelope } = this.#parts;
    const known = this.#record;
    if (known === undefined) return;
    const place = { ...tail.last, rowId: message.seq, atMs: storedAtMs(message) };
    const entry = streamEntry(message, place, envelope);
    if (entry === undefined || !eventFilter(known.webhook)(entry)) {
      message.ack();
      this.#note(known, place.rowId, place.atMs);
      return;
    }
    this.#message = message;
    const isMine = (): boolean => isCurrent() && this.#message === message && !this.#hasSlept();
    try {
      const result = await this.#post(entry, known, isMine);
      await this.#settle(message, entry, result, known);
    } finally {
      this.#message = undefined;
      this.#sending = undefined;
    }
  }

  /**
   * Tells the broker, again and again, that this hub works on its event. After a sleep it drops the event, and what has
   * arrived meanwhile: the broker has given it to another hub.
   */
  #tick(): void {
    if (this.#hasSlept()) {
      this.#message = undefined;
      this.#messages?.stop();
    }
    this.#message?.working();
    this.#ranMs = this.#parts.clock.monotonic();
  }

  #hasSlept(): boolean {
    return this.#parts.clock.monotonic() - this.#ranMs > ACK_WAIT_MS - 500;
  }

  async #post(entry: StreamEntry, { webhook, held }: WebhookRecord, mayAttempt: () => boolean): Promise<PostResult> {
    const { poster, json } = this.#parts;
    const isRetry = held?.id === entry.subject;
    const sending = poster.send({
      to: webhook,
      id: entry.subject,
      event: entry.event.type,
      json: await json(entry, NO_INCLUDES),
      retry: !isRetry,
      obeysReceiver: webhook.on_failure === 'hold',
      ...(isRetry && { attemptsBefore: held.attempts }),
      mayAttempt,
    });
    this.#sending = sending;
    return sending.result;
  }

  async #settle(
    message: JsMsg,
    entry: LogEntry & StreamEntry,
    result: PostResult,
    known: WebhookRecord,
  ): Promise<void> {
    const { clock, log, counters } = this.#parts;
    const { webhook, held } = known;
    if (result.outcome === 'interrupted') {
      if (this.#message === message && !this.#hasSlept()) message.nak();
      return;
    }
    if (result.outcome === 'failed' && webhook.on_failure === 'hold') {
      const before = held?.id === entry.subject ? held : null;
      const attempts = (before?.attempts ?? 0) + result.attempts;
      const now = retriedDelivery(entry.subject, entry.rowId, { ...result, attempts }, before, clock);
      const isGone = result.status === GONE;
      await this.#write((record) => ({
        ...record,
        held: now,
        heldSeq: entry.rowId,
        webhook: { ...record.webhook, held: now, enabled: record.webhook.enabled && !isGone },
      }));
      if (isGone) log.warn('paused a webhook whose receiver answered 410', { webhook: webhook.id });
      else if (before === null) {
        log.warn('holding an event for a webhook, retrying until it succeeds', { webhook: webhook.id });
      }
      message.nak(isGone ? undefined : (result.askedWaitMs ?? holdWaitMs(attempts)));
      return;
    }
    message.ack();
    this.#note(known, entry.rowId, entry.offset.atMs);
    const record = postRecord(entry.subject, entry.event.type, entry.rowId, result, clock);
    addDelivery(this.#parts, webhook.id, record, result);
    counters.deliveries.inc({ outcome: record.outcome });
    logEnd(record, webhook, log);
    if (held !== null) {
      await this.#write((one) => ({ ...one, held: null, heldSeq: undefined, webhook: { ...one.webhook, held: null } }));
    }
  }

  /** The last event that this hub or another has done. */
  #newest({ n, last }: WebhookRecord): LastDone | undefined {
    return this.#last?.n === n && this.#last.seq > (last?.seq ?? 0) ? this.#last : last;
  }

  /** Remembers what is done, and tells the other hubs within a second. */
  #note({ n }: WebhookRecord, seq: number, ms: number): void {
    this.#last = { n, seq, ms };
    this.#cancelSave ??= this.#parts.clock.after(SAVE_EVERY_MS, () => {
      this.#cancelSave = undefined;
      void this.#save().catch(() => undefined);
    });
  }

  async #save(): Promise<void> {
    const last = this.#last;
    if (last === undefined || this.#table.isStale) return;
    const { n, seq, ms } = last;
    await this.#write((record) =>
      record.n !== n || (record.last?.seq ?? 0) >= seq ? record : { ...record, last: { seq, ms } },
    );
  }
}
