import { type Cursor, isReplaced } from '../../domain/cursor.ts';
import type { Print } from '../../domain/fingerprint.ts';
import type { BackgroundPrintReader, Change, ChangeStore, PrintReader } from '../../domain/ports/changes.ts';
import { compare, StoredPrints } from './compare.ts';
import { RecentOrigins } from './recent-origins.ts';

export interface PassParts {
  readonly store: ChangeStore;
  readonly prints: PrintReader;
  readonly background: Pick<BackgroundPrintReader, 'origins'>;
  /** `lastRowId` is the newest row that readers with changes have received. */
  readonly stream: { readonly lastRowId: number };
  readonly record: (changes: readonly Change[], prints: ReadonlyMap<number, Print>) => void;
}

export interface PassLimits {
  /** Rows that every pass compares. */
  readonly windowRows: number;
  /** With more changes than this, rows outside the newest may have changed too. */
  readonly maxListed: number;
}

/**
 * The passes after commits: each compares the newest rows, and those that joined or left an index since the last
 * pass.
 */
export class Passes {
  readonly #parts: PassParts;
  readonly #limits: PassLimits;
  readonly #watched = new WatchedSets();
  readonly #origins: RecentOrigins;
  #deletions: number | undefined;

  constructor(parts: PassParts, limits: PassLimits) {
    this.#parts = parts;
    this.#limits = limits;
    this.#origins = new RecentOrigins(parts);
  }

  /**
   * Returns undefined if events were published from another database. `isDoubtful` means that rows which were not
   * compared may have changed. Throws what reading and storing throw; the next pass then finds the same.
   */
  run(at: Cursor): { readonly isDoubtful: boolean } | undefined {
    const { prints, store, stream, record } = this.#parts;
    const { windowRows, maxListed } = this.#limits;
    const upTo = stream.lastRowId;
    const stored = new StoredPrints(store);
    const newest = prints.differing(at.offset, upTo, windowRows, stored);
    if (isReplaced(at, newest.identity)) return undefined;
    const deletions = prints.deletions();
    const watched = prints.watched();
    const moved = this.#watched.moved(watched).filter((rowId) => rowId < newest.from && rowId > 0);
    const others = moved.length === 0 ? newest : prints.rows(at.offset, moved);
    if (isReplaced(at, others.identity)) return undefined;

    this.#origins.note(newest.from, upTo, 2 * windowRows);
    const known = newest.ranges.flatMap(([first, last]) => stored.between(first, last));
    const gone = known.filter((rowId) => !newest.prints.has(rowId));
    const rowIds = [...moved, ...gone, ...newest.prints.keys()];
    const all = moved.length === 0 ? newest.prints : new Map([...others.prints, ...newest.prints]);
    const found = compare(rowIds, all, stored, this.#origins.rows);
    record(found.changes, found.prints);

    // Only now: after a failure the next pass must find them again.
    this.#watched.keep(watched);
    const deleted = deletions - (this.#deletions ?? deletions);
    this.#deletions = deletions;
    return { isDoubtful: deleted > found.removed || found.changes.length > maxListed };
  }

  /** Discards what was remembered: its rows are meaningless now. */
  forget(): void {
    this.#watched.forget();
    this.#origins.forget();
    this.#deletions = undefined;
  }
}

type RowIds = readonly number[];

/** The sets that chat.db indexes: a row that joins or leaves one has changed. */
class WatchedSets {
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
