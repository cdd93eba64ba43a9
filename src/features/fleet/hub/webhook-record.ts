import { AckPolicy, type ConsumerConfig, DeliverPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { includeSet } from '../../../core/model/include.ts';
import { rowOffset } from '../../../core/model/offset.ts';
import type { HeldDelivery, StoredWebhook } from '../../../core/model/webhook.ts';
import { type Envelope, HUBS } from '../protocol/envelope.ts';
import type { Place } from './place.ts';

/** How long a hub may be silent about an event before the broker gives the event to another hub. */
export const ACK_WAIT_MS = 5000;

/** The beginning of a webhook's consumer: after a sequence, or with what was stored at a time or later. */
export type Start = { readonly after: number } | { readonly sinceMs: number };

/** The last event that is done. */
export interface LastDone {
  readonly seq: number;
  readonly ms: number;
}

/** A webhook as all hubs know it. Any hub can make its consumer from this. */
export interface WebhookRecord {
  /** The row id of `held` is the sequence of the held event. */
  readonly webhook: StoredWebhook;
  /** Rises whenever the webhook begins elsewhere; each number has its own consumer. */
  readonly n: number;
  /** When the stream of these events was created. */
  readonly stream: string;
  readonly start: Start;
  /** Undefined if nothing is known to be done. Written at most once a second. */
  readonly last?: LastDone | undefined;
}

export function consumerName({ webhook: { id }, n }: WebhookRecord): string {
  return `wh_${id}_${n}`;
}

/**
 * The consumer hands out one event at a time, in order, to whichever hub asks. One that was deleted, even by a hub that
 * knew more, begins again after the last event that is done.
 */
export function consumerConfig(record: WebhookRecord): Partial<ConsumerConfig> {
  const { start, last } = record;
  const begin = last === undefined ? start : { after: Math.max('after' in start ? start.after : 0, last.seq) };
  const from =
    'after' in begin
      ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: begin.after + 1 }
      : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: new Date(begin.sinceMs).toISOString() };
  return {
    durable_name: consumerName(record),
    ack_policy: AckPolicy.Explicit,
    max_ack_pending: 1,
    ack_wait: nanos(ACK_WAIT_MS),
    max_waiting: 64,
    ...from,
  };
}

type Beginning = Pick<WebhookRecord, 'stream' | 'start' | 'last'>;

/** Returns the beginning after a place, whose event counts as done: it shows whether the stream is still the same. */
export function startAfter({ stream, rowId, atMs }: Place): Beginning {
  return { stream, start: { after: rowId }, last: rowId === 0 ? undefined : { seq: rowId, ms: atMs } };
}

/** Returns the record that begins again there. */
export function restarted(record: WebhookRecord, { stream, start, last }: Beginning): WebhookRecord {
  return { ...withHeld(record, null), n: record.n + 1, stream, start, last };
}

/** Returns the record with a new consumer that begins with the held event, if there is one. */
export function retryHeld(record: WebhookRecord): WebhookRecord {
  const { held } = record.webhook;
  if (held === null) return record;
  return withHeld(restarted(record, { ...record, start: { after: held.row_id - 1 } }), held);
}

export function withHeld(record: WebhookRecord, held: HeldDelivery | null): WebhookRecord {
  return { ...record, webhook: { ...record.webhook, held } };
}

export function sealRecord(envelope: Envelope, record: WebhookRecord): Uint8Array {
  const { webhook } = record;
  const json = { ...record, webhook: { ...webhook, include: [...webhook.include] } };
  return envelope.sealJson(HUBS, subjectOf(webhook.id), json);
}

/** Throws AppError `fleet_content_unreadable`. Only hubs can have sealed a record, so its form is not checked. */
export function openRecord(envelope: Envelope, id: string, sealed: Uint8Array): WebhookRecord {
  const read = envelope.openJson(HUBS, subjectOf(id), sealed) as WebhookRecord;
  const { webhook } = read;
  return { ...read, webhook: { ...webhook, include: includeSet([...webhook.include]), offset: rowOffset(0) } };
}

/** Reports whether an older key sealed a record, which is lost with that key unless it is written again. */
export function isSealedBefore(envelope: Envelope, sealed: Uint8Array): boolean {
  return envelope.keyIndex(HUBS, sealed) > 0;
}

function subjectOf(id: string): string {
  return `webhooks/${id}`;
}
