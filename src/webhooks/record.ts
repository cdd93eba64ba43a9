import type { Clock } from '../domain/ports/host.ts';
import type { DeliveryRecord } from '../domain/webhook.ts';
import type { PostResult } from './delivery-attempts.ts';

/** What became of a post that is done. */
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

/** Rows that were deleted from chat.db before they could be delivered, one record a range (F4). */
export function goneRecord(id: string, first: number, last: number, clock: Clock): DeliveryRecord {
  return {
    id,
    at: timestamp(clock),
    event: 'gone',
    row_id: last,
    outcome: 'gone',
    attempts: 0,
    status: null,
    error: first === last ? `Row ${first} is no longer there.` : `Rows ${first} to ${last} are no longer there.`,
    duration_ms: 0,
  };
}

function timestamp(clock: Clock): string {
  return `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
}
