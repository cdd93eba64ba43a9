import type { ChatDbHandle } from './chatdb-handle.ts';
import { APPLE_EPOCH, columnList, compareInstants, type Instant, instantAt } from './columns.ts';
import { NEWEST_JOIN } from './list-queries.ts';
import { perSchema } from './schema-info.ts';

/** The row ids of the chats that are one group conversation. */
export interface JoinedChats {
  /** All of them, oldest first. The guid of the first is the conversation's id. */
  readonly rowIds: readonly number[];
  /**
   * The chat with the newest message, to which sends go. Its date decides, because iCloud adds old messages under new
   * row ids.
   */
  readonly newest: number;
}

const JOINED_COLUMNS = columnList({ identifier: 'value', chat: 'value', newest: 'date' });

/**
 * SQL for `JOINED_COLUMNS` of each group that shares an identifier with another chat: `newest` is the date of its
 * newest message. Undefined before macOS 26, which has no `chat_lookup`.
 */
export const joinedSqlOf = perSchema((schema) => {
  if (!schema.hasTable('chat_lookup')) return undefined;
  const isGroup = schema.hasColumn('chat', 'style') ? 'c.style = 43' : "instr(c.guid, ';+;') > 0";
  const newest = schema.hasColumn('chat_message_join', 'message_date') ? NEWEST_JOIN : 'NULL';
  return `SELECT ${JOINED_COLUMNS.select({ identifier: 'l.identifier', chat: 'c.ROWID', newest })}
    FROM (SELECT identifier FROM chat_lookup WHERE identifier <> ''
      GROUP BY identifier HAVING min(chat) < max(chat)) shared
    CROSS JOIN chat_lookup l ON l.identifier = shared.identifier CROSS JOIN chat c ON c.ROWID = l.chat
    WHERE ${isGroup} ORDER BY c.ROWID`;
});

/**
 * Returns the groups that Messages shows as one (decision AB7), by the row id of each of their chats. Groups are joined
 * by every identifier that they share, also through a third one. Source: imessage-exporter #581 and #628.
 */
export function joinedChatsIn(database: ChatDbHandle): ReadonlyMap<number, JoinedChats> {
  const sql = joinedSqlOf(database.schema);
  const { at } = JOINED_COLUMNS;
  const dates = new Map<number, Instant>();
  const setOf = new Map<number, Set<number>>();
  const firstOf = new Map<string, number>();
  for (const row of sql === undefined ? [] : database.all(sql)) {
    const identifier = String(row[at.identifier]);
    const rowId = Number(row[at.chat]);
    dates.set(rowId, instantAt(row, at.newest));
    const own = setOf.get(rowId) ?? new Set([rowId]);
    setOf.set(rowId, own);
    const first = firstOf.get(identifier) ?? rowId;
    firstOf.set(identifier, first);
    const other = setOf.get(first) ?? own;
    // Moves the smaller set into the larger one, so that the cost stays close to the number of rows.
    const [small, large] = own.size < other.size ? [own, other] : [other, own];
    if (small !== large) {
      for (const one of small) {
        large.add(one);
        setOf.set(one, large);
      }
    }
  }
  return found(setOf, dates);
}

function found(
  setOf: ReadonlyMap<number, ReadonlySet<number>>,
  dates: ReadonlyMap<number, Instant>,
): ReadonlyMap<number, JoinedChats> {
  const joined = new Map<number, JoinedChats>();
  for (const set of new Set(setOf.values())) {
    if (set.size < 2) continue;
    const rowIds = [...set].sort((one, other) => one - other);
    const dateOf = (rowId: number): Instant => dates.get(rowId) ?? APPLE_EPOCH;
    const newest = rowIds.reduce((best, one) => (compareInstants(dateOf(one), dateOf(best)) >= 0 ? one : best));
    for (const rowId of rowIds) joined.set(rowId, { rowIds, newest });
  }
  return joined;
}
