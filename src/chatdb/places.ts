import { problem } from '../domain/problems.ts';
import { type Instant, LARGEST_INTEGER, toNanoseconds } from './instants.ts';

/** A place as SQL compares it: date first, then row id. In nanoseconds since 2001. */
export interface Bound {
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

/** A place in a list: everything before it was given already. */
export interface Place {
  readonly instant: Instant;
  readonly rowId: number;
}

/** Beyond every date: seconds may reach 1e19 nanoseconds. */
const FAR = 10n ** 24n;
export const EVERYTHING: Range = {
  after: { date: -FAR, rowId: -LARGEST_INTEGER },
  before: { date: FAR, rowId: LARGEST_INTEGER },
};

/** What is left of a range behind a place. */
export function beyond(range: Range, order: Order, place: Place): Range {
  const bound = { date: toNanoseconds(place.instant), rowId: BigInt(place.rowId) };
  return order === 'asc' ? { ...range, after: bound } : { ...range, before: bound };
}

/** A place as the opaque text of `Page.next`. */
export function cursorOf(place: Place): string {
  return `${toNanoseconds(place.instant)}.${place.rowId}`;
}

/** Throws AppError `invalid` for what `cursorOf` never gave. */
export function rangeAtCursor(range: Range, order: Order, cursor: string): Range {
  const [, date = '', rowId = ''] = /^(-?\d{1,21})\.(-?\d{1,16})$/.exec(cursor) ?? [];
  if (date === '') throw problem('invalid_cursor');
  const bound = { date: BigInt(date), rowId: BigInt(rowId) };
  if (order === 'desc') return { ...range, before: bound };
  return bound.date > range.after.date ? { ...range, after: bound } : range;
}
