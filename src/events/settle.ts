import type { PendingRow } from '../domain/event.ts';

/** Decision C2: how long a row may wait for its chat join or attachments, counted from when it was first seen. */
const PARTS_WAIT_MS = 2000;
/** Decision C2: how long an own row may wait for its sent flag. */
const SENT_FLAG_WAIT_MS = 1000;
/** Decision C2: a row dated longer ago than this does not wait, because it is history that iCloud fills in. */
const HISTORY_MS = 60_000;

/**
 * When a row stops waiting to be complete, on the clock that `seenAtMs` was read from; `seenAtMs`
 * itself when it lacks nothing. `nowMs` is Unix time, to compare with the row's own date.
 */
export function waitEndsAt(row: PendingRow, seenAtMs: number, nowMs: number): number {
  if (nowMs - row.datedMs > HISTORY_MS) return seenAtMs;
  if (row.isIncomplete) return seenAtMs + PARTS_WAIT_MS;
  if (row.isUnsent) return seenAtMs + SENT_FLAG_WAIT_MS;
  return seenAtMs;
}
