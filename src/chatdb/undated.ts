import type { ChatDatabase } from './database.ts';
import { compareInstants, toNanoseconds } from './instants.ts';
import type { Bound, Order, Place, Range } from './places.ts';
import { instantAt } from './rows.ts';
import type { Turn } from './turns.ts';

/** Whether a row is a message of lists (B8), and whether it counts for `last_message_at` (B12). */
export type Purpose = 'isMessage' | 'counts';

type UndatedRow = Place & Readonly<Record<Purpose, boolean>>;

// The columns of `undated`.
const DATE = 1;
const IS_MESSAGE = 4;
const COUNTS = 5;
const IS_LISTED = 6;

/** A row costs a look into the table, beside that into the index: twice as much as one passed over. */
const COST = 2;

/**
 * The rows of one chat, or of all, whose place in the index is not their place in time: joins with no date, or 0.
 * Only reading all of them puts them in order, so that is done in turns, and once for an edition.
 */
export class Undated {
  readonly #database: ChatDatabase;
  readonly #chatId: number | undefined;
  #rows: UndatedRow[] = [];
  #query = 0;
  #offset = 0;
  #isSorted = false;

  constructor(database: ChatDatabase, chatId: number | undefined) {
    this.#database = database;
    this.#chatId = chatId;
  }

  /** Reads on. False when the turn was over before there was nothing left to read. */
  read(turn: Turn): boolean {
    if (this.#isSorted) return true;
    const queries = this.#database.queries.undated[this.#chatId === undefined ? 'all' : 'chat'];
    for (let sql = queries[this.#query]; sql !== undefined; sql = queries[this.#query]) {
      if (turn.isOver) return false;
      this.#readSome(sql, Math.ceil(turn.rowsLeft / COST), turn);
    }
    // A table without its key can join a message twice; it appears once (B4).
    this.#rows = this.#rows.sort(comparePlaces).filter(({ rowId }, at, rows) => rowId !== rows[at - 1]?.rowId);
    this.#isSorted = true;
    return true;
  }

  #readSome(sql: string, limit: number, turn: Turn): void {
    const chat = this.#chatId === undefined ? [] : [this.#chatId];
    const rows = this.#database.all(sql, ...chat, limit, this.#offset);
    for (const row of rows) {
      if (row[0] === null || row[IS_LISTED] === 0) continue;
      this.#rows.push({
        rowId: row[0] as number,
        instant: instantAt(row, DATE),
        isMessage: row[IS_MESSAGE] !== 0,
        counts: row[COUNTS] !== 0,
      });
    }
    turn.spend(Math.max(1, rows.length * COST));
    this.#offset += rows.length;
    if (rows.length === limit) return;
    this.#query += 1;
    this.#offset = 0;
  }

  /** The first places of a range. Everything has been read by then. */
  places(purpose: Purpose, range: Range, order: Order, limit: number): readonly Place[] {
    const rows = this.#rows;
    const found: Place[] = [];
    const step = order === 'asc' ? 1 : -1;
    const begin = order === 'asc' ? this.#count(range.after, true) : this.#count(range.before, false) - 1;
    for (let at = begin; found.length < limit; at += step) {
      const row = rows[at];
      if (row === undefined || !isWithin(row, range, order)) break;
      if (row[purpose]) found.push(row);
    }
    return found;
  }

  /** How many rows stand before a bound, or at it. */
  #count(bound: Bound, isAtToo: boolean): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const row = this.#rows[middle];
      const place = row === undefined ? 0 : compareToBound(row, bound);
      if (place < 0 || (isAtToo && place === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function comparePlaces(a: Place, b: Place): number {
  return compareInstants(a.instant, b.instant) || a.rowId - b.rowId;
}

function compareToBound({ instant, rowId }: Place, bound: Bound): number {
  const date = toNanoseconds(instant);
  if (date !== bound.date) return date < bound.date ? -1 : 1;
  return BigInt(rowId) === bound.rowId ? 0 : BigInt(rowId) < bound.rowId ? -1 : 1;
}

/** The bound that a page does not begin at counts by its date alone. */
function isWithin({ instant }: Place, { after, before }: Range, order: Order): boolean {
  const date = toNanoseconds(instant);
  return order === 'asc' ? date <= before.date : date > after.date;
}
