import { perSchema, type SchemaInfo } from './schema-info.ts';

/** More than any row id of a chat. */
const CHATS = 1_000_000_000_000;
/** Number of a row's joins among which its chat is chosen. Each chat of the row does so: in two or three, as seen. */
const COMPARED = 16;

/** SQL that ranks the chat `c` among the chats of the row `m` by decision AB1, 0 first. `r` is the join of both. */
const rankOf = perSchema((schema) => {
  const isGroup = schema.hasColumn('chat', 'style') ? 'c.style = 43' : "instr(c.guid, ';+;') > 0";
  const hasRooms = schema.hasColumn('message', 'cache_roomnames') && schema.hasColumn('chat', 'chat_identifier');
  const hasSender = `NOT ifnull(m.is_from_me, 0) AND EXISTS (SELECT 1 FROM chat_handle_join p
    JOIN handle h ON h.ROWID = p.handle_id
    WHERE p.chat_id = r.chat_id AND h.id = (SELECT s.id FROM handle s WHERE s.ROWID = m.handle_id))`;
  const ranks = [
    ...(hasRooms ? ['WHEN c.chat_identifier = m.cache_roomnames THEN 0'] : []),
    ...(schema.hasTable('chat_handle_join') ? [`WHEN ${hasSender} THEN 2 - ifnull(${isGroup}, 0)`] : []),
    // Only a group can have words of somebody who is none of its members any more.
    `WHEN NOT ifnull(m.is_from_me, 0) AND m.handle_id <> 0 AND ${isGroup} THEN 3`,
  ];
  return `CASE ${ranks.join(' ')} ELSE 4 END`;
});

/**
 * SQL for the row id of the chat of the row `m`. Chooses among several chats: the one that the row names, else for an
 * incoming row one with its sender and preferably a group, else any group, else the lowest (decision AB1).
 */
export function chatIn(schema: SchemaInfo, table = 'chat_message_join'): string {
  return `(SELECT CASE WHEN min(r.chat_id) = max(r.chat_id) THEN min(r.chat_id) ELSE ${bestChat(schema, table)} END
    FROM ${table} r WHERE r.message_id = m.ROWID)`;
}

/**
 * SQL that is true if the join `j` connects the row `m` to the chat that `chatIn` selects. The comparison of row ids
 * excludes `j` itself without reading a row, because the index by message contains the row ids.
 */
export function isInChat(schema: SchemaInfo): string {
  return `(NOT EXISTS (SELECT 1 FROM chat_message_join x WHERE x.message_id = j.message_id AND x.ROWID <> j.ROWID)
    OR j.chat_id = ${bestChat(schema, 'chat_message_join')})`;
}

/** SQL for the row id of the chat of the row `m`, as `anyChat`, unless the user deleted the message. */
export function listedChat(schema: SchemaInfo): string {
  return firstOf([chatIn(schema), ...namedGroup(schema)]);
}

/**
 * SQL for the row id of the chat of the row `m`, even if the user deleted that message, or if Messages did not join the
 * row to the group that it names: it joins a group's new picture never, and some messages late.
 */
export function anyChat(schema: SchemaInfo): string {
  const hasDeleted = schema.hasTable('chat_recoverable_message_join');
  const deleted = hasDeleted ? [chatIn(schema, 'chat_recoverable_message_join')] : [];
  return firstOf([chatIn(schema), ...deleted, ...namedGroup(schema)]);
}

/**
 * SQL for the group that the row `m` names. A row that names none may still be the first of a new group, so its sender
 * says nothing about its chat.
 */
function namedGroup(schema: SchemaInfo): readonly string[] {
  if (!schema.hasColumn('message', 'cache_roomnames') || !schema.hasIndex('chat', 'chat_identifier')) return [];
  return [
    `CASE WHEN m.cache_roomnames <> '' THEN
      (SELECT min(c.ROWID) FROM chat c WHERE c.chat_identifier = m.cache_roomnames) END`,
  ];
}

function firstOf(chats: readonly string[]): string {
  return chats.length === 1 ? chats.join('') : `coalesce(${chats.join(', ')})`;
}

/** SQL that is true for the row `m` of a message, or of a reaction, that Messages has not joined to its chat yet. */
export function lacksJoin(schema: SchemaInfo): string {
  const isEvent = schema.hasColumn('message', 'item_type') ? 'm.item_type <> 0' : '0';
  const tables = ['chat_message_join', 'chat_recoverable_message_join'].filter((table) => schema.hasTable(table));
  const isIn = (table: string): string => `EXISTS (SELECT 1 FROM ${table} r WHERE r.message_id = m.ROWID)`;
  return `NOT (${[isEvent, ...tables.map(isIn)].join(' OR ')})`;
}

/** The rank and the row id are one number, because a minimum needs no sort. */
function bestChat(schema: SchemaInfo, table: string): string {
  return `(SELECT min((${rankOf(schema)}) * ${CHATS} + r.chat_id) % ${CHATS}
    FROM (SELECT chat_id FROM ${table} WHERE message_id = m.ROWID ORDER BY ROWID LIMIT ${COMPARED}) r
    CROSS JOIN chat c ON c.ROWID = r.chat_id)`;
}
