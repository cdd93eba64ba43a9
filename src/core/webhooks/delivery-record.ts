import { createHash } from 'node:crypto';
import type { LogEntry } from '../model/event.ts';
import { isoSecond } from '../model/iso-second.ts';
import type { Clock, Log } from '../model/ports/host-ports.ts';
import type { DeliveryRecord, HeldDelivery, StoredWebhook, WebhookTestResult } from '../model/webhook.ts';
import type { PostResult } from './delivery-attempts.ts';
import { GONE } from './retry-policy.ts';

/**
 * Returns the `X-Webhook-Delivery` id: the UUIDv5 of `guid` in the namespace of the webhook's id. `guid` is usually the
 * text from `deliveryName`, so that an event keeps its id in every attempt and repeat.
 */
export function deliveryId(webhookId: string, guid: string): string {
  const bytes = createHash('sha1').update(webhookId.replaceAll('-', ''), 'hex').update(guid, 'utf8').digest();
  // RFC 9562, 5.5: a UUIDv5 is the first 16 bytes of the hash, with the version set in byte 6 and the variant in byte
  // 8.
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * Returns the text that a delivery id is derived from: the guid of a new row, or the generation and number of a change.
 */
export function deliveryName({ change, generation, guid, rowId }: LogEntry): string {
  if (change !== undefined) return `change ${generation}.${change}`;
  // A row can lack a guid (decision B1). Its row id then distinguishes its events from those of other rows without a
  // guid.
  return guid || `row ${rowId}`;
}

/** Returns the record of a finished delivery. */
export function postRecord(
  id: string,
  event: DeliveryRecord['event'],
  rowId: number,
  result: PostResult,
  clock: Clock,
): DeliveryRecord {
  return {
    id,
    at: timestamp(clock),
    event,
    row_id: rowId,
    outcome: result.outcome === 'delivered' ? 'delivered' : 'dropped',
    attempts: result.attempts,
    status: result.status,
    error: result.error,
    duration_ms: result.durationMs,
  };
}

/** Returns what a client is told about a post that it requested. `answer` is the beginning of the answer's body. */
export function requestedPost(record: DeliveryRecord, answer: string): WebhookTestResult {
  const { id, outcome, status, error, duration_ms } = record;
  return { id, delivered: outcome === 'delivered', status, error, duration_ms, answer: answer === '' ? null : answer };
}

/** Logs a finished delivery. */
export function logEnd(record: DeliveryRecord, { id, url }: StoredWebhook, log: Log): void {
  const { outcome, event, row_id, status, attempts, error } = record;
  const fields = { webhook: id, event, row_id, status };
  if (outcome === 'delivered') log.debug('delivered an event to a webhook', fields);
  else log.warn('dropped an event for a webhook', { ...fields, origin: new URL(url).origin, attempts, error });
}

/**
 * Returns the stored form of a delivery that failed and is held (decision P3). `before` is the form stored after the
 * previous failure; null when it had not failed before.
 */
export function heldDelivery(
  id: string,
  rowId: number,
  { attempts, error, status, askedWaitMs }: PostResult,
  before: HeldDelivery | null,
  clock: Clock,
): HeldDelivery {
  return {
    id,
    row_id: rowId,
    attempts,
    since: before?.since ?? timestamp(clock),
    error: error ?? 'It failed.',
    // Rounded up, so that no attempt comes before the time that the receiver asked for.
    ...(askedWaitMs !== undefined && { retry_after: isoSecond(clock.now() + askedWaitMs + 999) }),
    ...(status === GONE && { gone: true as const }),
  };
}

/** Returns the record of a range of rows that were deleted from chat.db before they could be delivered. */
export function goneRecord(webhookId: string, first: number, last: number, clock: Clock): DeliveryRecord {
  return {
    id: deliveryId(webhookId, `gone ${first}-${last}`),
    at: timestamp(clock),
    event: 'gone',
    row_id: last,
    outcome: 'gone',
    attempts: 0,
    status: null,
    error: first === last ? `Row ${first} was deleted.` : `Rows ${first} to ${last} were deleted.`,
    duration_ms: 0,
  };
}

function timestamp(clock: Clock): string {
  return isoSecond(clock.now());
}
