import { hasAttachments } from './attachment-sql.ts';
import { textBytes } from './body-sql.ts';
import {
  CHAT_DATE_COLUMNS,
  INT_PARAM,
  instantSql,
  JOIN_COLUMNS,
  KEY_COLUMNS,
  LISTED_COLUMNS,
  MAX_INTEGER,
  MAX_SECONDS,
  MESSAGE_COLUMNS,
} from './columns.ts';
import { isCounted, isListed, isNotHidden, messageParts } from './queries.ts';
import { isInChat, listedChat } from './row-chat.ts';
import { isMessage } from './row-kinds.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';

export type Order = 'asc' | 'desc';

/**
 * The SQL of one list. `indexed` is for a list whose dates are all in nanoseconds, so that the index sorts them by
 * time. `mixed` is for any other list: it merges the parts of the index (nanoseconds, seconds, and everything else) and
 * sorts the rows by exact instant (decision B6).
 */
export interface ListSql {
  readonly indexed: string;
  readonly mixed: string;
}

/** The lists that are built once for each of `MESSAGE_LISTS`. */
interface MessageLists {
  /** `MESSAGE_COLUMNS` of the messages of all chats (`all`) or of one chat (`chat`), in either order. */
  readonly messages: Readonly<Record<'all' | 'chat', Readonly<Record<Order, ListSql>>>>;
  /** `KEY_COLUMNS` of the messages of one chat, in either order. */
  readonly keys: Readonly<Record<Order, ListSql>>;
}

export interface ListQueries {
  /** `LISTED_COLUMNS` of the messages of all chats, newest first. */
  readonly listed: ListSql;
  /** `MESSAGE_COLUMNS` of a chat's messages except scheduled ones, newest first. */
  readonly latest: ListSql;
  /** `KEY_COLUMNS` of those rows in a chat that count for `last_message_at` (decision B12), newest first. */
  readonly counted: ListSql;
  /** `KEY_COLUMNS` of every row joined to the chat, newest first. */
  readonly joined: ListSql;
}

export const listQueriesOf = perSchema((schema): ListQueries => {
  const shown = isShown(schema);
  const columns = columnsOf(schema);
  const listed = (): string => LISTED_COLUMNS.select({ rowId: 'm.ROWID', date: 'm.date', bytes: textBytes(schema) });
  return {
    listed: listSql(allSource(schema, `${shown} AND ${HAS_EXACT_ROW_ID}`), 'desc', listed),
    latest: listSql(chatSource(schema, `${shown} AND ${isCounted(schema)} AND ${isInChat(schema)}`), 'desc', columns),
    counted: listSql(chatSource(schema, `${isCounted(schema)} AND ${isInChat(schema)}`), 'desc', keys),
    joined: listSql(chatSource(schema, '1'), 'desc', keys),
  };
});

/** The lists of messages: those that are not hidden, all, and those with attachments that are not hidden. */
export const MESSAGE_LISTS = {
  shown: perSchema((schema) => messageLists(schema, isShown(schema))),
  withHidden: perSchema((schema) => messageLists(schema, isMessage(schema))),
  withFiles: perSchema((schema) => messageLists(schema, `${isShown(schema)} AND ${hasAttachments(schema)}`)),
};
export type ListedMessages = keyof typeof MESSAGE_LISTS;

function isShown(schema: SchemaInfo): string {
  return `${isMessage(schema)} AND ${isNotHidden(schema)}`;
}

function messageLists(schema: SchemaInfo, condition: string): MessageLists {
  const columns = columnsOf(schema);
  const all = (order: Order): ListSql => listSql(allSource(schema, condition), order, columns);
  const inChat = chatSource(schema, `${condition} AND ${isInChat(schema)}`);
  const chat = (order: Order): ListSql => listSql(inChat, order, columns);
  return {
    messages: { all: { asc: all('asc'), desc: all('desc') }, chat: { asc: chat('asc'), desc: chat('desc') } },
    keys: { asc: listSql(inChat, 'asc', keys), desc: listSql(inChat, 'desc', keys) },
  };
}

function columnsOf(schema: SchemaInfo): (chat: string) => string {
  return (chat) => MESSAGE_COLUMNS.select(messageParts(schema, chat));
}

function keys(): string {
  return KEY_COLUMNS.select({ rowId: 'm.ROWID', date: 'm.date' });
}

/** True if a JavaScript number holds the row id exactly. The `+` keeps SQLite from using the row ids as an index. */
const HAS_EXACT_ROW_ID = `+m.ROWID BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;

/** The tables, conditions and columns from which the SQL of a list is built. */
interface Source {
  readonly from: string;
  /** Builds the WHERE condition. In a list of one chat, its first SQL parameter is the chat's row id. */
  readonly where: (dateRange: string) => string;
  /** The date column. An index sorts the rows by this column, and rows with equal dates by `rowId`. */
  readonly date: string;
  readonly rowId: string;
  /** Row id of the chat in which a row is listed. */
  readonly chat: string;
}

function allSource(schema: SchemaInfo, condition: string): Source {
  return {
    from: `${schema.messagesByIndex} m`,
    where: (dateRange) => `${dateRange} AND ${condition} AND ${isListed(schema)}`,
    date: 'm.date',
    rowId: 'm.ROWID',
    chat: listedChat(schema),
  };
}

function chatSource(schema: SchemaInfo, condition: string): Source {
  return {
    from: 'chat_message_join j CROSS JOIN message m ON m.ROWID = j.message_id',
    where: (dateRange) => `j.chat_id = ${INT_PARAM} AND ${dateRange} AND ${condition}`,
    date: hasDatedJoins(schema) ? 'j.message_date' : 'NULL',
    rowId: 'j.message_id',
    chat: 'j.chat_id',
  };
}

/** Builds the SQL of a list. `readList` supplies its parameters. */
function listSql({ from, where, date, rowId, chat }: Source, order: Order, columns: (chat: string) => string): ListSql {
  const inIndex = where(between(order, date, rowId));
  const byIndex = `ORDER BY ${date} ${order}, ${rowId} ${order}`;
  const key = `SELECT m.ROWID AS id, ${instantSql('m.date')} AS instant, ${chat} AS chat FROM ${from} WHERE`;
  const indexedKeys = `SELECT * FROM (${key} ${inIndex} ${byIndex} LIMIT ${INT_PARAM})`;
  const otherKeys = UNINDEXED.map(
    (which) => `${key} ${where(`${which(date)} AND ${between(order, instantSql('m.date'), 'm.ROWID')}`)}`,
  );
  // UNION, not UNION ALL: if `chat_message_join` has no unique key, a message can be joined to a chat twice, but it
  // must be listed once (decision B4).
  const keys = [indexedKeys, indexedKeys, ...otherKeys].join(' UNION ');
  return {
    indexed: `SELECT ${columns(chat)} FROM ${from} WHERE ${inIndex} ${byIndex} LIMIT ${INT_PARAM} OFFSET ${INT_PARAM}`,
    mixed: `SELECT ${columns('k.chat')}
      FROM (${keys} ORDER BY instant ${order}, id ${order} LIMIT ${INT_PARAM} OFFSET ${INT_PARAM}) k
      CROSS JOIN message m ON m.ROWID = k.id ORDER BY k.instant ${order}, k.id ${order}`,
  };
}

/**
 * SQL for a range between two bounds. The bound at which the list begins compares date and row id; the bound at its end
 * compares only the date. If both compared date and row id, SQLite would not stop reading the index early.
 */
function between(order: Order, date: string, rowId: string): string {
  return order === 'asc'
    ? `(${date}, ${rowId}) > (${INT_PARAM}, ${INT_PARAM}) AND ${date} <= ${INT_PARAM}`
    : `${date} > ${INT_PARAM} AND (${date}, ${rowId}) < (${INT_PARAM}, ${INT_PARAM})`;
}

/** Number of newest messages whose dates are checked again, because Messages may later set a newer date. */
const NEWEST = 100;

/** The SQL for the order of the list of conversations. */
export interface OrderQueries {
  /**
   * True if the order can be updated after a commit instead of being read again. That requires joins whose dates and
   * row ids show which messages are new.
   */
  readonly isKept: boolean;
  /** `CHAT_DATE_COLUMNS` of all chats. */
  readonly latest: string;
  /** Selects chats with joins whose dates may differ from their messages': NULL, ≤ 0, in seconds or beyond int64. */
  readonly odd: string | undefined;
  readonly countChats: string;
  readonly countRows: string;
  readonly highestChat: string;
  readonly chatsAfter: string;
  /** `JOIN_COLUMNS` of the joins after a given one, in ascending order. Parameters: row id of that join, limit. */
  readonly joinsAfter: string;
  readonly newestJoin: string;
  readonly newest: string;
  /** Selects the row ids of a join's chat and message. Parameter: row id of the join. */
  readonly join: string;
  /**
   * The date of a row; no result if the row does not count for `last_message_at` (decision B12). Parameters: row id of
   * the chat, row id of the message.
   */
  readonly stillCounts: string;
}

export const orderQueriesOf = perSchema((schema): OrderQueries => {
  const isKept =
    hasDatedJoins(schema) &&
    schema.hasIndex('chat_message_join', 'chat_id', 'message_date') &&
    schema.hasIndex('message', 'date');
  const joins = (messageDate: string): string =>
    JOIN_COLUMNS.select({
      rowId: 'j.ROWID',
      chat: 'j.chat_id',
      message: 'j.message_id',
      joinDate: hasDatedJoins(schema) ? 'j.message_date' : 'NULL',
      messageDate,
    });
  const ofMessage = '(SELECT m.date FROM message m WHERE m.ROWID = j.message_id)';
  return {
    isKept,
    latest: isKept ? LATEST : exactDates(schema),
    odd: isKept ? oddChats(schema) : undefined,
    countChats: 'SELECT count(*) FROM chat',
    countRows: 'SELECT max(ROWID) FROM message',
    highestChat: 'SELECT max(ROWID) FROM chat',
    chatsAfter: `SELECT ROWID FROM chat WHERE ROWID > ${INT_PARAM} ORDER BY ROWID`,
    joinsAfter: `SELECT ${joins(ofMessage)} FROM chat_message_join j
      WHERE j.ROWID > ${INT_PARAM} ORDER BY j.ROWID LIMIT ${INT_PARAM}`,
    newestJoin: `SELECT ${joins(ofMessage)} FROM chat_message_join j ORDER BY j.ROWID DESC LIMIT 1`,
    newest: `SELECT ${joins('m.date')} FROM (SELECT ROWID, date FROM ${schema.messagesByIndex} ORDER BY date DESC LIMIT ${NEWEST}) m
      CROSS JOIN chat_message_join j ON j.message_id = m.ROWID`,
    join: 'SELECT chat_id, message_id FROM chat_message_join WHERE ROWID = ?',
    stillCounts: `SELECT m.date, m.date / 1000000000, m.date % 1000000000
      FROM chat_message_join j CROSS JOIN message m ON m.ROWID = j.message_id
      WHERE j.chat_id = ${INT_PARAM} AND j.message_id = ${INT_PARAM} AND ${isCounted(schema)} AND ${isInChat(schema)}`,
  };
});

/** SQL for the newest `message_date` of the chat `c`, which is the first in the index. */
export const NEWEST_JOIN = '(SELECT max(j.message_date) FROM chat_message_join j WHERE j.chat_id = c.ROWID)';

const OLDEST_JOIN = `(SELECT j.message_date FROM chat_message_join j WHERE j.chat_id = c.ROWID
  ORDER BY j.message_date LIMIT 1)`;

/** SQL for the newest date of each chat. SQLite answers it from the index on `chat_id` and `message_date` alone. */
const LATEST = `SELECT ${CHAT_DATE_COLUMNS.select({ chat: 'id', hasMessages: 'date IS NOT NULL', date: 'date' })}
  FROM (SELECT c.ROWID AS id, ${NEWEST_JOIN} AS date FROM chat c LIMIT -1)`;

function oddChats(schema: SchemaInfo): string {
  const isOdd = (date: string): string => `${date} IS NULL OR ${date} <= ${MAX_SECONDS} OR ${date} > ${MAX_INTEGER}`;
  // With the index on `message_date` (since macOS 26), SQLite first checks whether any join has an odd date. Usually
  // none has, and the query ends.
  const isAny = schema.hasIndex('chat_message_join', 'message_date')
    ? `EXISTS (SELECT 1 FROM chat_message_join WHERE ${isOdd('message_date')}) AND`
    : '';
  return `SELECT c.ROWID FROM chat c
    WHERE ${isAny} NOT ifnull(${OLDEST_JOIN} > ${MAX_SECONDS} AND ${NEWEST_JOIN} <= ${MAX_INTEGER}, 0)
    AND EXISTS (SELECT 1 FROM chat_message_join j WHERE j.chat_id = c.ROWID)`;
}

/**
 * SQL for the newest date of each chat in databases without the indexes for `LATEST`. Reads all joins in one pass.
 * SQLite takes `l.date`, a bare column, from the row that has the max().
 */
function exactDates(schema: SchemaInfo): string {
  const columns = CHAT_DATE_COLUMNS.select({ chat: 'c.ROWID', hasMessages: 'count(l.id)', date: 'l.date' });
  return `SELECT ${columns}, max(${instantSql('l.date')})
    FROM chat c LEFT JOIN (SELECT j.chat_id, m.ROWID AS id, m.date FROM chat_message_join j
      JOIN message m ON m.ROWID = j.message_id WHERE ${isCounted(schema)} AND ${isInChat(schema)}) l ON l.chat_id = c.ROWID
    GROUP BY c.ROWID`;
}

/**
 * SQL that selects two values: whether any row is dated in seconds, and the number of dates out of index order, at most
 * `MAX_COUNTED` for each condition of `UNINDEXED`. The query `chat` takes the chat's row id once for the first value,
 * and then once for each condition.
 */
interface DateQueries {
  readonly all: string;
  readonly chat: string;
}

export const dateQueriesOf = perSchema(
  (schema): DateQueries => ({
    all: datesSql(schema.messagesByIndex, 'date', ''),
    chat: datesSql('chat_message_join', hasDatedJoins(schema) ? 'message_date' : 'NULL', `chat_id = ${INT_PARAM} AND `),
  }),
);

/** Maximum number of dates out of index order that are counted for each condition of `UNINDEXED`. */
const MAX_COUNTED = 1000;

function datesSql(table: string, date: string, condition: string): string {
  const counted = UNINDEXED.map(
    (which) => `(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${condition}${which(date)} LIMIT ${MAX_COUNTED}))`,
  );
  const seconds = `${date} > 0 AND ${date} <= ${MAX_SECONDS}`;
  return `SELECT EXISTS (SELECT 1 FROM ${table} WHERE ${condition}${seconds}), ${counted.join(' + ')}`;
}

/** Index ranges that are not in chronological order (NULL, ≤ 0, beyond int64), one condition each. */
export const UNINDEXED: readonly ((date: string) => string)[] = [
  (date) => `${date} IS NULL`,
  (date) => `${date} <= 0`,
  (date) => `${date} > ${MAX_INTEGER}`,
];

/**
 * Reports whether the dates in `chat_message_join` can order a list. They can do so only if no message can be joined to
 * a chat twice, because the list would contain such a message twice.
 */
function hasDatedJoins(schema: SchemaInfo): boolean {
  return (
    schema.hasColumn('chat_message_join', 'message_date') &&
    schema.isUnique('chat_message_join', 'chat_id', 'message_id')
  );
}
