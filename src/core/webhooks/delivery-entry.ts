import type { LogEntry } from '../model/event.ts';
import type { Offset } from '../model/offset.ts';
import type { RowFeed } from '../model/ports/feed-ports.ts';
import type { DroppedEvent } from '../model/ports/webhooks-ports.ts';
import { type StoredWebhook, wantsChanges } from '../model/webhook.ts';

/** Reads events again for a webhook. */
export interface EntrySource {
  readonly feed: RowFeed;
  /** Reads a row again. Returns undefined if it was deleted from chat.db. */
  readonly rowNow: (rowId: number) => LogEntry | undefined;
}

/**
 * Returns the entry of a new row, read from chat.db again; undefined if the row was deleted. An entry of a change is
 * returned without reading.
 */
export function currentEntry({ rowNow }: EntrySource, entry: LogEntry): LogEntry | undefined {
  if (entry.change !== undefined) return entry;
  const row = rowNow(entry.rowId);
  return row === undefined ? undefined : { ...entry, guid: row.guid, event: row.event };
}

/**
 * Reads a dropped event again. Returns undefined if it no longer exists. `now` is the webhook's offset. If the event is
 * a new row and the webhook asks for changes, the entry gets the change number of `now`.
 */
export function droppedEntry(
  { feed, rowNow }: EntrySource,
  { rowId, change }: DroppedEvent,
  webhook: StoredWebhook,
  now: Offset,
): LogEntry | undefined {
  if (change > 0) {
    const [entry] = feed.page({ rowId, change: change - 1 }, 1, { changes: true }).entries;
    return entry?.change === change ? entry : undefined;
  }
  const row = rowNow(rowId);
  if (row === undefined || !wantsChanges(webhook)) return row;
  return { ...row, offset: { rowId, change: now.change }, generation: feed.changeGeneration() };
}
