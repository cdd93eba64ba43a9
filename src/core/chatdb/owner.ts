import type { Message } from '../model/message.ts';
import type { OwnerInChatDb, TapbackOn } from '../model/ports/self-chat-ports.ts';
import { DETAIL_COLUMNS, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { currentReactions } from './current-reactions.ts';
import { messageOf } from './message.ts';
import { RECENT_ROWS } from './own-addresses.ts';
import type { Snapshot } from './snapshot.ts';

/** Finds the owner's addresses and tapbacks in chat.db. */
export function chatDbOwner(connection: Connection): OwnerInChatDb {
  return {
    addresses: () => connection.read(({ ownAddresses }) => [...ownAddresses]),
    tapbackOn: (guid) =>
      connection.read((snapshot) => {
        const rowId = snapshot.rowIdOf(guid);
        const message = rowId === undefined ? undefined : messageOf(snapshot, rowId);
        return message && { message, tapback: ownTapback(snapshot, message) };
      }),
  };
}

/** Returns the owner's latest tapback on a message; undefined if there is none, or no index finds reactions. */
function ownTapback(snapshot: Snapshot, message: Message): TapbackOn['tapback'] {
  const tapback = currentReactions(snapshot, message).findLast(
    ({ is_from_me: isOwn, associated_message_type: code }) => isOwn && code >= 2000 && code < 3000,
  );
  if (tapback === undefined) return undefined;
  const details = snapshot.database.get(snapshot.queries.details, Number(tapback.id));
  const isIMessage = toText(details?.[DETAIL_COLUMNS.at.service]) === 'iMessage';
  return { type: tapback.reaction_type, conversationId: tapback.conversation_id, isIMessage };
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
