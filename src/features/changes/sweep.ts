import { type Cursor, isReplaced } from '../../core/model/cursor.ts';
import { NO_PRINT, type Print } from '../../core/model/fingerprint.ts';
import {
  type BackgroundPrintReader,
  BLOCK_ROWS,
  type Change,
  type ChangeStore,
  type PrintReader,
  type PrintsRead,
} from '../../core/model/ports/changes-ports.ts';
import { blockOf, compare, StoredPrints, summary } from './compare.ts';

export interface SweepParts {
  readonly store: ChangeStore;
  readonly prints: PrintReader;
  readonly background: Pick<BackgroundPrintReader, 'range'>;
  readonly cursor: () => Cursor | undefined;
  /** Returns the id of the newest row published to readers with changes. */
  readonly lastRowId: () => number;
  /** Waits between two slices. Returns false if the sweep should end. */
  readonly pause: () => Promise<boolean>;
  readonly record: (changes: readonly Change[], prints: ReadonlyMap<number, Print>) => void;
}

/**
 * One sweep lists at most `maxListed` changes. It reports further changes as summaries, one for every `blocksUnlisted`
 * blocks (decision I3).
 */
export interface SweepLimits {
  readonly maxListed: number;
  readonly blocksUnlisted: number;
}

/**
 * A row whose print differs from the stored one, held back for the next summary. `change` is undefined if the
 * difference is not reported to clients.
 */
interface Unlisted {
  readonly change: Change | undefined;
  readonly old: Print;
  readonly now: Print;
}

/**
 * Compares all rows once, block by block. The background read only finds which rows differ. These rows are read again
 * before anything is stored, because a pass may have stored newer prints meanwhile.
 */
export class Sweep {
  readonly #parts: SweepParts;
  readonly #limits: SweepLimits;
  #listed = 0;
  readonly #unlisted = new Map<number, Unlisted>();
  #blocksUnlisted = 0;

  constructor(parts: SweepParts, limits: SweepLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  /**
   * Returns true once every row was examined, false if the sweep must start over later. Throws what reading and storing
   * throw.
   */
  async run(): Promise<boolean> {
    const { store, background, cursor, lastRowId, pause } = this.#parts;
    const generation = store.generation();
    for (let block: number | undefined = 0; block !== undefined; ) {
      const at = cursor();
      const upTo = lastRowId();
      const from = Math.max(1, block * BLOCK_ROWS);
      if (at === undefined || from > upTo) break;
      const to = Math.min((block + 1) * BLOCK_ROWS - 1, upTo);
      const newestChange = store.newest();
      const slice = await background.range(at.offset, from, to);
      if (store.generation() !== generation || isReplaced(at, slice.identity)) return false;
      if (!this.#compare(at, from, to, slice, store.newest() === newestChange)) return false;
      block = this.#next(block, slice.next);
      if (!(await pause()) || store.generation() !== generation) return false;
    }
    return this.#flush();
  }

  /**
   * Returns the first block after `block` that has rows in chat.db or stored prints; undefined if there is none. Skips
   * the blocks in which no row id is used.
   */
  #next(block: number, nextRow: number | undefined): number | undefined {
    const stored = this.#parts.store.nextBlock(block + 1);
    const found = nextRow === undefined ? undefined : Math.max(block + 1, blockOf(nextRow));
    return stored === undefined || found === undefined ? (stored ?? found) : Math.min(stored, found);
  }

  /**
   * Compares one slice. Returns false if chat.db was replaced since the slice was read. `isCurrent` is false if changes
   * were logged since the read began. Rows without a stored print are then read again, because the logged change may be
   * the removal of such a row.
   */
  #compare(at: Cursor, from: number, to: number, slice: PrintsRead, isCurrent: boolean): boolean {
    const { store, prints, record } = this.#parts;
    const stored = new StoredPrints(store);
    const known = stored.between(from, to);
    const differing = known.filter(
      (rowId) => slice.prints.get(rowId) !== stored.of(rowId) && prints.isUnreadable?.(rowId) !== true,
    );
    const unknown = [...slice.prints].filter(([rowId]) => stored.of(rowId) === NO_PRINT);
    if (isCurrent) record([], new Map(unknown));
    else differing.push(...unknown.map(([rowId]) => rowId));
    if (differing.length > 0) {
      const now = prints.rows(at.offset, differing);
      if (isReplaced(at, now.identity)) return false;
      // Reading these rows may have met the first damaged page.
      const readable = differing.filter((rowId) => prints.isUnreadable?.(rowId) !== true);
      const found = compare(readable, now.prints, stored, new Map());
      if (this.#unlisted.size === 0 && this.#listed + found.changes.length <= this.#limits.maxListed) {
        this.#listed += found.changes.length;
        record(found.changes, found.prints);
      } else {
        const byRow = new Map(
          found.changes.flatMap((change) => (change.kind === 'many' ? [] : [[change.rowId, change]])),
        );
        for (const [rowId, print] of found.prints) {
          this.#unlisted.set(rowId, { change: byRow.get(rowId), old: stored.of(rowId), now: print });
        }
      }
    }
    if (this.#unlisted.size > 0) this.#blocksUnlisted += 1;
    return this.#blocksUnlisted < this.#limits.blocksUnlisted || this.#flush();
  }

  /**
   * Publishes these changes as one summary, minus rows a pass has already reported. Returns false if chat.db was
   * replaced.
   */
  #flush(): boolean {
    if (this.#unlisted.size === 0) return true;
    const { store, prints, cursor, record } = this.#parts;
    const at = cursor();
    if (at === undefined || isReplaced(at, prints.rows(at.offset, []).identity)) return false;
    const stored = new StoredPrints(store);
    const still = [...this.#unlisted].filter(([rowId, { old }]) => stored.of(rowId) === old);
    const many = summary(still.flatMap(([, { change }]) => change ?? []));
    record(many === undefined ? [] : [many], new Map(still.map(([rowId, { now }]) => [rowId, now])));
    this.#unlisted.clear();
    this.#blocksUnlisted = 0;
    return true;
  }
}
