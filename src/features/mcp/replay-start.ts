import { AppError, isAppError } from '../../core/model/errors.ts';
import type { LogEntry } from '../../core/model/event.ts';
import { decodeOffset, type Offset } from '../../core/model/offset.ts';
import type { EventFeed } from '../../core/model/ports/feed-ports.ts';

const PAGE = 200;
/** Maximum number of rows examined to find the first event that is not too old. */
const MAX_ROWS = 20_000;

/**
 * The position from which a client of MCP Events continues. `truncated` is true if events before this position are
 * skipped.
 */
export interface ReplayStart {
  readonly offset: Offset;
  readonly truncated: boolean;
}

/**
 * Returns the position that a cursor stands for. If the cursor has expired or there is none, returns the position of
 * the newest event. Skips events dated before `floorMs` (Unix milliseconds). Throws `invalid_cursor` for a text that is
 * not a cursor, and `chat_db_unavailable`.
 */
export async function replayStart(
  feed: EventFeed,
  cursor: string | undefined,
  floorMs: number | undefined,
): Promise<ReplayStart> {
  if (cursor === undefined) return { offset: feed.lastPublished(), truncated: false };
  const asked = decodeOffset(cursor);
  if (asked === undefined || 'opaque' in asked) {
    throw new AppError('invalid_cursor', 'Invalid cursor.', {
      status: 400,
      hint: 'Use a cursor from an earlier answer, or null to begin with new events.',
    });
  }
  let offset: Offset;
  try {
    offset = await feed.resolve(asked);
  } catch (error) {
    if (isAppError(error) && error.status === 410) return { offset: feed.lastPublished(), truncated: true };
    throw error;
  }
  return floorMs === undefined ? { offset, truncated: false } : young(feed, offset, floorMs);
}

/**
 * Returns the position just before the first event dated `floorMs` or later, among the events after `start`. If the
 * next `MAX_ROWS` rows contain no such event, returns the newest position.
 */
async function young(feed: EventFeed, start: Offset, floorMs: number): Promise<ReplayStart> {
  let offset = start;
  let truncated = false;
  for (let rows = 0; rows < MAX_ROWS; rows += PAGE) {
    const { entries, upTo, looked } = await feed.page(offset, PAGE);
    const first = entries.find((entry) => timeOf(entry) >= floorMs);
    truncated ||= entries.length > 0 && first !== entries[0];
    if (first !== undefined) return { offset: { ...offset, rowId: first.rowId - 1 }, truncated };
    offset = upTo;
    if (looked === 0) return { offset, truncated };
    // Lets other requests run.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { offset: feed.lastPublished(), truncated: true };
}

function timeOf({ event }: LogEntry): number {
  return 'timestamp' in event.data ? Date.parse(event.data.timestamp) : Number.POSITIVE_INFINITY;
}
