import { chatIdentity } from '../model/address.ts';
import type { ReaderThread } from '../runtime/reader-thread.ts';
import { toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';
import { type Snapshot, STYLE_GROUP } from './snapshot.ts';

/** A one-to-one conversation. */
export interface OneToOneChat {
  readonly id: string;
  /** The other person's address as stored. Contains several addresses only if chat.db is inconsistent. */
  readonly members: readonly string[];
}

export interface OneToOneChats {
  /** Returns a value that changes with each commit to chat.db. */
  version(): unknown;
  list(): Promise<readonly OneToOneChat[]>;
}

/** SQL that is 1 if the chat `c` is a group, else 0. */
export function isGroupSql(schema: SchemaInfo): string {
  const byGuid = "ifnull(instr(c.guid, ';+;') > 0, 0)";
  return schema.hasColumn('chat', 'style')
    ? `CASE WHEN typeof(c.style) IN ('integer', 'real') THEN c.style = ${STYLE_GROUP} ELSE ${byGuid} END`
    : byGuid;
}

/**
 * SQL that selects the guid of each one-to-one chat and the address of a member, one row per member. A chat without
 * known members has one row with the address NULL.
 */
const queryOf = perSchema((schema) => {
  const [address, members] = schema.hasTable('chat_handle_join')
    ? ['h.id', 'LEFT JOIN chat_handle_join j ON j.chat_id = c.ROWID LEFT JOIN handle h ON h.ROWID = j.handle_id']
    : ['NULL', ''];
  return `SELECT c.guid, ${address} FROM chat c ${members} WHERE NOT ${isGroupSql(schema)} ORDER BY c.ROWID`;
});

/** Reads every one-to-one chat in one pass. */
export function oneToOneChatsIn(snapshot: Snapshot): readonly OneToOneChat[] {
  const { database } = snapshot;
  const members = new Map<string, Set<string>>();
  for (const [guid, address] of database.all(queryOf(database.schema))) {
    const id = toText(guid);
    if (id === '') continue;
    const known = members.get(id) ?? new Set<string>();
    members.set(id, known);
    const member = toText(address);
    if (member !== '') known.add(member);
  }
  return [...members].map(([id, known]) => ({
    id,
    members: known.size > 0 ? snapshot.withoutOwner([...known]) : memberOf(id),
  }));
}

/** Returns the address in the id of a chat; empty if the id contains none. */
function memberOf(id: string): readonly string[] {
  const identity = chatIdentity(id);
  return identity === undefined ? [] : [identity.identifier];
}

interface Lists {
  oneToOneChats(): readonly OneToOneChat[];
}

/** Lists the one-to-one chats. Reads them in the reader thread if there is one, because there may be many. */
export function oneToOneChats(
  connection: Connection,
  thread: ReaderThread<{ readonly lists: Lists }> | undefined,
): OneToOneChats {
  return {
    version: () => connection.snapshot(),
    list: async () => thread?.call('lists', 'oneToOneChats') ?? connection.read(oneToOneChatsIn),
  };
}
