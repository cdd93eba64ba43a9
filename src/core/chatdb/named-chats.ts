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
 * SQL that selects each chat's guid, whether it is a group, its name, and the address of a member: one row per member, or
 * one without any.
 */
const sqlOf = perSchema((schema) => {
  const name = schema.hasColumn('chat', 'display_name') ? 'c.display_name' : 'NULL';
  const [address, members] = schema.hasTable('chat_handle_join')
    ? ['h.id', 'LEFT JOIN chat_handle_join j ON j.chat_id = c.ROWID LEFT JOIN handle h ON h.ROWID = j.handle_id']
    : ['NULL', ''];
  const sql = (where: string): string =>
    `SELECT c.guid, ${isGroupSql(schema)}, ${name}, ${address} FROM chat c ${members} ${where} ORDER BY c.ROWID`;
  return { all: sql(''), oneToOne: sql(`WHERE NOT ${isGroupSql(schema)}`) };
});

/** Reads the names and participants of all conversations, or of those with one person, with one query. */
export function namedChatsIn(snapshot: Snapshot, which: 'all' | 'oneToOne' = 'all'): readonly NamedChat[] {
  const { database } = snapshot;
  const found = new Map<
    string,
    { readonly isOneToOne: boolean; readonly name: string; readonly members: Set<string> }
  >();
  for (const [guid, group, name, address] of database.all(sqlOf(database.schema)[which])) {
    const id = toText(guid);
    const isOneToOne = group === 0;
    const chat = found.get(id) ?? { isOneToOne, name: isOneToOne ? '' : toText(name), members: new Set<string>() };
    found.set(id, chat);
    const member = toText(address);
    if (member !== '') chat.members.add(member);
  }
  return [...found].map(([id, { isOneToOne, name, members }]) => {
    const all = [...members];
    return { id, name, participants: isOneToOne ? snapshot.withoutOwner(all) : all };
  });
}
