import { LARGEST_INTEGER } from './instants.ts';
import { IS_LOWEST_CHAT, instantSql, N, pageQueries } from './queries.ts';
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
  /**
   * Every chat: row id, date (value, quotient, remainder), and how far that date holds: 0 not at all,
   * 1 nothing in the chat is newer, 2 it is `last_message_at` itself.
   */
  readonly heads: string;
  /** The newest row that counts for `last_message_at` (B12), as the streams of a page. */
  readonly last: Readonly<Record<'indexed' | 'rest', string>>;
}

export function chatQueries(shape: Shape): ChatQueries {
  const of = (name: string): string => (shape.hasColumn('chat', name) ? `c.${name}` : 'NULL');
  const counts = shape.hasColumn('message', 'schedule_type') ? 'ifnull(m.schedule_type, 0) <> 2' : '1';
  const date = 'm.date, m.date / 1000000000, m.date % 1000000000';
  const isFast = shape.hasIndex('chat_message_join', 'chat_id', 'message_date');
  return {
    chat: `SELECT c.guid, ${['display_name', 'style', 'last_addressed_handle', 'service_name'].map(of).join(', ')}
      FROM chat c WHERE c.ROWID = ?`,
    rowIds: `SELECT ROWID FROM chat WHERE guid IN (${Array(SPELLINGS).fill('?').join(', ')})`,
    participants: shape.hasTable('chat_handle_join')
      ? `SELECT h.id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id
         WHERE j.chat_id = ${N} ORDER BY j.ROWID`
      : 'SELECT NULL WHERE ? IS NULL',
    handle: 'SELECT id FROM handle WHERE ROWID = ?',
    heads: isFast ? boundingHeads() : exactHeads(counts),
    last: pageQueries(shape, 'chat', 'desc', `m.ROWID, ${date}`, counts),
  };
}

/**
 * Both ends of each chat's dates, from the covering index alone. The newest one bounds `last_message_at` from
 * above: what counts less (Send Later, a row that belongs to another chat) is taken off when a page needs it.
 */
function boundingHeads(): string {
  return `WITH heads AS MATERIALIZED (SELECT c.ROWID AS id,
      (SELECT max(j.message_date) FROM chat_message_join j WHERE j.chat_id = c.ROWID) AS newest,
      (SELECT j.message_date FROM chat_message_join j WHERE j.chat_id = c.ROWID ORDER BY j.message_date LIMIT 1) AS oldest
      FROM chat c)
    SELECT id, newest, newest / 1000000000, newest % 1000000000, ifnull(oldest > 10000000000 AND newest <= ${LARGEST_INTEGER}, 0)
    FROM heads`;
}

/** One pass over everything: for databases without that index. SQLite takes bare columns from the row of the max(). */
function exactHeads(counts: string): string {
  return `SELECT c.ROWID, l.date, l.date / 1000000000, l.date % 1000000000, CASE WHEN l.id IS NULL THEN 0 ELSE 2 END, max(${instantSql('l.date')})
    FROM chat c LEFT JOIN (SELECT j.chat_id, m.ROWID AS id, m.date FROM chat_message_join j
      JOIN message m ON m.ROWID = j.message_id WHERE ${counts} AND ${IS_LOWEST_CHAT}) l ON l.chat_id = c.ROWID
    GROUP BY c.ROWID`;
}
