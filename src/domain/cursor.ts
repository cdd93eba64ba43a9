import type { Offset } from './offset.ts';

/** How far the log has been published, and enough to tell whether it is still the same log (decision C5). */
export interface Cursor {
  readonly offset: Offset;
  /** guid of the last published row when it was published; null when there was none. */
  readonly guid: string | null;
  /** Inode of chat.db, as text: it may exceed 2^53. */
  readonly inode: string;
}

/** What the database says of itself now. */
export interface LogIdentity {
  readonly inode: string;
  /** guid of the row at the cursor, null when it is gone. */
  readonly guidAtCursor: string | null;
  /** The highest row id the table ever gave (sqlite_sequence), or max(ROWID) where that is missing. */
  readonly highestRowId: number;
}

/**
 * True when the database is another one (decision C5): the row at the cursor has another guid, the highest row id
 * is below the cursor, or the file is another one and the row is gone. A missing row alone is no sign, because
 * Messages deletes rows of reactions routinely.
 */
export function isReplaced(cursor: Cursor, now: LogIdentity): boolean {
  if (now.highestRowId < cursor.offset.rowId) return true;
  if (cursor.guid !== null && now.guidAtCursor !== null && now.guidAtCursor !== cursor.guid) return true;
  return now.inode !== cursor.inode && now.guidAtCursor === null;
}
