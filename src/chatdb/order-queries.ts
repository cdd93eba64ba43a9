import { CHAT_DATE_COLUMNS, INT_PARAM, instantSql, JOIN_COLUMNS } from './columns.ts';
import { MAX_INTEGER, MAX_SECONDS } from './instants.ts';
import { hasDatedJoins, IS_LOWEST_CHAT, isCounted } from './queries.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';

/** So many of the newest messages are looked at for dates that were raised. */
const NEWEST = 100;

/** The SQL about the order of conversations, for one schema. */
export interface OrderQueries {
  /** Whether an order can be kept: the joins' dates and row ids must tell what is new. */
  readonly isKept: boolean;
  /** `CHAT_DATE_COLUMNS` of all chats. */
  readonly latest: string;
  /** Chats where that date bounds nothing: NULL, 0, seconds. */
  readonly odd: string | undefined;
  readonly countChats: string;
  readonly countRows: string;
  readonly highestChat: string;
  readonly chatsAfter: string;
  /** `JOIN_COLUMNS`. Parameters: after, limit. */
  readonly joinsAfter: string;
  readonly newestJoin: string;
  readonly newest: string;
  /** Chat and message of a join. */
  readonly join: string;
  /** The date of a row, if it counts in the chat. Parameters: chat, row id. */
  readonly stillCounts: string;
}

export const orderQueriesOf = perSchema((schema): OrderQueries => {
  const isKept =
    hasDatedJoins(schema) &&
    schema.hasIndex('chat_message_join', 'chat_id', 'message_date') &&
    schema.hasIndex('message', 'date');
  const joins = JOIN_COLUMNS.select({
    rowId: 'j.ROWID',
    chat: 'j.chat_id',
    message: 'j.message_id',
    joinDate: hasDatedJoins(schema) ? 'j.message_date' : 'NULL',
    messageDate: 'm.date',
  });
  return {
    isKept,
    latest: isKept ? LATEST : exactDates(schema),
    odd: isKept ? oddChats(schema) : undefined,
    countChats: 'SELECT count(*) FROM chat',
    countRows: 'SELECT max(ROWID) FROM message',
    highestChat: 'SELECT max(ROWID) FROM chat',
    chatsAfter: `SELECT ROWID FROM chat WHERE ROWID > ${INT_PARAM} ORDER BY ROWID`,
    joinsAfter: `SELECT ${joins} FROM chat_message_join j LEFT JOIN message m ON m.ROWID = j.message_id
      WHERE j.ROWID > ${INT_PARAM} ORDER BY j.ROWID LIMIT ${INT_PARAM}`,
    newestJoin: `SELECT ${joins} FROM chat_message_join j LEFT JOIN message m ON m.ROWID = j.message_id
      ORDER BY j.ROWID DESC LIMIT 1`,
    newest: `SELECT ${joins} FROM (SELECT ROWID, date FROM message ORDER BY date DESC LIMIT ${NEWEST}) m
      CROSS JOIN chat_message_join j ON j.message_id = m.ROWID`,
    join: 'SELECT chat_id, message_id FROM chat_message_join WHERE ROWID = ?',
    stillCounts: `SELECT m.date, m.date / 1000000000, m.date % 1000000000
      FROM chat_message_join j CROSS JOIN message m ON m.ROWID = j.message_id
      WHERE j.chat_id = ${INT_PARAM} AND j.message_id = ${INT_PARAM} AND ${isCounted(schema)} AND ${IS_LOWEST_CHAT}`,
  };
});

const NEWEST_JOIN = '(SELECT max(j.message_date) FROM chat_message_join j WHERE j.chat_id = c.ROWID)';
const OLDEST_JOIN = `(SELECT j.message_date FROM chat_message_join j WHERE j.chat_id = c.ROWID
  ORDER BY j.message_date LIMIT 1)`;

/** From the covering index alone. */
const LATEST = `SELECT ${CHAT_DATE_COLUMNS.select({ chat: 'id', hasMessages: 'date IS NOT NULL', date: 'date' })}
  FROM (SELECT c.ROWID AS id, ${NEWEST_JOIN} AS date FROM chat c LIMIT -1)`;

function oddChats(schema: SchemaInfo): string {
  const isOdd = (date: string): string => `${date} IS NULL OR ${date} <= ${MAX_SECONDS} OR ${date} > ${MAX_INTEGER}`;
  // Only macOS 26 has an index that answers for all chats at once: mostly that there are none.
  const isAny = schema.hasIndex('chat_message_join', 'message_date')
    ? `EXISTS (SELECT 1 FROM chat_message_join WHERE ${isOdd('message_date')}) AND`
    : '';
  return `SELECT c.ROWID FROM chat c
    WHERE ${isAny} NOT ifnull(${OLDEST_JOIN} > ${MAX_SECONDS} AND ${NEWEST_JOIN} <= ${MAX_INTEGER}, 0)
    AND EXISTS (SELECT 1 FROM chat_message_join j WHERE j.chat_id = c.ROWID)`;
}

/** One pass over everything: for databases without that index. SQLite takes bare columns from the row of the max(). */
function exactDates(schema: SchemaInfo): string {
  const columns = CHAT_DATE_COLUMNS.select({ chat: 'c.ROWID', hasMessages: 'count(l.id)', date: 'l.date' });
  return `SELECT ${columns}, max(${instantSql('l.date')})
    FROM chat c LEFT JOIN (SELECT j.chat_id, m.ROWID AS id, m.date FROM chat_message_join j
      JOIN message m ON m.ROWID = j.message_id WHERE ${isCounted(schema)} AND ${IS_LOWEST_CHAT}) l ON l.chat_id = c.ROWID
    GROUP BY c.ROWID`;
}
