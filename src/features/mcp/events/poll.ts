import { setImmediate as nextTurn } from 'node:timers/promises';
import { isRowEntry } from '../../../core/model/event.ts';
import { isAfter } from '../../../core/model/offset.ts';
import { type EventOccurrence, eventOccurrence } from '../event-occurrence.ts';
import { replayStart } from '../replay-start.ts';
import type { ServerParts } from '../server-parts.ts';
import { subscriptionFilter } from '../subscriptions/subscription.ts';
import type { AskedEvents } from './params.ts';

/**
 * Interval at which clients should poll. By default a limited key may send 30 requests per minute, and four polls per
 * minute leave most of these.
 */
const NEXT_POLL_MS = 15_000;
/** Maximum number of entries to read before other requests get a turn. Reading them takes a few milliseconds. */
const PAGE = 200;
/** Maximum number of rows that one poll examines. */
const MAX_ROWS = 5000;
const MAX_BYTES = 1_000_000;
/** Maximum number of bytes in the answer to a poll. */
export const MOST_POLL_BYTES = 1_500_000;

/** Returns the answer to `events/poll`: the events after the cursor, and the cursor for the next poll. */
export async function poll(
  { name, arguments: asked, cursor, maxAgeMs, maxEvents }: AskedEvents & { readonly maxEvents: number },
  { request, clock }: Pick<ServerParts, 'request' | 'clock'>,
): Promise<object> {
  const { caller } = request;
  const { feed } = caller;
  const isWanted = subscriptionFilter(name, asked, () => caller.key);
  const start = await replayStart(feed, cursor, maxAgeMs === undefined ? undefined : clock.now() - maxAgeMs);
  let position = start.offset;
  const events: EventOccurrence[] = [];
  let bytes = 0;
  let rows = 0;
  const isFull = (): boolean => events.length >= maxEvents || bytes > MAX_BYTES || rows >= MAX_ROWS;
  while (cursor !== undefined && !isFull()) {
    // Lets other requests run.
    if (rows > 0) await nextTurn();
    const { entries, upTo, looked } = await feed.page(position, Math.min(PAGE, maxEvents - events.length));
    position = upTo;
    if (looked === 0) break;
    rows += looked;
    for (const entry of entries) {
      if (!isRowEntry(entry) || !isWanted(entry)) continue;
      const occurrence = eventOccurrence(entry, asked.content ?? 'full');
      events.push(occurrence);
      bytes += JSON.stringify(occurrence).length;
      if (bytes <= MAX_BYTES) continue;
      position = entry.offset;
      break;
    }
  }
  const hasMore = isAfter(feed.lastPublished(), position);
  return {
    events,
    cursor: feed.offsetText(position, undefined),
    truncated: start.truncated,
    hasMore,
    nextPollMs: NEXT_POLL_MS,
  };
}
