/** How far the log has been published, and enough to tell whether it is still the same log (decision C5). */
export interface Cursor {
  /** The last processed row id; 0 before the first row. */
  readonly rowId: number;
  /** guid of that row when it was processed; null when there was none. */
  readonly guid: string | null;
  /** Inode of chat.db, as text: it may exceed 2^53. */
  readonly inode: string;
}

/** What the database says of itself now. */
export interface LogIdentity {
  readonly inode: string;
  /** guid of the row at the asked row id, null when it is gone. */
  readonly guidAtCursor: string | null;
  /** The highest row id the table ever gave (sqlite_sequence), or max(ROWID) where that is missing. */
  readonly highestRowId: number;
}

/**
 * Decision C5: the marked row has another guid, or the table's highest ever row id is below the mark,
 * or the file is another one and the marked row is gone. A missing row alone is no sign: reactions
 * are deleted routinely.
 */
export function isReplaced(mark: Cursor, now: LogIdentity): boolean {
  if (now.highestRowId < mark.rowId) return true;
  if (mark.guid !== null && now.guidAtCursor !== null && now.guidAtCursor !== mark.guid) return true;
  return now.inode !== mark.inode && now.guidAtCursor === null;
}
