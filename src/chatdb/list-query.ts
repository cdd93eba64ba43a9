import type { ListedRows } from '../domain/ports/search.ts';
import { problem } from '../domain/problems.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';
import { INT_PARAM, instantAt, instantSql, KEY_COLUMNS, LISTED_COLUMNS, MESSAGE_COLUMNS } from './columns.ts';
import { type Instant, MAX_INTEGER, MAX_SECONDS, toNanoseconds } from './instants.ts';
import {
  hasDatedJoins,
  IS_LOWEST_CHAT,
  isCounted,
  isListed,
  isNoReaction,
  LOWEST_CHAT,
  messageParts,
  textBytes,
  UNINDEXED,
} from './queries.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';
import type { Snapshot } from './snapshot.ts';

/** A position in a list: its date in nanoseconds since 2001, then its row id. */
export interface Keyset {
  readonly date: bigint;
  readonly rowId: bigint;
}

export type Order = 'asc' | 'desc';

/**
 * What a list is read from. The order decides which bound is a position, strictly excluded; of the other only the
 * date counts: newer than `after`, not newer than `before`.
 */
export interface List {
  /** undefined: all chats. */
  readonly chatId: number | undefined;
  readonly order: Order;
  readonly after: Keyset;
  readonly before: Keyset;
}

/** A row of a list, and when it is dated. */
export interface ListItem {
  readonly rowId: number;
  readonly instant: Instant;
}

/** Beyond every date: seconds may reach 1e19 nanoseconds. */
const FAR = 10n ** 24n;
export const EVERYTHING = {
  after: { date: -FAR, rowId: -MAX_INTEGER },
  before: { date: FAR, rowId: MAX_INTEGER },
} as const;

/**
 * `indexed` is for lists whose dates are all in nanoseconds. `mixed` sorts by the exact instant what the parts of the
 * index give (decision B6): nanoseconds, seconds, and everything else.
 */
export interface ListSql {
  readonly indexed: string;
  readonly mixed: string;
}

export interface ListQueries {
  /** `MESSAGE_COLUMNS` of the messages of all chats, or of one. */
  readonly messages: Readonly<Record<'all' | 'chat', Readonly<Record<Order, ListSql>>>>;
  /** `LISTED_COLUMNS` of the messages of all chats, newest first. */
  readonly listed: ListSql;
  /** `MESSAGE_COLUMNS` of the messages of a chat but for scheduled ones, newest first. */
  readonly latest: ListSql;
  /** `KEY_COLUMNS` of the messages of one chat. */
  readonly keys: Readonly<Record<Order, ListSql>>;
  /** `KEY_COLUMNS` of the rows of a chat that count for `last_message_at` (decision B12), newest first. */
  readonly counted: ListSql;
  /** The same for every row joined to it. */
  readonly joined: ListSql;
}

export const listQueriesOf = perSchema((schema): ListQueries => {
  const isMessage = isNoReaction(schema);
  const columns = (chat: string): string => MESSAGE_COLUMNS.select(messageParts(schema, chat));
  const keys = (): string => KEY_COLUMNS.select({ rowId: 'm.ROWID', date: 'm.date' });
  const listed = (): string => LISTED_COLUMNS.select({ rowId: 'm.ROWID', date: 'm.date', bytes: textBytes(schema) });
  const all = (order: Order): ListSql => listSql(allSource(schema, isMessage), order, columns);
  const chat = (order: Order): ListSql =>
    listSql(chatSource(schema, `${isMessage} AND ${IS_LOWEST_CHAT}`), order, columns);
  const chatKeys = (order: Order): ListSql =>
    listSql(chatSource(schema, `${isMessage} AND ${IS_LOWEST_CHAT}`), order, keys);
  return {
    keys: { asc: chatKeys('asc'), desc: chatKeys('desc') },
    messages: {
      all: { asc: all('asc'), desc: all('desc') },
      chat: { asc: chat('asc'), desc: chat('desc') },
    },
    listed: listSql(allSource(schema, `${isMessage} AND ${HAS_EXACT_ROW_ID}`), 'desc', listed),
    latest: listSql(chatSource(schema, `${isMessage} AND ${isCounted(schema)} AND ${IS_LOWEST_CHAT}`), 'desc', columns),
    counted: listSql(chatSource(schema, `${isCounted(schema)} AND ${IS_LOWEST_CHAT}`), 'desc', keys),
    joined: listSql(chatSource(schema, '1'), 'desc', keys),
  };
});

/** A row id that a number holds exactly. The `+` keeps SQLite off the row ids as an index. */
const HAS_EXACT_ROW_ID = `+m.ROWID BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;

/** Where the rows of a list come from. */
interface Source {
  readonly from: string;
  /** Each begins with the parameter of the chat, when there is one. */
  readonly where: (dateRange: string) => string;
  /** The indexed date and row id. */
  readonly date: string;
  readonly rowId: string;
  /** Row id of the chat that a row is listed in. */
  readonly chat: string;
}

function allSource(schema: SchemaInfo, condition: string): Source {
  return {
    from: 'message m',
    where: (dateRange) => `${dateRange} AND ${condition} AND ${isListed(schema)}`,
    date: 'm.date',
    rowId: 'm.ROWID',
    chat: LOWEST_CHAT,
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

/** Parameters: those of `boundsOf` for each part, with the chat before each; limit, offset. */
function listSql({ from, where, date, rowId, chat }: Source, order: Order, columns: (chat: string) => string): ListSql {
  const inIndex = where(between(order, date, rowId));
  const byIndex = `ORDER BY ${date} ${order}, ${rowId} ${order}`;
  const key = `SELECT m.ROWID AS id, ${instantSql('m.date')} AS instant, ${chat} AS chat FROM ${from} WHERE`;
  const indexedKeys = `SELECT * FROM (${key} ${inIndex} ${byIndex} LIMIT ${INT_PARAM})`;
  const otherKeys = UNINDEXED.map(
    (which) => `${key} ${where(`${which(date)} AND ${between(order, instantSql('m.date'), 'm.ROWID')}`)}`,
  );
  // UNION, not UNION ALL: a table without its key can join a message twice; it is listed once (decision B4).
  const keys = [indexedKeys, indexedKeys, ...otherKeys].join(' UNION ');
  return {
    indexed: `SELECT ${columns(chat)} FROM ${from} WHERE ${inIndex} ${byIndex} LIMIT ${INT_PARAM} OFFSET ${INT_PARAM}`,
    mixed: `SELECT ${columns('k.chat')}
      FROM (${keys} ORDER BY instant ${order}, id ${order} LIMIT ${INT_PARAM} OFFSET ${INT_PARAM}) k
      CROSS JOIN message m ON m.ROWID = k.id ORDER BY k.instant ${order}, k.id ${order}`,
  };
}

/**
 * Between two bounds, the one a list begins at to the row id. SQLite stops reading an index early with one such
 * pair, but not with two.
 */
export function between(order: Order, date: string, rowId: string): string {
  return order === 'asc'
    ? `(${date}, ${rowId}) > (${INT_PARAM}, ${INT_PARAM}) AND ${date} <= ${INT_PARAM}`
    : `${date} > ${INT_PARAM} AND (${date}, ${rowId}) < (${INT_PARAM}, ${INT_PARAM})`;
}

/** The messages of a list. */
export function listMessageRows(snapshot: Snapshot, list: List, limit: number, offset: number): readonly Row[] {
  const { messages } = listQueriesOf(snapshot.database.schema);
  const sql = messages[list.chatId === undefined ? 'all' : 'chat'][list.order];
  return readList(snapshot, sql, list, limit, offset);
}

/** The rows of a list without their texts, and the cursor behind it. */
export function listedRows(snapshot: Snapshot, list: List, limit: number): ListedRows {
  const { listed } = listQueriesOf(snapshot.database.schema);
  const found = readList(snapshot, listed, list, limit, 0);
  const { at } = LISTED_COLUMNS;
  const rows = found.map((row) => ({
    rowId: row[at.rowId] as number,
    second: instantAt(row, at.date).seconds,
    bytes: Number(row[at.bytes]),
  }));
  const end = found.at(-1);
  return end === undefined || found.length < limit ? { rows } : { rows, next: cursorAt(keysetOf(end, at)) };
}

/** Date and row id of the messages of one chat's list. */
export function listKeyRows(snapshot: Snapshot, list: List, limit: number): readonly Row[] {
  return readList(snapshot, listQueriesOf(snapshot.database.schema).keys[list.order], list, limit, 0);
}

/** The newest message of a chat that is not scheduled. */
export function newestMessageRow(snapshot: Snapshot, chatId: number): Row | undefined {
  const sql = listQueriesOf(snapshot.database.schema).latest;
  return readList(snapshot, sql, { chatId, order: 'desc', ...EVERYTHING }, 1, 0)[0];
}

/** How many rows a list at an offset may have to read before its first. */
export function listCost(snapshot: Snapshot, chatId: number | undefined, offset: number): number {
  const { hasSeconds, unindexed } = snapshot.dates(chatId);
  return hasSeconds || unindexed > 0 ? (offset + unindexed) * 4 : offset;
}

const newestCounted = new WeakMap<Snapshot, Map<number, ListItem | undefined>>();

/** The newest row of a chat that counts for `last_message_at` (decision B12). */
export function newestCountedItem(snapshot: Snapshot, chatId: number): ListItem | undefined {
  const known = newestCounted.get(snapshot) ?? new Map<number, ListItem | undefined>();
  newestCounted.set(snapshot, known);
  if (!known.has(chatId)) known.set(chatId, newestItem(snapshot, 'counted', chatId));
  return known.get(chatId);
}

/** The newest of all rows joined to a chat. */
export function newestJoinedItem(snapshot: Snapshot, chatId: number): ListItem | undefined {
  return newestItem(snapshot, 'joined', chatId);
}

function newestItem(snapshot: Snapshot, what: 'counted' | 'joined', chatId: number): ListItem | undefined {
  const sql = listQueriesOf(snapshot.database.schema)[what];
  const [row] = readList(snapshot, sql, { chatId, order: 'desc', ...EVERYTHING }, 1, 0);
  return row === undefined
    ? undefined
    : { rowId: row[KEY_COLUMNS.at.rowId] as number, instant: instantAt(row, KEY_COLUMNS.at.date) };
}

function readList(snapshot: Snapshot, sql: ListSql, list: List, limit: number, offset: number): readonly Row[] {
  const { hasSeconds, unindexed } = snapshot.dates(list.chatId);
  const chat = list.chatId === undefined ? [] : [list.chatId];
  const nanoseconds = [...chat, ...nanosecondBounds(list)];
  if (!hasSeconds && unindexed === 0) return snapshot.database.all(sql.indexed, ...nanoseconds, limit, offset);
  const others = UNINDEXED.flatMap(() => [...chat, ...boundsOf(list.order, list.after, list.before)]);
  const seconds = [...chat, ...indexBounds(list, NS)];
  const needed = limit + offset;
  return snapshot.database.all(sql.mixed, ...nanoseconds, needed, ...seconds, needed, ...others, limit, offset);
}

const NS = 1_000_000_000n;

/** The parameters of `between` where all dates are in nanoseconds. */
export function nanosecondBounds(list: List): SqlValue[] {
  return indexBounds(list, 1n);
}

/** The bounds within a part of the index. `unit`: nanoseconds in one of the stored number. */
function indexBounds({ order, after, before }: List, unit: 1n | typeof NS): SqlValue[] {
  const [above, upTo] = unit === 1n ? [MAX_SECONDS, MAX_INTEGER] : [0n, MAX_SECONDS];
  const clamped = (bound: Keyset): Keyset => {
    // A bound between two whole units is behind every row of the lower one.
    const date = bound.date / unit;
    if (date <= above) return { date: above, rowId: MAX_INTEGER };
    if (date > upTo) return { date: upTo, rowId: MAX_INTEGER };
    return { date, rowId: bound.date % unit === 0n ? bound.rowId : MAX_INTEGER };
  };
  return boundsOf(order, clamped(after), clamped(before));
}

/** The parameters of `between`. What 64 bits cannot hold is compared as REAL. */
function boundsOf(order: Order, after: Keyset, before: Keyset): SqlValue[] {
  const date = (bound: Keyset): SqlValue =>
    bound.date > MAX_INTEGER || bound.date < -MAX_INTEGER ? Number(bound.date) : bound.date;
  return order === 'asc' ? [date(after), after.rowId, date(before)] : [date(after), date(before), before.rowId];
}

/** The position of a row as the opaque text of `Page.next`. */
export function cursorOf(row: Row): string {
  return cursorAt(keysetOf(row, MESSAGE_COLUMNS.at));
}

/** Where a row is in a list. */
export function keysetOf(row: Row, at: { readonly rowId: number; readonly date: number }): Keyset {
  return { date: toNanoseconds(instantAt(row, at.date)), rowId: BigInt(row[at.rowId] as number) };
}

export function cursorAt({ date, rowId }: Keyset): string {
  return `${date}.${rowId}`;
}

/** The list behind a cursor. Throws AppError `invalid` for what `cursorOf` never gave. */
export function behindCursor(list: List, cursor: string): List {
  const [, date = '', rowId = ''] = /^(-?\d{1,21})\.(-?\d{1,16})$/.exec(cursor) ?? [];
  if (date === '') throw problem('invalid_cursor');
  const bound = { date: BigInt(date), rowId: BigInt(rowId) };
  if (list.order === 'desc') return { ...list, before: bound };
  return bound.date > list.after.date ? { ...list, after: bound } : list;
}
