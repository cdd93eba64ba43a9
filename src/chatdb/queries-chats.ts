import { N, T } from './bound.ts';
import { LARGEST_INTEGER } from './instants.ts';
import { counts, hasOddDates, IS_LOWEST_CHAT, instantSql, pageQuery } from './queries.ts';
import type { Shape } from './shape.ts';
import { SPELLINGS } from './spellings.ts';

/** Every SQL text about chats and handles, for one shape of database. */
export interface ChatQueries {
  /** guid, display name, style, last addressed handle, service. Parameters: row id. */
  readonly chat: string;
  /** Row ids of the chats with one of these guids. Parameters: the spellings of an id. */
  readonly rowIds: string;
  readonly participants: string;
  readonly handle: string;
  /** Chats with the date of their newest row: row id, date (value, quotient, remainder), whether there is one. Parameters: limit. */
  readonly heads: string;
  /** The same of all chats, by row id. Parameters: after, limit. */
  readonly headsAfter: string;
  /** False when that is only the join's date: nothing is newer, but it may not count (B12), or be odd. */
  readonly areHeadsExact: boolean;
  /** Chats whose joins have dates that bound nothing: NULL, 0, seconds. */
  readonly oddChats: string;
  /** The newest row that counts for `last_message_at` (B12), as a page of keys. */
  readonly last: string;
}

export function chatQueries(shape: Shape): ChatQueries {
  const of = (name: string): string => (shape.hasColumn('chat', name) ? `c.${name}` : 'NULL');
  const isCounted = counts(shape);
  const date = 'm.date, m.date / 1000000000, m.date % 1000000000';
  const isFast = shape.hasIndex('chat_message_join', 'chat_id', 'message_date');
  return {
    chat: `SELECT c.guid, ${['display_name', 'style', 'last_addressed_handle', 'service_name'].map(of).join(', ')}
      FROM chat c WHERE c.ROWID = ?`,
    rowIds: `SELECT ROWID FROM chat WHERE guid IN (${Array(SPELLINGS).fill(T).join(', ')})`,
    participants: shape.hasTable('chat_handle_join')
      ? `SELECT h.id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id
         WHERE j.chat_id = ${N} ORDER BY j.ROWID`
      : 'SELECT NULL WHERE ? IS NULL',
    handle: 'SELECT id FROM handle WHERE ROWID = ?',
    heads: isFast ? boundingHeads(`ORDER BY date DESC, id DESC LIMIT ${N}`) : exactHeads(isCounted),
    headsAfter: boundingHeads(`WHERE c.ROWID > ${N} ORDER BY c.ROWID LIMIT ${N}`),
    areHeadsExact: !isFast,
    oddChats: oddChats(shape),
    last: pageQuery(shape, 'chat', 'desc', `m.ROWID, ${date}`, isCounted),
  };
}

/**
 * From the covering index alone, and only as many as asked for: turning a row into JavaScript costs as much as
 * finding it.
 */
function boundingHeads(which: string): string {
  return `WITH heads AS MATERIALIZED (
      SELECT c.ROWID AS id, ${NEWEST_JOIN} AS date FROM chat c ${which})
    SELECT id, date, date / 1000000000, date % 1000000000, date IS NOT NULL FROM heads`;
}

const NEWEST_JOIN = '(SELECT max(j.message_date) FROM chat_message_join j WHERE j.chat_id = c.ROWID)';
const OLDEST_JOIN = `(SELECT j.message_date FROM chat_message_join j WHERE j.chat_id = c.ROWID
  ORDER BY j.message_date LIMIT 1)`;

function oddChats(shape: Shape): string {
  // Only macOS 26 has an index that answers for all chats at once: mostly that there are none.
  const isAny = shape.hasIndex('chat_message_join', 'message_date')
    ? `(${hasOddDates('chat_message_join', 'message_date')}) AND`
    : '';
  return `SELECT c.ROWID FROM chat c
    WHERE ${isAny} NOT ifnull(${OLDEST_JOIN} > 10000000000 AND ${NEWEST_JOIN} <= ${LARGEST_INTEGER}, 0)
    AND EXISTS (SELECT 1 FROM chat_message_join j WHERE j.chat_id = c.ROWID)`;
}

/** One pass over everything: for databases without that index. SQLite takes bare columns from the row of the max(). */
function exactHeads(isCounted: string): string {
  return `SELECT c.ROWID, l.date, l.date / 1000000000, l.date % 1000000000, count(l.id), max(${instantSql('l.date')})
    FROM chat c LEFT JOIN (SELECT j.chat_id, m.ROWID AS id, m.date FROM chat_message_join j
      JOIN message m ON m.ROWID = j.message_id WHERE ${isCounted} AND ${IS_LOWEST_CHAT}) l ON l.chat_id = c.ROWID
    GROUP BY c.ROWID LIMIT ${N}`;
}
