import { toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { accountAddress, RECENT_ROWS } from './own-addresses.ts';

const COMPLETE = /^\+\d{7,15}$/;

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
          const number = accountAddress(toText(address));
          if (COMPLETE.test(number)) return number;
        }
      }
      return undefined;
    });
  } catch {
    return undefined; // health says why
  }
}
