import type { Row, SqlValue } from '../runtime/sqlite.ts';
import type { ChatDatabase } from './database.ts';
import { LARGEST_INTEGER, LARGEST_SECONDS } from './instants.ts';
import type { Bound, Order, Place, Range } from './places.ts';
import { instantAt } from './rows.ts';
import { Turn } from './turns.ts';
import { comparePlaces, type Purpose, type Undated } from './undated.ts';

/** What lists are read from. */
export interface ListSource {
  readonly database: ChatDatabase;
  /** True when some row of the chat (or of all) is dated otherwise than in nanoseconds. */
  hasOddDates(chatId: number | undefined): boolean;
  /** The rows that no index puts in order. */
  undated(chatId: number | undefined): Undated;
}

/** A list: of one conversation or of all. */
export interface List {
  readonly source: ListSource;
  /** undefined: all conversations. */
  readonly chatId: number | undefined;
  readonly order: Order;
}

/** What of a list is asked for: an SQL text of `pageQueries`, and where the date stands in its columns. */
export interface Columns {
  readonly sql: string;
  readonly dateAt: number;
  readonly purpose: Purpose;
}

/** A row found, and where it stands in the list. An undated one is only a place. */
export interface Found extends Place {
  readonly row?: Row;
}

const NS = 1_000_000_000n;

/** A part of the rows whose order an index knows. `unit`: nanoseconds in one of the stored number. */
interface Stream {
  readonly unit: bigint;
  readonly above: bigint;
  readonly upTo: bigint;
}

/** The ordinary database has only these. */
const NANOSECONDS: Stream = { unit: 1n, above: LARGEST_SECONDS, upTo: LARGEST_INTEGER };
const SECONDS: Stream = { unit: NS, above: 0n, upTo: LARGEST_SECONDS };

/** Rows of a list in its order, exact in any mixture of dates (B6). */
export function take(list: List, columns: Columns, range: Range, limit: number): readonly Found[] {
  const { source, chatId, order } = list;
  const dated = indexed(list, columns, NANOSECONDS, range, limit, 0);
  if (!source.hasOddDates(chatId)) return dated;
  const undated = source.undated(chatId);
  undated.read(Turn.withoutEnd());
  const found: Found[] = [
    ...dated,
    ...indexed(list, columns, SECONDS, range, limit, 0),
    ...undated.places(columns.purpose, range, order, limit),
  ];
  const sign = order === 'asc' ? 1 : -1;
  return found.sort((a, b) => sign * comparePlaces(a, b)).slice(0, limit);
}

/** The place of the `count`th row, or undefined when there are fewer. */
export function skip(list: List, columns: Columns, range: Range, count: number): Place | undefined {
  const { source, chatId } = list;
  if (source.hasOddDates(chatId)) return take(list, columns, range, count)[count - 1];
  return indexed(list, columns, NANOSECONDS, range, 1, count - 1)[0];
}

/** What a row passed over by `skip` costs: where dates are mixed, each is taken from all streams and put in order. */
export function skipCost({ source, chatId }: List): number {
  return source.hasOddDates(chatId) ? 4 : 1;
}

function indexed(
  { source, chatId, order }: List,
  { sql, dateAt }: Columns,
  stream: Stream,
  range: Range,
  limit: number,
  offset: number,
): Found[] {
  const chat = chatId === undefined ? [] : [chatId];
  return source.database
    .all(sql, ...chat, ...boundParameters(stream, order, range), limit, offset)
    .map((row) => ({ row, rowId: row[0] as number, instant: instantAt(row, dateAt) }));
}

function boundParameters({ unit, above, upTo }: Stream, order: Order, range: Range): SqlValue[] {
  const clamp = (bound: Bound): Bound => {
    const own = inUnits(bound, unit);
    if (own.date <= above) return { date: above, rowId: LARGEST_INTEGER };
    return own.date > upTo ? { date: upTo, rowId: LARGEST_INTEGER } : own;
  };
  const after = clamp(range.after);
  const before = clamp(range.before);
  return order === 'asc' ? [after.date, after.rowId, before.date] : [after.date, before.date, before.rowId];
}

/** A bound between two whole units lies behind every row of the lower one. */
function inUnits(bound: Bound, unit: bigint): Bound {
  if (unit === 1n) return bound;
  return { date: bound.date / unit, rowId: bound.date % unit === 0n ? bound.rowId : LARGEST_INTEGER };
}
