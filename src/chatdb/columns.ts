import type { Row, SqlValue } from '../runtime/sqlite.ts';
import { EARLIEST, type Instant, instantOf, LATEST, toNanoseconds } from './instants.ts';

/**
 * A number bound to a statement. SQLite built with STAT4 plans again at every run when a bare `?` is in a range or a
 * LIMIT, which costs ten times the search itself; the sum hides it.
 */
export const INT_PARAM = '? + 0';
/** A text, for the same reason. */
export const TEXT_PARAM = "? || ''";

/** A `date` takes three columns: a stored date in nanoseconds is too large for one JavaScript number. */
type Kind = 'value' | 'date';

/** The columns of a SELECT: their text, and where each is in a row. */
export interface ColumnList<Name extends string> {
  readonly at: Readonly<Record<Name, number>>;
  select(expressions: Readonly<Record<Name, string>>): string;
}

function columnList<const Kinds extends Readonly<Record<string, Kind>>>(
  kinds: Kinds,
): ColumnList<keyof Kinds & string> {
  type Name = keyof Kinds & string;
  const at = {} as Record<Name, number>;
  const names = Object.keys(kinds) as Name[];
  let width = 0;
  for (const name of names) {
    at[name] = width;
    width += kinds[name] === 'date' ? 3 : 1;
  }
  return {
    at,
    select: (expressions) =>
      names.map((name) => (kinds[name] === 'date' ? dateColumns(expressions[name]) : expressions[name])).join(', '),
  };
}

function dateColumns(date: string): string {
  return `${date}, ${date} / 1000000000, ${date} % 1000000000`;
}

/** The date whose columns begin at this place in a row. */
export function instantAt(row: Row, at: number): Instant {
  return instantOf(row[at] ?? null, row[at + 1] ?? null, row[at + 2] ?? null);
}

/**
 * The exact moment of a date in nanoseconds, for sorting what no index sorts: `instantOf` in SQL (decision B6). Seconds
 * that 64 bits cannot hold become REAL here and in a bound alike, rounded by the same rule.
 */
export function instantSql(date: string): string {
  return `CASE WHEN typeof(${date}) NOT IN ('integer', 'real') THEN 0
    WHEN ${date} BETWEEN -10000000000 AND 10000000000 THEN CAST(${date} AS INTEGER) * 1000000000
    WHEN ${date} > 9223372036854775808.0 THEN ${toNanoseconds(LATEST)}.0
    WHEN ${date} < -9223372036854775808.0 THEN ${toNanoseconds(EARLIEST)}.0
    ELSE CAST(${date} AS INTEGER) END`;
}

/** Text of any value that a hostile database may hold in a text column. */
export function toText(value: SqlValue | undefined): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : '';
}

const message = {
  rowId: 'value',
  guid: 'value',
  date: 'date',
  /** null without a chat. */
  chat: 'value',
  /** Of an own row the own address, of another the sender's handle. */
  party: 'value',
  /** The status as a number, see `statusSql`. */
  status: 'value',
  body: 'value',
  attachments: 'value',
} as const;
const entry = { ...message, associatedType: 'value', associatedGuid: 'value', associatedEmoji: 'value' } as const;

export const KEY_COLUMNS = columnList({ rowId: 'value', date: 'date' });
export const LISTED_COLUMNS = columnList({ rowId: 'value', date: 'date', bytes: 'value' });
export const MESSAGE_COLUMNS = columnList(message);
/** Those of a message first. */
export const ENTRY_COLUMNS = columnList(entry);
/** Those of an entry first. */
export const PENDING_COLUMNS = columnList({ ...entry, announcesAttachments: 'value', hasUnnamedAttachment: 'value' });
export const DETAIL_COLUMNS = columnList({
  service: 'value',
  itemType: 'value',
  balloon: 'value',
  replyTo: 'value',
  error: 'value',
  edited: 'date',
  retracted: 'date',
  delivered: 'date',
  read: 'date',
  caller: 'value',
  account: 'value',
});
export const ATTACHMENT_COLUMNS = columnList({
  filename: 'value',
  transferName: 'value',
  mediaType: 'value',
  bytes: 'value',
  state: 'value',
});
export const CHAT_COLUMNS = columnList({
  guid: 'value',
  displayName: 'value',
  style: 'value',
  ownAddress: 'value',
  service: 'value',
});
/** The newest date of a chat by its joins. */
export const CHAT_DATE_COLUMNS = columnList({ chat: 'value', hasMessages: 'value', date: 'date' });
/** A join with its own date and that of its message. */
export const JOIN_COLUMNS = columnList({
  rowId: 'value',
  chat: 'value',
  message: 'value',
  joinDate: 'date',
  messageDate: 'date',
});

/** What the status column of a message says (decision B7). From `scheduled` on the row is an own one. */
export const STATUS_CODE = {
  received: 0,
  readHere: 1,
  scheduled: 2,
  failed: 3,
  read: 4,
  delivered: 5,
  sent: 6,
  unsent: 7,
} as const;
