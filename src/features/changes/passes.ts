import { type Cursor, isReplaced } from '../../core/model/cursor.ts';
import type { Print } from '../../core/model/fingerprint.ts';
import type {
  BackgroundPrintReader,
  Change,
  ChangeStore,
  PrintReader,
  RowOrigin,
} from '../../core/model/ports/changes-ports.ts';
import { compare, StoredPrints } from './compare.ts';

export interface PassParts {
  readonly store: ChangeStore;
  readonly prints: PrintReader;
  readonly background: Pick<BackgroundPrintReader, 'origins'>;
  /** `lastRowId` is the id of the newest row published to readers with changes. */
  readonly stream: { readonly lastRowId: number };
  readonly record: (changes: readonly Change[], prints: ReadonlyMap<number, Print>) => void;
}

export interface PassLimits {
  /** Number of newest rows that every pass compares. */
  readonly windowRows: number;
  /**
   * Maximum number of changes that a pass lists one by one. If it finds more, it records one summary, and a sweep
   * follows, because older rows may have changed too.
   */
  readonly maxListed: number;
}

/**
 * Compares rows with their stored prints after commits. A pass compares the newest rows, and the older rows that became
 * or ceased to be unread, undelivered, failed or deleted since the previous pass. chat.db can list each of these sets
 * cheaply.
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
   * Runs one pass. Returns undefined if chat.db was replaced since rows were last published. `isDoubtful` means that
   * rows which were not compared may have changed. Throws what reading and storing throw; the next pass then finds the
   * same changes.
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
    const readable = rowIds.filter((rowId) => prints.isUnreadable?.(rowId) !== true);
    const found = compare(readable, all, stored, this.#origins.rows);
    record(found.changes, found.prints);

    // Kept only after `record` has stored the changes: if storing fails, the next pass must find these rows again.
    this.#watched.keep(watched);
    const deleted = deletions - (this.#deletions ?? deletions);
    this.#deletions = deletions;
    return { isDoubtful: deleted > found.removed || found.changes.length > maxListed };
  }

  /**
   * Discards what earlier passes remembered. Call when the change log was restarted: row ids may then mean other rows.
   */
  forget(): void {
    this.#watched.forget();
    this.#origins.forget();
  }
}

type RowIds = readonly number[];

/**
 * Remembers which rows are in each set that chat.db has an index for, such as the unread messages. A row that joins or
 * leaves a set has changed.
 */
class WatchedSets {
  #known: readonly RowIds[] | undefined;

  /** Returns the ids of rows that joined or left one of the sets since the last call of `keep`. */
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

/**
 * Maximum number of rows read on this thread. The reader thread reads larger ranges, because reading them here would
 * block the service.
 */
const MAX_AT_ONCE = 100;

interface OriginReaders {
  readonly prints: Pick<PrintReader, 'origins'>;
  readonly background: Pick<BackgroundPrintReader, 'origins'>;
}

/**
 * Caches the guid and conversation of the newest rows. The event `message.removed` contains both, and chat.db no longer
 * has them once a row is removed.
 */
class RecentOrigins {
  readonly #readers: OriginReaders;
  #rows = new Map<number, RowOrigin>();
  /** Highest row id that was read or is being read. */
  #upTo = 0;

  constructor(readers: OriginReaders) {
    this.#readers = readers;
  }

  get rows(): ReadonlyMap<number, RowOrigin> {
    return this.#rows;
  }

  /**
   * Reads the rows from `from` to `upTo` that are not cached yet. If more than `most` rows are cached, drops those
   * before `from`.
   */
  note(from: number, upTo: number, most: number): void {
    const { prints, background } = this.#readers;
    const rows = this.#rows;
    const first = Math.max(from, this.#upTo + 1);
    if (first > upTo) return;
    if (upTo - first < MAX_AT_ONCE) {
      for (const row of prints.origins(first, upTo)) rows.set(row.rowId, row);
    } else {
      const before = this.#upTo;
      background.origins(first, upTo).then(
        (read) => {
          for (const row of read) rows.set(row.rowId, row);
        },
        // Ignores the failure: the commit detector reports that chat.db is unavailable, and the next pass reads these
        // rows.
        () => {
          if (rows === this.#rows) this.#upTo = Math.min(this.#upTo, before);
        },
      );
    }
    this.#upTo = upTo;
    if (rows.size <= most) return;
    for (const rowId of rows.keys()) if (rowId < from) rows.delete(rowId);
  }

  /** Discards the cached rows. */
  forget(): void {
    this.#rows = new Map();
    this.#upTo = 0;
  }
}
