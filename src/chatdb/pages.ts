import { AppError } from '../domain/errors.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';
import type { ChatDatabase } from './database.ts';
import { compareInstants, type Instant, LARGEST_INTEGER, LARGEST_SECONDS, toNanoseconds } from './instants.ts';
import type { PageQueries } from './queries.ts';
import { instantAt } from './rows.ts';

/** A place as SQL compares it: date first, then row id. In nanoseconds since 2001. */
interface Bound {
  readonly date: bigint;
  readonly rowId: bigint;
}

/**
 * What a page is taken from. The order decides which bound is a place, strictly excluded; of the other only the
 * date counts: newer than `after`, not newer than `before`.
 */
export interface Range {
  readonly after: Bound;
  readonly before: Bound;
}

export type Order = 'asc' | 'desc';

/** What lists are read from. */
export interface ListSource {
  readonly database: ChatDatabase;
  /** True when some row of the chat (or of all) is dated otherwise than in nanoseconds. */
  hasOddDates(chatId: number | undefined): boolean;
}

/** A list: of one conversation or of all. */
export interface List {
  readonly source: ListSource;
  /** undefined: all conversations. */
  readonly chatId: number | undefined;
  readonly order: Order;
}

/** A place in a list: everything before it was given already. */
export interface Place {
  readonly instant: Instant;
  readonly rowId: number;
}

/** A row found, and where it stands in the list. */
export interface Found extends Place {
  readonly row: Row;
}

const NS = 1_000_000_000n;
const SMALLEST_INTEGER = -LARGEST_INTEGER - 1n;
/** Beyond every date: seconds may reach 1e19 nanoseconds. */
const FAR = 10n ** 24n;
export const EVERYTHING: Range = {
  after: { date: -FAR, rowId: -LARGEST_INTEGER },
  before: { date: FAR, rowId: LARGEST_INTEGER },
};

/** A part of the rows whose order an index knows, or the rest. `unit`: nanoseconds in one of the stored number. */
interface Stream {
  readonly query: 'indexed' | 'rest';
  readonly unit: bigint;
  readonly above: bigint;
  readonly upTo: bigint;
}

const NANOSECONDS: Stream = { query: 'indexed', unit: 1n, above: LARGEST_SECONDS, upTo: LARGEST_INTEGER };
const SECONDS: Stream = { query: 'indexed', unit: NS, above: 0n, upTo: LARGEST_SECONDS };
const REST: Stream = { query: 'rest', unit: 1n, above: -FAR - 1n, upTo: FAR };
/** The ordinary database has only the first; the order of all three together is exact in any mixture (B6). */
const ORDINARY = [NANOSECONDS];
const MIXED = [NANOSECONDS, SECONDS, REST];

/** Rows of a list in its order. `dateAt`: where the date stands in the columns of `sql`. */
export function take(
  { source, chatId, order }: List,
  sql: PageQueries['rows'],
  dateAt: number,
  range: Range,
  limit: number,
): readonly Found[] {
  const { database } = source;
  const streams = source.hasOddDates(chatId) ? MIXED : ORDINARY;
  const found = streams.flatMap((stream) =>
    database
      .all(
        sql[stream.query],
        ...chatParameters(source, chatId, stream),
        ...boundParameters(stream, order, range),
        limit,
        0,
      )
      .map((row) => ({ row, rowId: row[0] as number, instant: instantAt(row, dateAt) })),
  );
  if (streams.length === 1) return found;
  const sign = order === 'asc' ? 1 : -1;
  return found.sort((a, b) => sign * comparePlaces(a, b)).slice(0, limit);
}

/** The place of the `count`th row, or undefined when there are fewer. */
export function skip(list: List, sql: PageQueries['keys'], range: Range, count: number): Place | undefined {
  const { source, chatId } = list;
  if (source.hasOddDates(chatId)) return take(list, sql, 1, range, count)[count - 1];
  const parameters = [
    ...chatParameters(source, chatId, NANOSECONDS),
    ...boundParameters(NANOSECONDS, list.order, range),
  ];
  const row = source.database.get(sql.indexed, ...parameters, 1, count - 1);
  return row && { rowId: row[0] as number, instant: instantAt(row, 1) };
}

/** What is left of a range behind a place. */
export function beyond(range: Range, order: Order, place: Place): Range {
  const bound = { date: toNanoseconds(place.instant), rowId: BigInt(place.rowId) };
  return order === 'asc' ? { ...range, after: bound } : { ...range, before: bound };
}

function comparePlaces(a: Place, b: Place): number {
  return compareInstants(a.instant, b.instant) || a.rowId - b.rowId;
}

/** A place as the opaque text of `Page.next`. */
export function cursorOf(place: Place): string {
  return `${toNanoseconds(place.instant)}.${place.rowId}`;
}

/** Throws AppError `invalid` for what `cursorOf` never gave. */
export function rangeAtCursor(range: Range, order: Order, cursor: string): Range {
  const [, date = '', rowId = ''] = /^(-?\d{1,21})\.(-?\d{1,16})$/.exec(cursor) ?? [];
  if (date === '') {
    throw new AppError('invalid', 'invalid_cursor', 'The cursor is not one that this service gave.', {
      mistakes: [{ pointer: '?cursor', message: 'is not a cursor of this list' }],
    });
  }
  const bound = { date: BigInt(date), rowId: BigInt(rowId) };
  if (order === 'desc') return { ...range, before: bound };
  return bound.date > range.after.date ? { ...range, after: bound } : range;
}

function chatParameters(source: ListSource, chatId: number | undefined, stream: Stream): SqlValue[] {
  if (chatId === undefined) return [];
  return Array<SqlValue>(stream === REST ? source.database.restParameters : 1).fill(chatId);
}

function boundParameters({ unit, above, upTo }: Stream, order: Order, range: Range): SqlValue[] {
  const clamp = (bound: Bound): Bound => {
    const own = inUnits(bound, unit);
    if (own.date <= above) return { date: above, rowId: LARGEST_INTEGER };
    return own.date > upTo ? { date: upTo, rowId: LARGEST_INTEGER } : own;
  };
  const after = clamp(range.after);
  const before = clamp(range.before);
  return order === 'asc'
    ? [storable(after.date), after.rowId, storable(before.date)]
    : [storable(after.date), storable(before.date), before.rowId];
}

/** A bound between two whole units lies behind every row of the lower one. */
function inUnits(bound: Bound, unit: bigint): Bound {
  if (unit === 1n) return bound;
  return { date: bound.date / unit, rowId: bound.date % unit === 0n ? bound.rowId : LARGEST_INTEGER };
}

/** Beyond 64 bits a bound is REAL, as `instantSql` makes it. */
function storable(date: bigint): SqlValue {
  return date > LARGEST_INTEGER || date < SMALLEST_INTEGER ? Number(date) : date;
}
