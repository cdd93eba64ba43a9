import type { Message } from '../model/message.ts';
import type { OwnerInChatDb, TapbackOn } from '../model/ports/self-chat-ports.ts';
import { type ChatDbHandle, perSchema } from './chatdb-handle.ts';
import { DETAIL_COLUMNS, ENTRY_COLUMNS, INT_PARAM, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { messageOf, toReaction } from './message.ts';
import { reactionTargets } from './queries.ts';
import type { Snapshot } from './snapshot.ts';

/** Number of newest message rows that are searched for the owner's addresses. */
const RECENT_ROWS = 1000;

/**
 * The queries for the owner's addresses, one for each column of `message` that can contain them (parameter: the row id
 * up to which rows are known), and one for the chats.
 */
const addressQueriesOf = perSchema((schema) => ({
  messages: ['destination_caller_id', 'account']
    .filter((name) => schema.hasColumn('message', name))
    .map(
      (name) => `SELECT DISTINCT ${name} FROM message
        WHERE ROWID > max(${INT_PARAM}, (SELECT max(ROWID) FROM message) - ${RECENT_ROWS})`,
    ),
  chats: schema.hasColumn('chat', 'last_addressed_handle') ? 'SELECT DISTINCT last_addressed_handle FROM chat' : null,
}));

/** The owner's addresses in a database, and the newest row that was searched for them. */
interface Known {
  upTo: number;
  readonly addresses: Set<string>;
}

const known = new WeakMap<ChatDbHandle, Known>();
const current = new WeakMap<Snapshot, ReadonlySet<string>>();

/** Returns an address of the owner without the prefix of an account, such as `E:me@example.org` or `P:+15550100`. */
export function accountAddress(stored: string): string {
  return stored.replace(/^[EP]:/i, '');
}

/** Returns the owner's addresses as stored. Searches only the rows that were added since the last call. */
export function addressesOf(snapshot: Snapshot): ReadonlySet<string> {
  const found = current.get(snapshot);
  if (found !== undefined) return found;
  const { database } = snapshot;
  const { messages, chats } = addressQueriesOf(database.schema);
  const cache = known.get(database) ?? { upTo: 0, addresses: new Set() };
  const rows = messages.flatMap((sql) => database.all(sql, cache.upTo));
  for (const [stored] of [...rows, ...(chats === null ? [] : database.all(chats))]) {
    const address = accountAddress(toText(stored));
    if (address !== '') cache.addresses.add(address);
  }
  cache.upTo = Number(database.get(snapshot.queries.highestRowId)?.[0] ?? 0);
  known.set(database, cache);
  current.set(snapshot, cache.addresses);
  return cache.addresses;
}

/** Finds the owner's addresses and tapbacks in chat.db. */
export function chatDbOwner(connection: Connection): OwnerInChatDb {
  return {
    addresses: () => connection.read((snapshot) => [...addressesOf(snapshot)]),
    tapbackOn: (guid) =>
      connection.read((snapshot) => {
        const rowId = snapshot.rowIdOf(guid);
        const message = rowId === undefined ? undefined : messageOf(snapshot, rowId);
        return message && { message, tapback: ownTapback(snapshot, message) };
      }),
  };
}

/** Returns the owner's current tapback on a message; undefined if there is none, or no index finds reactions. */
function ownTapback(snapshot: Snapshot, { guid }: Message): TapbackOn['tapback'] {
  const { database, queries } = snapshot;
  if (queries.reactions === undefined) return undefined;
  let standing: { readonly code: number; readonly tapback: TapbackOn['tapback'] } | undefined;
  for (const row of database.all(queries.reactions, ...reactionTargets(guid))) {
    const {
      is_from_me: isOwn,
      associated_message_type: code,
      reaction_type: type,
      ...reaction
    } = toReaction(row, snapshot);
    if (!isOwn || code < 2000 || code >= 4000) continue;
    if (code >= 3000) {
      // A removal names the tapback to remove. It has no effect if a newer tapback has already replaced that tapback.
      if (standing?.code === code - 1000) standing = undefined;
      continue;
    }
    const details = database.get(queries.details, row[ENTRY_COLUMNS.at.rowId] as number);
    const isIMessage = toText(details?.[DETAIL_COLUMNS.at.service]) === 'iMessage';
    standing = { code, tapback: { type, conversationId: reaction.conversation_id, isIMessage } };
  }
  return standing?.tapback;
}

const COMPLETE = /^(?:P:)?(\+\d{7,15})$/;

/**
 * Returns a telephone number of the owner. Searches the addresses from which recent messages were sent or at which they
 * arrived, newest first, and then `last_addressed_handle` of the chats. Returns undefined if none is found, or while
 * chat.db is unreadable.
 */
export function ownNumber(connection: Connection): string | undefined {
  try {
    return connection.read(({ database }) => {
      const { schema } = database;
      const sources = ['destination_caller_id', 'account'].filter((name) => schema.hasColumn('message', name));
      const recent = `FROM message WHERE ROWID > (SELECT max(ROWID) FROM message) - ${RECENT_ROWS}`;
      const queries = sources.map(
        (name) => `SELECT ${name} ${recent} AND ${name} LIKE '%+%' GROUP BY ${name} ORDER BY max(ROWID) DESC LIMIT 10`,
      );
      if (schema.hasColumn('chat', 'last_addressed_handle')) {
        queries.push("SELECT last_addressed_handle FROM chat WHERE last_addressed_handle LIKE '+%' LIMIT 10");
      }
      for (const sql of queries) {
        for (const [address] of database.all(sql)) {
          const number = COMPLETE.exec(toText(address))?.[1];
          if (number !== undefined) return number;
        }
      }
      return undefined;
    });
  } catch {
    return undefined; // health says why
  }
}
