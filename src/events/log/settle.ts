import type { PendingRow } from '../../domain/event.ts';

/** Decisions C2 and U2: how long a row may wait for its chat join or attachments, counted from its first sighting. */
const PARTS_WAIT_MS = 2000;
/** Decision C2: how long an own row may wait for its sent flag. */
const SENT_FLAG_WAIT_MS = 1000;
/** Decision U1: how long an incoming row that may be an own one waits to be marked as such. */
const OWN_WAIT_MS = 500;

/**
 * Returns when a row stops waiting to be complete, on the clock that `seenAtMs` was read from; `seenAtMs` itself when it
 * lacks nothing. `isAwaited` is asked last, and only of incoming messages: whether it may be the row of a running send.
 */
export function waitEndsAt(row: PendingRow, seenAtMs: number, isAwaited: (row: PendingRow) => boolean): number {
  if (row.isIncomplete) return seenAtMs + PARTS_WAIT_MS;
  if (row.isUnsent) return seenAtMs + SENT_FLAG_WAIT_MS;
  const mayBeOwn = row.lacksHandle || (row.event.type === 'message.received' && isAwaited(row));
  return mayBeOwn ? seenAtMs + OWN_WAIT_MS : seenAtMs;
}
