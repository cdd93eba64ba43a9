import type { Offset } from './offset.ts';

/**
 * The position up to which rows of chat.db have been published. The other members serve to detect that chat.db was
 * replaced (decision C5).
 */
export interface Cursor {
  readonly offset: Offset;
  /** guid of the newest row that had been published when the cursor was stored; null if there was none. */
  readonly guid: string | null;
  /** Inode of chat.db, as text: it may exceed 2^53. */
  readonly inode: string;
}

/** The current state of chat.db, to be compared with a `Cursor`. */
export interface LogIdentity {
  readonly inode: string;
  /** guid of the row at the cursor; null if the row is gone. */
  readonly guidAtCursor: string | null;
  /** The highest row id ever used, from sqlite_sequence; max(ROWID) if sqlite_sequence has no entry. */
  readonly highestRowId: number;
}

/**
 * Reports whether chat.db was replaced (decision C5): the row at the cursor has another guid, the highest row id is
 * below the cursor, or the inode differs and the row at the cursor is gone. A missing row alone proves nothing, because
 * Messages routinely deletes the rows of reactions.
 */
export function isReplaced(cursor: Cursor, now: LogIdentity): boolean {
  if (now.highestRowId < cursor.offset.rowId) return true;
  if (cursor.guid !== null && now.guidAtCursor !== null && now.guidAtCursor !== cursor.guid) return true;
  return now.inode !== cursor.inode && now.guidAtCursor === null;
}
