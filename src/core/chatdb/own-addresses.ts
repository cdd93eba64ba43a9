import { MAX_ADDRESS, normalAddress } from '../model/address.ts';
import type { ChatDbHandle } from './chatdb-handle.ts';
import { INT_PARAM, toText } from './columns.ts';
import { perSchema } from './schema-info.ts';

/** Number of newest message rows that are searched for the owner's addresses. */
export const RECENT_ROWS = 1000;

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

/** The owner's addresses in a database. */
export interface OwnAddresses {
  /** As chat.db stores them. */
  readonly stored: ReadonlySet<string>;
  readonly inNormalForm: ReadonlySet<string>;
}

/** The addresses found so far in a database, and the newest row that was searched. */
interface Known {
  upTo: number;
  readonly stored: Set<string>;
  readonly inNormalForm: Set<string>;
}

const known = new WeakMap<ChatDbHandle, Known>();

/** Returns an address of the owner without the prefix of an account, such as `E:me@example.org` or `P:+15550100`. */
export function accountAddress(stored: string): string {
  return stored.replace(/^[EP]:/i, '');
}

/** Returns the owner's addresses. Searches only the rows that were added since the last call. */
export function ownAddressesIn(database: ChatDbHandle): OwnAddresses {
  const { messages, chats } = addressQueriesOf(database.schema);
  const found = known.get(database) ?? { upTo: 0, stored: new Set(), inNormalForm: new Set() };
  const rows = messages.flatMap((sql) => database.all(sql, found.upTo));
  for (const [stored] of [...rows, ...(chats === null ? [] : database.all(chats))]) {
    const address = accountAddress(toText(stored));
    if (address === '' || address.length > MAX_ADDRESS || found.stored.has(address)) continue;
    found.stored.add(address);
    found.inNormalForm.add(normalAddress(address));
  }
  found.upTo = Number(database.get('SELECT max(ROWID) FROM message')?.[0] ?? 0);
  known.set(database, found);
  return found;
}
