import { isChatDbAway } from '../model/errors.ts';
import type { LogEntry } from '../model/event.ts';
import type { DeliveredRow, DetailedDelivery } from '../model/webhook.ts';
import { deliveryId, deliveryName } from './delivery-record.ts';

const TEXT_CHARACTERS = 100;

/**
 * Adds to each delivery what its event was about, and to a dropped event when it was delivered after all. The
 * deliveries are newest first. `rowNow` returns a row as chat.db has it now.
 */
export function withRows(
  deliveries: readonly DetailedDelivery[],
  webhookId: string,
  rowNow: (rowId: number) => LogEntry | undefined,
): readonly DetailedDelivery[] {
  const deliveredAt = new Map<string, string>();
  return deliveries.map((delivery) => {
    const { id, at, event, outcome, row_id: rowId } = delivery;
    const later = deliveredAt.get(id);
    if (outcome === 'delivered') deliveredAt.set(id, at);
    return {
      ...delivery,
      ...(outcome === 'dropped' && later !== undefined && { redelivered_at: later }),
      ...(event !== 'webhook.test' && { message: rowOf(id, webhookId, event, found(rowNow, rowId)) }),
    };
  });
}

function found(rowNow: (rowId: number) => LogEntry | undefined, rowId: number): LogEntry | undefined {
  try {
    return rowNow(rowId);
  } catch (error) {
    if (isChatDbAway(error)) return undefined;
    throw error;
  }
}

/** Returns null if another row has this row id now, because chat.db was replaced. A change's id does not show this. */
function rowOf(
  id: string,
  webhookId: string,
  event: DetailedDelivery['event'],
  entry: LogEntry | undefined,
): DeliveredRow | null {
  if (entry === undefined || !('conversation_id' in entry.event.data)) return null;
  const isNewRow = event === entry.event.type;
  if (isNewRow && deliveryId(webhookId, deliveryName(entry)) !== id) return null;
  const { data } = entry.event;
  const text =
    'body' in data && typeof data.body === 'string' ? [...data.body.slice(0, 2 * TEXT_CHARACTERS)] : undefined;
  return {
    id: data.id,
    conversation_id: data.conversation_id,
    text: text?.slice(0, TEXT_CHARACTERS).join('') ?? null,
  };
}
