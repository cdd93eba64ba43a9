import type { ChatDbHandle } from './chatdb-handle.ts';
import { perSchema } from './schema-info.ts';

/** The row ids of the chats that are one group conversation. */
export interface JoinedChats {
  /** All of them, oldest first. The guid of the first is the conversation's id. */
  readonly rowIds: readonly number[];
  /** The chat with the latest row, to which sends go. */
  readonly newest: number;
}

/**
 * SQL for each group that shares an identifier with another chat: the identifier, the chat and its latest row.
 * Undefined before macOS 26, which has no `chat_lookup`.
 */
export const joinedSqlOf = perSchema((schema) => {
  if (!schema.hasTable('chat_lookup')) return undefined;
  const isGroup = schema.hasColumn('chat', 'style') ? 'c.style = 43' : "instr(c.guid, ';+;') > 0";
  return `SELECT l.identifier, c.ROWID, (SELECT max(j.message_id) FROM chat_message_join j WHERE j.chat_id = c.ROWID)
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
  const latest = new Map<number, number>();
  const setOf = new Map<number, Set<number>>();
  const firstOf = new Map<string, number>();
  for (const [identifier, chat, row] of sql === undefined ? [] : database.all(sql)) {
    const rowId = Number(chat);
    latest.set(rowId, Number(row ?? 0));
    const own = setOf.get(rowId) ?? new Set([rowId]);
    setOf.set(rowId, own);
    const first = firstOf.get(String(identifier)) ?? rowId;
    firstOf.set(String(identifier), first);
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
  return found(setOf, latest);
}

function found(
  setOf: ReadonlyMap<number, ReadonlySet<number>>,
  latest: ReadonlyMap<number, number>,
): ReadonlyMap<number, JoinedChats> {
  const joined = new Map<number, JoinedChats>();
  for (const set of new Set(setOf.values())) {
    if (set.size < 2) continue;
    const rowIds = [...set].sort((one, other) => one - other);
    const newest = rowIds.reduce((best, one) => ((latest.get(one) ?? 0) >= (latest.get(best) ?? 0) ? one : best));
    for (const rowId of rowIds) joined.set(rowId, { rowIds, newest });
  }
  return joined;
}
