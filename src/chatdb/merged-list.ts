import type { Row } from '../runtime/sqlite.ts';
import { INT_PARAM, KEY_COLUMNS } from './columns.ts';
import { toNanoseconds } from './instants.ts';
import {
  between,
  EVERYTHING,
  type Keyset,
  keysetOf,
  type List,
  listKeyRows,
  nanosecondBounds,
  newestJoinedItem,
  type Order,
} from './list-query.ts';
import { hasDatedJoins, IS_LOWEST_CHAT, isNoReaction } from './queries.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';
import type { Snapshot } from './snapshot.ts';

/** Rows that are first read of a chat; twice as many each time after, because a busy chat gives most of a page. */
const FIRST_ROWS = 4;

/** The rest of a list, of which a few rows are read at a time. */
interface Source {
  list: List;
  readonly read: (list: List, limit: number) => readonly Row[];
  rows: readonly Keyset[];
  next: number;
  batch: number;
  isRead: boolean;
  /** Nothing of it comes before this, while nothing of it was read. */
  bound: Keyset | undefined;
}

/**
 * `KEY_COLUMNS` of the messages of several chats, where the index has them all in order; undefined without that index.
 * Parameters: a JSON array of chats, `nanosecondBounds`, the bound of the list's end again, limit.
 */
export const mergedSqlOf = perSchema((schema): Readonly<Record<Order, string>> | undefined =>
  hasDatedJoins(schema) && schema.hasIndex('chat_message_join', 'chat_id', 'message_date', 'message_id')
    ? { asc: mergedSql(schema, 'asc'), desc: mergedSql(schema, 'desc') }
    : undefined,
);

/** The queue of the recursion holds one row of each chat: what is taken from it brings in the next one of its chat. */
function mergedSql(schema: SchemaInfo, order: Order): string {
  const first = (chat: string, range: string): string =>
    `chat_message_join i ON i.ROWID = (SELECT i.ROWID FROM chat_message_join i WHERE i.chat_id = ${chat} AND ${range}
      ORDER BY i.message_date ${order}, i.message_id ${order} LIMIT 1)`;
  // The sums let SQLite compare date and row id together in the index; with the bare columns it compares only the date.
  const columns = 'i.chat_id, i.message_date, i.message_id, i.ROWID';
  const behind =
    order === 'asc'
      ? `(i.message_date, i.message_id) > (j.message_date + 0, j.message_id + 0) AND i.message_date <= ${INT_PARAM}`
      : `(i.message_date, i.message_id) < (j.message_date + 0, j.message_id + 0) AND i.message_date > ${INT_PARAM}`;
  return `WITH RECURSIVE j (chat_id, message_date, message_id, ROWID) AS (
      SELECT ${columns} FROM json_each(?) c CROSS JOIN ${first('c.value', between(order, 'i.message_date', 'i.message_id'))}
      UNION ALL SELECT ${columns} FROM j CROSS JOIN ${first('j.chat_id', behind)}
      ORDER BY 2 ${order}, 3 ${order})
    SELECT ${KEY_COLUMNS.select({ rowId: 'm.ROWID', date: 'm.date' })} FROM j CROSS JOIN message m ON m.ROWID = j.message_id
    WHERE ${isNoReaction(schema)} AND ${IS_LOWEST_CHAT} LIMIT ${INT_PARAM}`;
}

/**
 * The next positions in the list of several chats: the lists of the chats, merged by date and row id. A cursor means
 * the same in each of them. What the index has in order is one of these lists; a chat with other dates is read only when
 * its newest message is not older than the page.
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
  const sql = mergedSqlOf(snapshot.database.schema)?.[list.order];
  const isInOrder = (chatId: number): boolean => {
    const { hasSeconds, unindexed } = snapshot.dates(chatId);
    return sql !== undefined && !hasSeconds && unindexed === 0;
  };
  const inOrder = chatIds.filter(isInOrder);
  const sources = chatIds
    .filter((chatId) => !isInOrder(chatId))
    .map((chatId) =>
      sourceOf({
        list: { ...list, chatId },
        read: (rest, batch) => listKeyRows(snapshot, rest, batch),
        batch: FIRST_ROWS,
        bound: isAscending ? undefined : newestOf(snapshot, chatId),
      }),
    );
  if (sql !== undefined && inOrder.length > 0) {
    const chats = JSON.stringify(inOrder);
    const read = (rest: List, batch: number): readonly Row[] => {
      const bounds = nanosecondBounds(rest);
      const end = isAscending ? bounds[2] : bounds[0];
      return snapshot.database.all(sql, chats, ...bounds, end ?? null, batch);
    };
    sources.push(sourceOf({ list, read, batch: offset + limit, bound: undefined }));
  }
  const merged: Keyset[] = [];
  while (merged.length < offset + limit) {
    let best: Source | undefined;
    let first: Keyset | undefined;
    for (const source of sources) {
      const key = source.bound ?? peek(source);
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

function sourceOf(parts: Pick<Source, 'list' | 'read' | 'batch' | 'bound'>): Source {
  return { ...parts, rows: [], next: 0, isRead: false };
}

function peek(source: Source): Keyset | undefined {
  if (source.next === source.rows.length && !source.isRead) {
    const rows = source.read(source.list, source.batch);
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
