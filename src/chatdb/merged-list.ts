import { KEY_COLUMNS } from './columns.ts';
import { type Keyset, keysetOf, type List, listKeyRows } from './list-query.ts';
import type { Snapshot } from './snapshot.ts';

/** Rows read beyond a chat's even share, because chats are not equally busy. */
const EXTRA_ROWS = 4;

/** The rest of one chat's list, of which a few rows are read at a time. */
interface Source {
  list: List;
  rows: Keyset[];
  next: number;
  isRead: boolean;
}

/**
 * The next positions in the list of several chats: the lists of the chats, merged by date and row id. A cursor means
 * the same in each of them.
 */
export function mergedKeys(
  snapshot: Snapshot,
  list: List,
  chatIds: readonly number[],
  limit: number,
  offset: number,
): readonly Keyset[] {
  const wanted = offset + limit;
  const batch = Math.ceil(wanted / Math.max(chatIds.length, 1)) + EXTRA_ROWS;
  const sources = chatIds.map((chatId): Source => ({ list: { ...list, chatId }, rows: [], next: 0, isRead: false }));
  const isBefore = list.order === 'asc' ? isLower : (a: Keyset, b: Keyset) => isLower(b, a);
  const merged: Keyset[] = [];
  while (merged.length < wanted) {
    let best: { readonly source: Source; readonly key: Keyset } | undefined;
    for (const source of sources) {
      const key = peek(snapshot, source, batch);
      if (key !== undefined && (best === undefined || isBefore(key, best.key))) best = { source, key };
    }
    if (best === undefined) break;
    best.source.next += 1;
    merged.push(best.key);
  }
  return merged.slice(offset);
}

function peek(snapshot: Snapshot, source: Source, batch: number): Keyset | undefined {
  if (source.next === source.rows.length && !source.isRead) {
    const rows = listKeyRows(snapshot, source.list, batch);
    source.rows = rows.map((row) => keysetOf(row, KEY_COLUMNS.at));
    source.next = 0;
    source.isRead = rows.length < batch;
    const last = source.rows.at(-1);
    if (last !== undefined) source.list = { ...source.list, [source.list.order === 'asc' ? 'after' : 'before']: last };
  }
  return source.rows[source.next];
}

function isLower(a: Keyset, b: Keyset): boolean {
  return a.date === b.date ? a.rowId < b.rowId : a.date < b.date;
}
