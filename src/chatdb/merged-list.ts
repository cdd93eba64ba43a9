import { KEY_COLUMNS } from './columns.ts';
import { toNanoseconds } from './instants.ts';
import { EVERYTHING, type Keyset, keysetOf, type List, listKeyRows, newestJoinedItem } from './list-query.ts';
import type { Snapshot } from './snapshot.ts';

/** Rows that are first read of a chat; twice as many each time after, because a busy chat gives most of a page. */
const FIRST_ROWS = 4;

/** The rest of one chat's list, of which a few rows are read at a time. */
interface Source {
  list: List;
  rows: readonly Keyset[];
  next: number;
  batch: number;
  isRead: boolean;
  /** Nothing of it comes before this, while nothing of it was read. */
  bound: Keyset | undefined;
}

/**
 * The next positions in the list of several chats: the lists of the chats, merged by date and row id. A cursor means
 * the same in each of them. A chat whose newest message is older than the page is not read.
 */
export function mergedKeys(
  snapshot: Snapshot,
  list: List,
  chatIds: readonly number[],
  limit: number,
  offset: number,
): readonly Keyset[] {
  const isAscending = list.order === 'asc';
  const isBefore = isAscending ? isLower : (a: Keyset, b: Keyset) => isLower(b, a);
  const sources = chatIds.map(
    (chatId): Source => ({
      list: { ...list, chatId },
      rows: [],
      next: 0,
      batch: FIRST_ROWS,
      isRead: false,
      bound: isAscending ? undefined : newestOf(snapshot, chatId),
    }),
  );
  const merged: Keyset[] = [];
  while (merged.length < offset + limit) {
    let best: Source | undefined;
    let first: Keyset | undefined;
    for (const source of sources) {
      const key = source.bound ?? peek(snapshot, source);
      if (key === undefined || (first !== undefined && !isBefore(key, first))) continue;
      best = source;
      first = key;
    }
    if (best === undefined || first === undefined) break;
    if (best.bound === undefined) {
      best.next += 1;
      merged.push(first);
    } else best.bound = undefined;
  }
  return merged.slice(offset);
}

function peek(snapshot: Snapshot, source: Source): Keyset | undefined {
  if (source.next === source.rows.length && !source.isRead) {
    const rows = listKeyRows(snapshot, source.list, source.batch);
    source.rows = rows.map((row) => keysetOf(row, KEY_COLUMNS.at));
    source.next = 0;
    source.isRead = rows.length < source.batch;
    source.batch *= 2;
    const last = source.rows.at(-1);
    if (last !== undefined) source.list = { ...source.list, [source.list.order === 'asc' ? 'after' : 'before']: last };
  }
  return source.rows[source.next];
}

const newest = new WeakMap<Snapshot, Map<number, Keyset>>();

/** The newest of all rows of a chat, messages or not. */
function newestOf(snapshot: Snapshot, chatId: number): Keyset {
  const known = newest.get(snapshot) ?? new Map<number, Keyset>();
  newest.set(snapshot, known);
  let key = known.get(chatId);
  if (key === undefined) {
    const item = newestJoinedItem(snapshot, chatId);
    key = item === undefined ? EVERYTHING.after : { date: toNanoseconds(item.instant), rowId: BigInt(item.rowId) };
    known.set(chatId, key);
  }
  return key;
}

function isLower(a: Keyset, b: Keyset): boolean {
  return a.date === b.date ? a.rowId < b.rowId : a.date < b.date;
}
