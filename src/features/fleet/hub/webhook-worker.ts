import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { eventFilter } from '../../../core/model/event-filter.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import type { PostResult } from '../../../core/webhooks/delivery-attempts.ts';
import { heldDelivery } from '../../../core/webhooks/delivery-record.ts';
import type { Sending } from '../../../core/webhooks/poster.ts';
import { GONE, holdWaitMs } from '../../../core/webhooks/retry-policy.ts';
import type { FleetParts } from '../protocol/connection.ts';
import { every } from '../protocol/every.ts';
import { EVENTS, endInDoubt, isOfBroker, memberOfSubject, unlessMissing } from '../protocol/subjects.ts';
import type { Deliveries } from './deliveries.ts';
import { KeylessEvents } from './keyless-events.ts';
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
  withHeld,
} from './webhook-record.ts';
import type { WebhookTable } from './webhook-table.ts';

const TICK_MS = 1500;

export interface WebhookParts extends FleetParts {
  readonly tail: StreamTail;
  readonly deliveries: Deliveries;
}

/**
 * This hub's part of a webhook's deliveries. Every hub pulls from the webhook's consumer, and the broker gives one
 * event at a time to one of them, in order.
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
  /** The event that the broker has given to this hub. */
  #message: JsMsg | undefined;
  readonly #keyless = new KeylessEvents();
  /** When this process was last seen to run. */
  #ranMs: number;
  readonly #cancelTick: Cancel;

  constructor(id: string, table: WebhookTable, parts: WebhookParts) {
    this.#id = id;
    this.#table = table;
    this.#parts = parts;
    this.#ranMs = parts.clock.monotonic();
    this.#cancelTick = every(parts.clock, TICK_MS, () => this.#tick());
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

  /** Reports whether this hub knows the webhooks and the stream, and has the keys of the Macs. */
  get #mayDeliver(): boolean {
    const { tail } = this.#parts;
    return !this.#table.isStale && tail.isFilled && !tail.isKeyWrong;
  }

  async #write(change: (record: WebhookRecord) => WebhookRecord): Promise<void> {
    await this.#table.write(this.#id, change);
  }

  /**
   * Changes the record unless the webhook has begun elsewhere meanwhile, which an attempt from before must not undo.
   */
  async #writeOf({ n }: WebhookRecord, change: (record: WebhookRecord) => WebhookRecord): Promise<void> {
    await this.#write((record) => (record.n === n ? change(record) : record));
  }

  async #turn(): Promise<void> {
    const known = this.#record;
    if (known === undefined) void this.#loop.close();
    if (!known?.webhook.enabled || !this.#mayDeliver) return;
    await this.#deliver(known);
    this.#loop.succeeded();
  }

  async #end(): Promise<void> {
    this.#cancelTick();
    await this.#save();
  }

  async #deliver(known: WebhookRecord): Promise<void> {
    const { connection } = this.#parts;
    const manager = await connection.manager();
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
      return !this.#loop.isClosed && this.#mayDeliver && now?.n === known.n && now.webhook.enabled;
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
   * Returns whether the stream is still the one that was delivered from. If not, the webhook begins again at the time
   * of its last delivery: a consumer that is ahead of its stream would skip everything up to its old position.
   */
  async #isInStream(known: WebhookRecord): Promise<boolean> {
    const { connection, tail } = this.#parts;
    const { created, state } = await tail.ask();
    const last = this.#newest(known);
    if (created === known.stream) {
      if (last === undefined || (last.seq <= state.last_seq && last.seq < state.first_seq)) return true;
      if (await tail.isStill({ rowId: last.seq, atMs: last.ms })) return true;
    }
    const start = last === undefined ? { after: 0 } : { sinceMs: last.ms };
    await this.#writeOf(known, (record) => restarted(record, { stream: created, start }));
    await (await connection.manager()).consumers.delete(EVENTS, consumerName(known)).catch(() => false);
    return false;
  }

  async #handle(message: JsMsg, isCurrent: () => boolean): Promise<void> {
    const { tail, envelope } = this.#parts;
    const known = this.#record;
    if (known === undefined) return;
    const place = { ...tail.last, rowId: message.seq, atMs: storedAtMs(message) };
    const entry = streamEntry(message, place, envelope);
    const member = memberOfSubject(message.subject);
    const isSealed = !isOfBroker(message.data);
    if (entry === undefined && isSealed && envelope.keyIndex(member, message.data) === -1) {
      const waitMs = this.#keyless.waitMs(member, message.info.deliveryCount);
      if (waitMs !== undefined) return message.nak(waitMs);
      const reason = 'No hub had the key that sealed the event.';
      this.#parts.deliveries.gone(this.#id, { id: message.subject, seq: message.seq }, reason);
    }
    if (entry === undefined || !eventFilter(known.webhook)(entry)) {
      message.ack();
      this.#last = { n: known.n, seq: place.rowId, ms: place.atMs };
      return;
    }
    this.#message = message;
    const isMine = (): boolean => isCurrent() && this.#message === message && !this.#hasSlept();
    try {
      const result = await this.#post(entry, known, isMine);
      await this.#conclude(message, entry, result, known);
    } finally {
      this.#message = undefined;
      this.#sending = undefined;
    }
  }

  /**
   * Tells the broker, again and again, that this hub works on its event, and the other hubs how far it is. After a
   * sleep it drops the event, and what has arrived meanwhile: the broker has given it to another hub.
   */
  #tick(): void {
    if (this.#hasSlept()) {
      this.#message = undefined;
      this.#messages?.stop();
    }
    this.#message?.working();
    void this.#save();
    this.#ranMs = this.#parts.clock.monotonic();
  }

  #hasSlept(): boolean {
    return this.#parts.clock.monotonic() - this.#ranMs > ACK_WAIT_MS - 500;
  }

  async #post(entry: StreamEntry, { webhook }: WebhookRecord, mayAttempt: () => boolean): Promise<PostResult> {
    const { held, on_failure } = webhook;
    const isRetry = held?.id === entry.subject;
    this.#sending = await this.#parts.deliveries.post(entry, webhook, {
      retry: !isRetry,
      obeysReceiver: on_failure === 'hold',
      ...(isRetry && { attemptsBefore: held.attempts }),
      mayAttempt,
    });
    return this.#sending.result;
  }

  async #conclude(message: JsMsg, entry: StreamEntry, result: PostResult, known: WebhookRecord): Promise<void> {
    const { webhook } = known;
    if (result.outcome === 'interrupted') {
      if (this.#message === message && !this.#hasSlept()) message.nak();
      return;
    }
    if (result.outcome === 'failed' && webhook.on_failure === 'hold') {
      return this.#hold(message, entry, result, known);
    }
    message.ack();
    this.#last = { n: known.n, seq: entry.rowId, ms: entry.offset.atMs };
    this.#parts.deliveries.ended(entry, webhook, result);
    if (webhook.held !== null) await this.#writeOf(known, (record) => withHeld(record, null));
  }

  async #hold(message: JsMsg, entry: StreamEntry, result: PostResult, known: WebhookRecord): Promise<void> {
    const { clock, log } = this.#parts;
    const { id, held } = known.webhook;
    const before = held?.id === entry.subject ? held : null;
    const now = heldDelivery(entry.subject, entry.rowId, result, before, clock);
    const isGone = result.status === GONE;
    await this.#writeOf(known, (record) => {
      const { webhook } = withHeld(record, now);
      return { ...record, webhook: { ...webhook, enabled: webhook.enabled && !isGone } };
    });
    if (isGone) log.warn('paused a webhook whose receiver answered 410', { webhook: id });
    else if (before === null) log.warn('holding an event for a webhook, retrying until it succeeds', { webhook: id });
    message.nak(isGone ? undefined : holdWaitMs(result));
  }

  /** The last event that this hub or another has done. */
  #newest({ n, last }: WebhookRecord): LastDone | undefined {
    return this.#last?.n === n && this.#last.seq > (last?.seq ?? 0) ? this.#last : last;
  }

  /** Writes how far this hub is. What the broker does not take now is written with the next progress. */
  async #save(): Promise<void> {
    if (this.#last === undefined || this.#table.isStale) return;
    const { n, seq, ms } = this.#last;
    const progressed = (record: WebhookRecord): WebhookRecord =>
      record.n !== n || (record.last?.seq ?? 0) >= seq ? record : { ...record, last: { seq, ms } };
    await this.#write(progressed).catch(() => undefined);
  }
}
