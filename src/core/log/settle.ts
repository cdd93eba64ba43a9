import type { PendingRow } from '../model/event.ts';

/**
 * Longest time a row may wait for its chat or its attachments, counted from when the row was first seen (decisions C2
 * and U2).
 */
const PARTS_WAIT_MS = 2000;
/** Longest time an outgoing row may wait for its sent flag (decision C2). */
const SENT_FLAG_WAIT_MS = 1000;
/** Longest time an incoming row waits because Messages may still mark it as outgoing. */
const OWN_WAIT_MS = 500;

/**
 * Returns the time at which the wait for a row ends, on the clock of `seenAtMs`. Returns `seenAtMs` itself if there is
 * nothing to wait for. `isAwaited` reports whether the row may belong to a running send. `isAwaited` is called only for
 * incoming messages, and only if no other reason to wait was found.
 */
export function waitEndsAt(row: PendingRow, seenAtMs: number, isAwaited: (row: PendingRow) => boolean): number {
  if (row.isIncomplete) return seenAtMs + PARTS_WAIT_MS;
  if (row.isUnsent) return seenAtMs + SENT_FLAG_WAIT_MS;
  const mayBeOwn = row.lacksHandle || (row.event.type === 'message.received' && isAwaited(row));
  return mayBeOwn ? seenAtMs + OWN_WAIT_MS : seenAtMs;
}
