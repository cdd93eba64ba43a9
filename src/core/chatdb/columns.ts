import { APPLE_EPOCH_S } from '../model/durations.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';

/**
 * SQL for a number bound to a statement. With a bare `?` in a range or a LIMIT, an SQLite that was built with STAT4
 * plans the query again at every run. Planning costs ten times as much as the search itself. The `+ 0` prevents the
 * repeated planning.
 */
export const INT_PARAM = '? + 0';

/** SQL for a text bound to a statement. The `|| ''` prevents repeated planning, as the `+ 0` in `INT_PARAM` does. */
export const TEXT_PARAM = "? || ''";

/** A `date` takes three columns (see `instantOf`), because a JavaScript number cannot hold a date in nanoseconds. */
type Kind = 'value' | 'date';

/**
 * The columns of a query. `select` builds the SQL of the columns; `at` maps each name to the index of its (first)
 * column in a row.
 */
export interface ColumnList<Name extends string> {
  readonly at: Readonly<Record<Name, number>>;
  select(expressions: Readonly<Record<Name, string>>): string;
}

export function columnList<const Kinds extends Readonly<Record<string, Kind>>>(
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

/** Returns the date whose three columns begin at index `at` of the row. */
export function instantAt(row: Row, at: number): Instant {
  return instantOf(row[at] ?? null, row[at + 1] ?? null, row[at + 2] ?? null);
}

/**
 * SQL that converts a stored date to nanoseconds since 2001, as `instantOf` does (decision B6). Used for sorting
 * without an index. A result beyond 64 bits becomes REAL. So does the date that a list begins or ends with, which the
 * result is compared with: both are rounded in the same way.
 */
export function instantSql(date: string): string {
  return `CASE WHEN typeof(${date}) NOT IN ('integer', 'real') THEN 0
    WHEN ${date} BETWEEN -10000000000 AND 10000000000 THEN CAST(${date} AS INTEGER) * 1000000000
    WHEN ${date} > 9223372036854775808.0 THEN ${toNanoseconds(LATEST)}.0
    WHEN ${date} < -9223372036854775808.0 THEN ${toNanoseconds(EARLIEST)}.0
    ELSE CAST(${date} AS INTEGER) END`;
}

/**
 * Returns the value of a text column as a string. A manipulated database may hold any type there: numbers are
 * converted, and blobs become "".
 */
export function toText(value: SqlValue | undefined): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : '';
}

const message = {
  rowId: 'value',
  guid: 'value',
  date: 'date',
  /** Row id of the message's chat; null if the message is in no chat. */
  chat: 'value',
  /** The owner's address in an outgoing row; the row id of the sender's handle in an incoming row. */
  party: 'value',
  /** One of `STATUS_CODE`, computed by `statusSql`. */
  status: 'value',
  body: 'value',
  attachments: 'value',
} as const;

const entry = {
  ...message,
  associatedType: 'value',
  associatedGuid: 'value',
  associatedEmoji: 'value',
  /** See `flagsSql`. */
  flags: 'value',
} as const;

export const KEY_COLUMNS = columnList({ rowId: 'value', date: 'date' });

export const LISTED_COLUMNS = columnList({ rowId: 'value', date: 'date', bytes: 'value' });

export const MESSAGE_COLUMNS = columnList(message);

/** Begins with `MESSAGE_COLUMNS`, so that `toMessage` can read these rows too. */
export const ENTRY_COLUMNS = columnList(entry);

/** Begins with `ENTRY_COLUMNS`, so that `toRowEntry` can read these rows too. */
export const PENDING_COLUMNS = columnList({
  ...entry,
  announcesAttachments: 'value',
  hasUnnamedAttachment: 'value',
});

export const DETAIL_COLUMNS = columnList({
  service: 'value',
  itemType: 'value',
  balloon: 'value',
  replyTo: 'value',
  error: 'value',
  edited: 'date',
  retracted: 'date',
  /** 1 if the whole message was unsent. */
  isUnsent: 'value',
  delivered: 'date',
  read: 'date',
  /** For the row of a link's balloon: guid of the row that contains the text sent with the link. */
  textRow: 'value',
  caller: 'value',
  account: 'value',
  filterAction: 'value',
  filterSubAction: 'value',
  partCount: 'value',
  /** 1 if the message has attachments, or says so. */
  hasAttachments: 'value',
  /** 1 if the row has content besides its text. */
  hasContent: 'value',
});

export const ATTACHMENT_COLUMNS = columnList({
  rowId: 'value',
  filename: 'value',
  transferName: 'value',
  mediaType: 'value',
  uti: 'value',
  bytes: 'value',
  state: 'value',
  guid: 'value',
  /** 1 if a part of the attachment's message was unsent. */
  isPartlyUnsent: 'value',
});

export const CHAT_COLUMNS = columnList({
  guid: 'value',
  displayName: 'value',
  style: 'value',
  ownAddress: 'value',
  service: 'value',
  isFiltered: 'value',
  isBlackholed: 'value',
});

/** For each chat: its row id, whether it has messages, and the date of the newest one. */
export const CHAT_DATE_COLUMNS = columnList({ chat: 'value', hasMessages: 'value', date: 'date' });

/**
 * The columns of a row of `chat_message_join`. `joinDate` is the join's `message_date`, `messageDate` the message's
 * `date`.
 */
export const JOIN_COLUMNS = columnList({
  rowId: 'value',
  chat: 'value',
  message: 'value',
  joinDate: 'date',
  messageDate: 'date',
});

/**
 * The values of the column `status` of a message (decision B7). Only outgoing rows have `scheduled` or a higher value.
 */
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

/**
 * An exact moment, as seconds and nanoseconds since 2001-01-01T00:00:00Z. A stored date in nanoseconds exceeds 2^53, so
 * a single JavaScript number cannot hold it.
 */
export interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}

/** By the contract, a stored date up to this number is in seconds, and a greater one in nanoseconds. */
export const MAX_SECONDS = 10_000_000_000n;

export const MAX_INTEGER = 9_223_372_036_854_775_807n;

const NANOS = 1_000_000_000;

const NANOS_BIG = 1_000_000_000n;

const FIRST_UNIX_S = -62_135_596_800; // 0001-01-01T00:00:00Z

const LAST_UNIX_S = 253_402_300_799; // 9999-12-31T23:59:59Z

const MAX_STORED = 2 ** 63;

export const APPLE_EPOCH: Instant = { seconds: 0, nanos: 0 };

/** The first second that a four-digit year can express. `LATEST` is the last one. */
export const EARLIEST: Instant = { seconds: FIRST_UNIX_S - APPLE_EPOCH_S, nanos: 0 };

export const LATEST: Instant = { seconds: LAST_UNIX_S - APPLE_EPOCH_S, nanos: 0 };

/**
 * Converts a stored date by the contract's rule (decision B6). SQL supplies the date, and its quotient and remainder
 * when divided by 1e9. A date that is not a number counts as 2001-01-01; one beyond four-digit years is clamped.
 */
function instantOf(raw: SqlValue, quotient: SqlValue, remainder: SqlValue): Instant {
  if (typeof raw !== 'number' || typeof quotient !== 'number' || typeof remainder !== 'number') return APPLE_EPOCH;
  if (raw >= -1e10 && raw <= 1e10) return { seconds: Math.trunc(raw), nanos: 0 };
  if (raw > MAX_STORED) return LATEST;
  if (raw < -MAX_STORED) return EARLIEST;
  const seconds = Math.trunc(quotient);
  return remainder < 0 ? { seconds: seconds - 1, nanos: remainder + NANOS } : { seconds, nanos: remainder };
}

export function compareInstants(a: Instant, b: Instant): number {
  return a.seconds - b.seconds || a.nanos - b.nanos;
}

export function toNanoseconds(instant: Instant): bigint {
  return BigInt(instant.seconds) * NANOS_BIG + BigInt(instant.nanos);
}

/** Converts nanoseconds since 1970 to nanoseconds since 2001. */
export function fromUnixNs(unixNs: bigint): bigint {
  return unixNs - BigInt(APPLE_EPOCH_S) * NANOS_BIG;
}

/** Converts Unix milliseconds to nanoseconds since 2001. */
export function fromUnixMs(ms: number): bigint {
  return fromUnixNs(BigInt(Math.floor(ms)) * 1_000_000n);
}

export function toUnixMs(instant: Instant): number {
  return (instant.seconds + APPLE_EPOCH_S) * 1000 + Math.floor(instant.nanos / 1_000_000);
}

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

const SECONDS_A_DAY = 86_400;

/**
 * Formatted dates. Key: days since 1970. Cached because days repeat, and formatting a date costs more than reading a
 * row.
 */
const days = new Map<number, string>();

/** Formats an instant as `YYYY-MM-DDTHH:MM:SSZ`. */
export function isoOf(instant: Instant): string {
  const unix = instant.seconds + APPLE_EPOCH_S;
  const day = Math.floor(unix / SECONDS_A_DAY);
  const second = unix - day * SECONDS_A_DAY;
  const hour = Math.floor(second / 3600);
  const minute = Math.floor((second - hour * 3600) / 60);
  return `${dayOf(day)}T${TWO_DIGITS[hour]}:${TWO_DIGITS[minute]}:${TWO_DIGITS[second % 60]}Z`;
}

function dayOf(day: number): string {
  const known = days.get(day);
  if (known !== undefined) return known;
  if (days.size >= 10_000) days.clear();
  const text = new Date(day * SECONDS_A_DAY * 1000).toISOString().slice(0, 10);
  days.set(day, text);
  return text;
}
