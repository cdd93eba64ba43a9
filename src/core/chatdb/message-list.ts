import { problem } from '../model/problems.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';
import type { Chat } from './chat.ts';
import {
  compareInstants,
  type Instant,
  instantAt,
  KEY_COLUMNS,
  LISTED_COLUMNS,
  MAX_INTEGER,
  MAX_SECONDS,
  MESSAGE_COLUMNS,
  toNanoseconds,
} from './columns.ts';
import {
  type ListedMessages,
  type ListSql,
  listQueriesOf,
  MESSAGE_LISTS,
  type Order,
  UNINDEXED,
} from './list-queries.ts';
import type { Snapshot } from './snapshot.ts';

/** A message that `GET /messages` would list, without its text. */
export interface ListedRow {
  readonly rowId: number;
  /** The message's date, in seconds since 2001-01-01T00:00:00Z. */
  readonly second: number;
  /** Approximate size of the message's text in bytes. */
  readonly bytes: number;
}

export interface ListedRows {
  /** The messages, in order of their dates, newest first. */
  readonly rows: readonly ListedRow[];
  /** Pass this as `after` to get the next page; absent on the last page. */
  readonly next?: string;
}

/**
 * A position in a list: a row's date in nanoseconds since 2001, and the row's id. Rows with equal dates are sorted by
 * row id.
 */
export interface Keyset {
  readonly date: bigint;
  readonly rowId: bigint;
}

/**
 * A list and its bounds. In ascending order, the list begins directly behind the position `after` and includes all rows
 * with the date of `before`. In descending order, it begins directly behind the position `before` and ends before rows
 * with the date of `after`.
 */
export interface List {
  /** Row id of the chat; undefined for the messages of all chats. */
  readonly chatId: number | undefined;
  readonly order: Order;
  readonly after: Keyset;
  readonly before: Keyset;
  /** Default: `shown`. */
  readonly messages?: ListedMessages;
}

/** The row id and the date of a row in a list. */
export interface ListItem {
  readonly rowId: number;
  readonly instant: Instant;
}

/** A date in nanoseconds that is later than every stored date: dates stored in seconds reach 1e19 nanoseconds. */
const FAR = 10n ** 24n;

export const EVERYTHING = {
  after: { date: -FAR, rowId: -MAX_INTEGER },
  before: { date: FAR, rowId: MAX_INTEGER },
} as const;

/** Returns up to `limit` messages of a list, beginning at `offset`, as rows of `MESSAGE_COLUMNS`. */
export function listMessageRows(snapshot: Snapshot, list: List, limit: number, offset: number): readonly Row[] {
  const sql = listsOf(snapshot, list).messages[list.chatId === undefined ? 'all' : 'chat'][list.order];
  return readList(snapshot, sql, list, limit, offset);
}

function listsOf({ database: { schema } }: Snapshot, { messages = 'shown' }: List) {
  return MESSAGE_LISTS[messages](schema);
}

/**
 * Returns up to `limit` rows of a list without their texts. If there may be more, also returns a cursor behind the last
 * one.
 */
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

/** Returns the newest unscheduled message of a chat. */
export function newestMessageRow(snapshot: Snapshot, { rowIds }: Pick<Chat, 'rowIds'>): Row | undefined {
  const sql = listQueriesOf(snapshot.database.schema).latest;
  const rows = rowIds.flatMap((chatId) => readList(snapshot, sql, { chatId, order: 'desc', ...EVERYTHING }, 1, 0));
  const keyOf = (row: Row): Keyset => keysetOf(row, MESSAGE_COLUMNS.at);
  return rows.length < 2 ? rows[0] : rows.reduce((best, row) => (isLower(keyOf(best), keyOf(row)) ? row : best));
}

/** Returns how many rows SQLite may have to read before it reaches the row at this offset of a list. */
export function listCost(snapshot: Snapshot, chatId: number | undefined, offset: number): number {
  const { hasSeconds, unindexed } = snapshot.dates(chatId);
  return hasSeconds || unindexed > 0 ? (offset + unindexed) * 4 : offset;
}

const newestCounted = new WeakMap<Snapshot, Map<number, ListItem | undefined>>();

/** Returns the newest row of a chat that counts for `last_message_at` (decision B12). */
export function newestCountedItem(snapshot: Snapshot, { rowIds }: Pick<Chat, 'rowIds'>): ListItem | undefined {
  const items = rowIds.map((chatId) => newestCountedIn(snapshot, chatId)).filter((item) => item !== undefined);
  return items.length < 2
    ? items[0]
    : items.reduce((best, item) => (compareInstants(best.instant, item.instant) < 0 ? item : best));
}

/** Returns the newest row that counts, of one chat of a conversation. */
export function newestCountedIn(snapshot: Snapshot, chatId: number): ListItem | undefined {
  const known = newestCounted.get(snapshot) ?? new Map<number, ListItem | undefined>();
  newestCounted.set(snapshot, known);
  if (!known.has(chatId)) known.set(chatId, newestItem(snapshot, 'counted', chatId));
  return known.get(chatId);
}

/** Returns the newest of all rows joined to a chat, including rows that do not count for `last_message_at`. */
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
  const nanoseconds = [...chat, ...indexBounds(list, 1n)];
  if (!hasSeconds && unindexed === 0) return snapshot.database.all(sql.indexed, ...nanoseconds, limit, offset);
  const others = UNINDEXED.flatMap(() => [...chat, ...boundsOf(list.order, list.after, list.before)]);
  const seconds = [...chat, ...indexBounds(list, NS)];
  const needed = limit + offset;
  return snapshot.database.all(sql.mixed, ...nanoseconds, needed, ...seconds, needed, ...others, limit, offset);
}

const NS = 1_000_000_000n;

/**
 * Returns `after` and `before` as SQL parameters, clamped to one part of the date index: the dates stored in
 * nanoseconds, or those stored in seconds. `unit` is the length of the stored unit in nanoseconds, 1 or `NS`.
 */
function indexBounds({ order, after, before }: List, unit: 1n | typeof NS): SqlValue[] {
  const [above, upTo] = unit === 1n ? [MAX_SECONDS, MAX_INTEGER] : [0n, MAX_SECONDS];
  const clamped = (bound: Keyset): Keyset => {
    // A date stored in seconds has no fraction. A bound with a fraction therefore lies behind every row of its second,
    // so the bound's row id becomes the highest possible one.
    const date = bound.date / unit;
    if (date <= above) return { date: above, rowId: MAX_INTEGER };
    if (date > upTo) return { date: upTo, rowId: MAX_INTEGER };
    return { date, rowId: bound.date % unit === 0n ? bound.rowId : MAX_INTEGER };
  };
  return boundsOf(order, clamped(after), clamped(before));
}

/**
 * Returns the SQL parameters of the condition that `between` builds. Passes a date beyond 64 bits as REAL, because
 * SQLite's integers cannot hold it.
 */
function boundsOf(order: Order, after: Keyset, before: Keyset): SqlValue[] {
  const date = (bound: Keyset): SqlValue =>
    bound.date > MAX_INTEGER || bound.date < -MAX_INTEGER ? Number(bound.date) : bound.date;
  return order === 'asc' ? [date(after), after.rowId, date(before)] : [date(after), date(before), before.rowId];
}

/** Returns the position of a row as the opaque text of `Page.next`. */
export function cursorOf(row: Row): string {
  return cursorAt(keysetOf(row, MESSAGE_COLUMNS.at));
}

/** Returns the position of a row in a list. */
function keysetOf(row: Row, at: { readonly rowId: number; readonly date: number }): Keyset {
  return { date: toNanoseconds(instantAt(row, at.date)), rowId: BigInt(row[at.rowId] as number) };
}

export function cursorAt({ date, rowId }: Keyset): string {
  return `${date}.${rowId}`;
}

/**
 * Returns the part of a list behind a cursor. Throws `invalid_cursor` unless the text has the form that `cursorAt`
 * writes.
 */
export function behindCursor(list: List, cursor: string): List {
  const bound = keysetAt(cursor);
  if (list.order === 'desc') return { ...list, before: bound };
  return bound.date > list.after.date ? { ...list, after: bound } : list;
}

/** Returns the date in a cursor that `cursorAt` wrote, in seconds since 2001. Throws `invalid_cursor`. */
export function secondAt(cursor: string): number {
  return Number(keysetAt(cursor).date / 1_000_000_000n);
}

function keysetAt(cursor: string): Keyset {
  const [, date = '', rowId = ''] = /^(-?\d{1,21})\.(-?\d{1,16})$/.exec(cursor) ?? [];
  if (date === '') throw problem('invalid_cursor');
  return { date: BigInt(date), rowId: BigInt(rowId) };
}

/**
 * Number of rows that the first read of a chat fetches. Each further read of the chat fetches twice as many as the one
 * before it, because a busy chat supplies most of a page.
 */
const FIRST_ROWS = 4;

/** Iterates over the positions in one chat's list, and reads them a few rows at a time. */
class ChatKeys {
  readonly #snapshot: Snapshot;
  #list: List;
  #keys: readonly Keyset[] = [];
  #next = 0;
  #batch = FIRST_ROWS;
  #isRead = false;

  constructor(snapshot: Snapshot, list: List) {
    this.#snapshot = snapshot;
    this.#list = list;
  }

  /** The next position that `drop` has not passed; undefined at the end of the chat's list. */
  get first(): Keyset | undefined {
    if (this.#next === this.#keys.length && !this.#isRead) this.#read();
    return this.#keys[this.#next];
  }

  drop(): void {
    this.#next += 1;
  }

  #read(): void {
    const { keys } = listsOf(this.#snapshot, this.#list);
    const rows = readList(this.#snapshot, keys[this.#list.order], this.#list, this.#batch, 0);
    this.#keys = rows.map((row) => keysetOf(row, KEY_COLUMNS.at));
    this.#next = 0;
    this.#isRead = rows.length < this.#batch;
    this.#batch *= 2;
    const last = this.#keys.at(-1);
    if (last !== undefined) this.#list = { ...this.#list, [this.#list.order === 'asc' ? 'after' : 'before']: last };
  }
}

/**
 * Merges the lists of several chats by date and row id. Returns up to `limit` positions of the merged list, beginning
 * at `offset`. The bounds of `list` apply to every chat.
 */
export function mergedKeys(
  snapshot: Snapshot,
  list: List,
  chatIds: readonly number[],
  limit: number,
  offset: number,
): readonly Keyset[] {
  const isBefore = list.order === 'asc' ? isLower : (a: Keyset, b: Keyset) => isLower(b, a);
  const chats = chatIds.map((chatId) => new ChatKeys(snapshot, { ...list, chatId }));
  const merged: Keyset[] = [];
  while (merged.length < offset + limit) {
    let best: { readonly chat: ChatKeys; readonly key: Keyset } | undefined;
    for (const chat of chats) {
      const key = chat.first;
      if (key !== undefined && (best === undefined || isBefore(key, best.key))) best = { chat, key };
    }
    if (best === undefined) break;
    merged.push(best.key);
    best.chat.drop();
  }
  return merged.slice(offset);
}

function isLower(a: Keyset, b: Keyset): boolean {
  return a.date === b.date ? a.rowId < b.rowId : a.date < b.date;
}
