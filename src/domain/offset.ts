/**
 * A position in the event log: everything up to this row and up to this change has been seen (decision I1).
 * Pass it on as a value; only `events/` and the stores look at its parts.
 */
export interface Offset {
  /** Row id in chat.db; 0 before the first row. */
  readonly rowId: number;
  /** Number of a change to an existing row; 0 while no changes are logged. */
  readonly change: number;
}

/** The position right after a new row. */
export function rowOffset(rowId: number): Offset {
  return { rowId, change: 0 };
}

/** True when `offset` has seen something that `other` has not. */
export function isAfter(offset: Offset, other: Offset): boolean {
  return offset.rowId > other.rowId || offset.change > other.change;
}

/** The position that has seen what either has. */
export function latest(one: Offset, other: Offset): Offset {
  if (!isAfter(other, one)) return one;
  if (!isAfter(one, other)) return other;
  return { rowId: Math.max(one.rowId, other.rowId), change: Math.max(one.change, other.change) };
}
