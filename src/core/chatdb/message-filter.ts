import type { FilterAction, MessageDetails } from '../model/details.ts';
import type { Message } from '../model/message.ts';
import type { Row } from '../runtime/sqlite.ts';
import { perSchema } from './chatdb-handle.ts';
import { DETAIL_COLUMNS } from './columns.ts';
import type { Connection } from './connection.ts';
import { isJunk } from './row-kinds.ts';

/**
 * The actions that `filter_action` stores as numbers. The index is the number; 0 means that macOS did not file the row.
 * The numbers are from imessage-exporter, pull request 797, and have not been seen on a Mac.
 */
const ACTIONS: readonly (FilterAction | undefined)[] = [undefined, 'allowed', 'junk', 'promotion', 'transaction'];

/**
 * Returns `filter`, which shows how macOS filed a row. Returns {} if the row is not filed, and on macOS before 27,
 * where the columns do not exist.
 */
export function filingOf(row: Row): Pick<MessageDetails, 'filter'> {
  const { at } = DETAIL_COLUMNS;
  const code = Number(row[at.filterAction] ?? 0);
  if (!Number.isSafeInteger(code) || code === 0) return {};
  const subCode = Number(row[at.filterSubAction] ?? Number.NaN);
  return {
    filter: { action: ACTIONS[code] ?? 'other', code, sub_code: Number.isSafeInteger(subCode) ? subCode : null },
  };
}

/** SQL for the rows that macOS filed as junk; undefined before macOS 27. Parameter: a JSON array of row ids. */
const junkSql = perSchema((schema) =>
  schema.hasColumn('message', 'filter_action')
    ? `SELECT m.ROWID FROM json_each(?) i CROSS JOIN message m ON m.ROWID = i.value WHERE ${isJunk(schema)}`
    : undefined,
);

/** Returns the ids of the given messages that macOS filed as junk (decision V5). Throws `chat_db_unavailable`. */
export function junkAmong(connection: Connection, messages: readonly Pick<Message, 'id'>[]): ReadonlySet<string> {
  return connection.read(({ database }) => {
    const sql = junkSql(database.schema);
    if (sql === undefined || messages.length === 0) return new Set();
    const rows = database.all(sql, JSON.stringify(messages.map(({ id }) => Number(id))));
    return new Set(rows.map(([rowId]) => String(rowId)));
  });
}
