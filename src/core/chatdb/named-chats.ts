import type { NamedChat } from '../model/ports/reading-ports.ts';
import { toText } from './columns.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';
import { type Snapshot, STYLE_GROUP } from './snapshot.ts';

/** SQL that is 1 if the chat `c` is a group, else 0. */
export function isGroupSql(schema: SchemaInfo): string {
  const byGuid = "ifnull(instr(c.guid, ';+;') > 0, 0)";
  return schema.hasColumn('chat', 'style')
    ? `CASE WHEN typeof(c.style) IN ('integer', 'real') THEN c.style = ${STYLE_GROUP} ELSE ${byGuid} END`
    : byGuid;
}

/**
 * SQL that selects each chat's guid, whether it is a group, its name, and the address of a member: one row per member,
 * or one without any.
 */
const queryOf = perSchema((schema) => {
  const name = schema.hasColumn('chat', 'display_name') ? 'c.display_name' : 'NULL';
  const [address, members] = schema.hasTable('chat_handle_join')
    ? ['h.id', 'LEFT JOIN chat_handle_join j ON j.chat_id = c.ROWID LEFT JOIN handle h ON h.ROWID = j.handle_id']
    : ['NULL', ''];
  return `SELECT c.guid, ${isGroupSql(schema)}, ${name}, ${address} FROM chat c ${members} ORDER BY c.ROWID`;
});

/** Reads the names and participants of all conversations with one query. */
export function namedChatsIn(snapshot: Snapshot): readonly NamedChat[] {
  const { database } = snapshot;
  const found = new Map<string, { readonly isGroup: boolean; readonly name: string; readonly members: Set<string> }>();
  for (const [guid, group, name, address] of database.all(queryOf(database.schema))) {
    const id = toText(guid);
    const isGroup = group !== 0;
    const chat = found.get(id) ?? { isGroup, name: isGroup ? toText(name) : '', members: new Set<string>() };
    found.set(id, chat);
    const member = toText(address);
    if (member !== '') chat.members.add(member);
  }
  return [...found].map(([id, { isGroup, name, members }]) => {
    const all = [...members];
    return { id, isGroup, name, participants: isGroup ? all : snapshot.withoutOwner(all) };
  });
}
