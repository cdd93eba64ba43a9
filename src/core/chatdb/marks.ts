import type { Marks } from '../model/narrowing.ts';
import type { Chat } from './chat.ts';
import type { ChatDbHandle } from './chatdb-handle.ts';
import { INT_PARAM } from './columns.ts';
import type { Connection } from './connection.ts';
import { newestCountedItem } from './message-list.ts';
import { entryFlags } from './queries.ts';
import { anyChat } from './row-chat.ts';
import { flagsSql, isSet } from './row-flags.ts';
import { isMessage, lacksHandle } from './row-kinds.ts';
import { perSchema } from './schema-info.ts';
import type { Snapshot } from './snapshot.ts';

/** Selects row id, chat and flags of several rows. Parameter: a JSON array of row ids. */
const markedSql = perSchema(
  (schema) => `SELECT m.ROWID, ${anyChat(schema)}, ${flagsSql(entryFlags(schema))}
    FROM json_each(?) i CROSS JOIN message m ON m.ROWID = i.value`,
);

/**
 * SQL for the highest join of a chat whose row is final, and whether the owner wrote one of the rows. Parameters: row
 * id of the chat, and the join up to which the rows are known.
 */
const writtenSql = perSchema((schema) => {
  const isSystem = schema.hasColumn('message', 'item_type') ? 'ifnull(m.item_type, 0) <> 0' : '0';
  return `SELECT max(CASE WHEN NOT (${lacksHandle(schema)}) THEN j.ROWID END),
      max(m.is_from_me AND ${isMessage(schema)} AND NOT (${isSystem}))
    FROM chat_message_join j CROSS JOIN message m ON m.ROWID = j.message_id
    WHERE j.chat_id = ${INT_PARAM} AND j.ROWID > ${INT_PARAM}`;
});

/** Returns the marks of a row of chat.db, from its flags and its chat; undefined if it has none. */
export function marksOf(snapshot: Snapshot, flags: number, chat: Chat | undefined): Marks | undefined {
  const isJunk = isSet(flags, 'isJunk');
  const isHidden = isSet(flags, 'isHidden');
  const isFiltered = chat?.isFiltered === true && !hasWritten(snapshot, chat);
  const otherIds = chat === undefined || chat.otherIds.length === 0 ? undefined : chat.otherIds;
  if (!isJunk && !isHidden && !isFiltered && otherIds === undefined) return undefined;
  return {
    ...(isJunk && { isJunk }),
    ...(isHidden && { isHidden }),
    ...(isFiltered && { isFiltered }),
    ...(otherIds && { otherIds }),
  };
}

/** Returns the marks of those of the rows that have any. Key: the row id as text. Throws `chat_db_unavailable`. */
export function messageMarks(connection: Connection, ids: readonly string[]): ReadonlyMap<string, Marks> {
  return connection.read((snapshot) => marksOfRows(snapshot, ids));
}

function marksOfRows(snapshot: Snapshot, ids: readonly string[]): ReadonlyMap<string, Marks> {
  const { database } = snapshot;
  const rows = ids.length === 0 ? [] : database.all(markedSql(database.schema), JSON.stringify(ids.map(Number)));
  return new Map(
    rows.flatMap(([rowId, chat, flags]) => {
      const marks = marksOf(snapshot, Number(flags), typeof chat === 'number' ? snapshot.chat(chat) : undefined);
      return marks === undefined ? [] : [[String(rowId), marks] as const];
    }),
  );
}

/**
 * Returns the marks of those of the conversations that have any (decision AB4). A conversation is filtered if Messages
 * hides it, or if its newest message was filed as junk; never if the owner has written in it.
 */
export function conversationMarks(connection: Connection, ids: readonly string[]): ReadonlyMap<string, Marks> {
  return connection.read((snapshot) => {
    const chats = ids.flatMap((id) => snapshot.chatsNamed(id));
    const filtered = chats.filter((chat) => isJunkChat(snapshot, chat) && !hasWritten(snapshot, chat));
    return new Map(filtered.map(({ guid }) => [guid, { isFiltered: true }]));
  });
}

function isJunkChat(snapshot: Snapshot, chat: Chat): boolean {
  const { isFiltered } = chat;
  if (isFiltered || !snapshot.database.schema.hasColumn('message', 'filter_action')) return isFiltered;
  const newest = newestCountedItem(snapshot, chat)?.rowId;
  return newest !== undefined && marksOfRows(snapshot, [String(newest)]).get(String(newest))?.isJunk === true;
}

/** A memory of a chat: if the owner wrote one of its rows up to a join. */
interface Written {
  readonly upTo: number;
  readonly byOwner: boolean;
}

const written = new WeakMap<ChatDbHandle, Map<number, Written>>();

/** Reports whether the owner has written in a chat. Reads only the rows that were added since the last call. */
function hasWritten({ database }: Snapshot, { rowIds }: Chat): boolean {
  return rowIds.some((chatId) => hasWrittenIn(database, chatId));
}

function hasWrittenIn(database: ChatDbHandle, chatId: number): boolean {
  const known = written.get(database) ?? new Map<number, Written>();
  written.set(database, known);
  const { upTo, byOwner } = known.get(chatId) ?? { upTo: 0, byOwner: false };
  if (byOwner) return true;
  const [join, isOwn] = database.get(writtenSql(database.schema), chatId, upTo) ?? [];
  known.set(chatId, { upTo: Math.max(upTo, Number(join ?? 0)), byOwner: isOwn === 1 });
  return isOwn === 1;
}
