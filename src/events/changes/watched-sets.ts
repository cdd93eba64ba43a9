type RowIds = readonly number[];

/** What the sets held that chat.db has an index of: a row that joins or leaves one has changed. */
export class WatchedSets {
  #known: readonly RowIds[] | undefined;

  /** Rows that joined or left one of the sets since they were kept. */
  moved(now: readonly RowIds[]): readonly number[] {
    const before = this.#known;
    if (before === undefined) return [];
    const moved = new Set<number>();
    for (const [at, rowIds] of now.entries()) {
      const then = before[at] ?? rowIds;
      if (then === rowIds) continue;
      for (const rowId of without(rowIds, then)) moved.add(rowId);
      for (const rowId of without(then, rowIds)) moved.add(rowId);
    }
    return [...moved];
  }

  keep(now: readonly RowIds[]): void {
    this.#known = now;
  }

  forget(): void {
    this.#known = undefined;
  }
}

function without(rowIds: RowIds, others: RowIds): number[] {
  const known = new Set(others);
  return rowIds.filter((rowId) => !known.has(rowId));
}
