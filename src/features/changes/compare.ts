import { changesBetween, NO_PRINT, type Print, type PrintArray, REACTION_PRINT } from '../../core/model/fingerprint.ts';
import {
  BLOCK_ROWS,
  type Change,
  type ChangeStore,
  type KnownPrints,
  type RowOrigin,
} from '../../core/model/ports/changes-ports.ts';

/** The stored prints of rows. Reads each block of rows from the store at most once. */
export class StoredPrints implements KnownPrints {
  readonly #store: Pick<ChangeStore, 'prints' | 'nextBlock'>;
  readonly #blocks = new Map<number, PrintArray | undefined>();

  constructor(store: Pick<ChangeStore, 'prints' | 'nextBlock'>) {
    this.#store = store;
  }

  of(rowId: number): Print {
    return this.#block(blockOf(rowId))?.[rowId % BLOCK_ROWS] ?? NO_PRINT;
  }

  /** Returns the row ids from `from` to `to` that have a stored print. */
  between(from: number, to: number): number[] {
    const rowIds: number[] = [];
    const end = blockOf(to);
    for (
      let number = this.#store.nextBlock(blockOf(from));
      number !== undefined && number <= end;
      number = this.#store.nextBlock(number + 1)
    ) {
      const first = number * BLOCK_ROWS;
      const prints = this.#block(number) ?? new Float64Array();
      // Uses an index, because an iterator over all prints of the block would cost more than the rest of this method.
      for (let at = Math.max(0, from - first); at < prints.length && first + at <= to; at += 1) {
        if (prints[at] !== NO_PRINT) rowIds.push(first + at);
      }
    }
    return rowIds;
  }

  #block(number: number): PrintArray | undefined {
    if (!this.#blocks.has(number)) this.#blocks.set(number, this.#store.prints(number));
    return this.#blocks.get(number);
  }
}

export function blockOf(rowId: number): number {
  return Math.floor(rowId / BLOCK_ROWS);
}

export interface Difference {
  readonly changes: readonly Change[];
  /**
   * Prints to store: the new print of each row that differs, and the first print of each row that has none. Key: the
   * row id.
   */
  readonly prints: ReadonlyMap<number, Print>;
  /** Number of rows that have a stored print but are gone from chat.db. Includes reactions, which `changes` omits. */
  readonly removed: number;
}

/**
 * Compares these rows with their stored prints. A row without a stored print is new or was never compared before: it
 * gets its first print in `prints`, and no change is reported.
 */
export function compare(
  rowIds: Iterable<number>,
  found: ReadonlyMap<number, Print>,
  stored: StoredPrints,
  origins: ReadonlyMap<number, RowOrigin>,
): Difference {
  const changes: Change[] = [];
  const prints = new Map<number, Print>();
  let removed = 0;
  for (const rowId of rowIds) {
    const old = stored.of(rowId);
    const now = found.get(rowId) ?? NO_PRINT;
    if (old === now) continue;
    prints.set(rowId, now);
    if (old === NO_PRINT) continue;
    if (now === NO_PRINT) {
      removed += 1;
      if (old !== REACTION_PRINT) changes.push(removal(rowId, origins));
    } else {
      const names = changesBetween(old, now);
      if (names.length > 0) changes.push({ kind: 'updated', rowId, changes: names });
    }
  }
  return { changes: changes.sort((one, other) => rowOf(one) - rowOf(other)), prints, removed };
}

function rowOf(change: Change): number {
  return change.kind === 'many' ? change.lastRowId : change.rowId;
}

function removal(rowId: number, origins: ReadonlyMap<number, RowOrigin>): Change {
  const { guid = '', conversationId = '' } = origins.get(rowId) ?? {};
  return { kind: 'removed', rowId, guid, conversationId };
}

/**
 * Returns one change that summarises all of `changes`, which are too many to list (decision I3); undefined if there are
 * none.
 */
export function summary(changes: readonly Change[]): Change | undefined {
  const rowIds = changes.flatMap((change) => (change.kind === 'many' ? [] : [change.rowId]));
  if (rowIds.length === 0) return undefined;
  let [first = 0] = rowIds;
  let last = first;
  for (const rowId of rowIds) {
    first = Math.min(first, rowId);
    last = Math.max(last, rowId);
  }
  return { kind: 'many', firstRowId: first, lastRowId: last, count: rowIds.length };
}
