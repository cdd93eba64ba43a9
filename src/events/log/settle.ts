import type { PendingRow } from '../../domain/event.ts';

/** How long a row may wait for its chat join or attachments, from its first sighting (decisions C2 and U2). */
const PARTS_WAIT_MS = 2000;
/** How long an own row may wait for its sent flag (decision C2). */
const SENT_FLAG_WAIT_MS = 1000;
/** How long an incoming row that may be an own one waits for that mark (decision U1). */
const OWN_WAIT_MS = 500;

/**
 * Returns when a row stops waiting to be complete, on the clock of `seenAtMs`; `seenAtMs` itself if nothing is
 * missing. `isAwaited` is called last and only for incoming messages: it reports whether the row may belong to a
 * running send.
 */
export function waitEndsAt(row: PendingRow, seenAtMs: number, isAwaited: (row: PendingRow) => boolean): number {
  if (row.isIncomplete) return seenAtMs + PARTS_WAIT_MS;
  if (row.isUnsent) return seenAtMs + SENT_FLAG_WAIT_MS;
  const mayBeOwn = row.lacksHandle || (row.event.type === 'message.received' && isAwaited(row));
  return mayBeOwn ? seenAtMs + OWN_WAIT_MS : seenAtMs;
}
