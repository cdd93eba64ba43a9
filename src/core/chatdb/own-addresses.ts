import { type ChatDbHandle, perSchema } from './chatdb-handle.ts';
import { toText } from './columns.ts';

/** Number of newest message rows that are searched for the owner's addresses. */
export const RECENT_ROWS = 1000;

/** The queries for the owner's addresses, one for each column of `message` and `chat` that can contain them. */
const addressQueriesOf = perSchema((schema) => [
  ...['destination_caller_id', 'account']
    .filter((name) => schema.hasColumn('message', name))
    .map(
      (name) => `SELECT DISTINCT ${name} FROM message WHERE ROWID > (SELECT max(ROWID) FROM message) - ${RECENT_ROWS}`,
    ),
  ...(schema.hasColumn('chat', 'last_addressed_handle') ? ['SELECT DISTINCT last_addressed_handle FROM chat'] : []),
]);

/** Returns the owner's addresses, as chat.db stores them. */
export function ownAddressesIn(database: ChatDbHandle): readonly string[] {
  const found = addressQueriesOf(database.schema).flatMap((sql) => database.all(sql));
  // An account looks like `E:me@example.org` or `P:+15550100`.
  const addresses = found.map(([address]) => toText(address).replace(/^[EP]:/, ''));
  return [...new Set(addresses.filter((address) => address !== ''))];
}
