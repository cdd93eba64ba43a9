import { LARGEST_BODY_BYTES } from './attributed-body.ts';
import { N, T } from './bound.ts';
import { EARLIEST, LARGEST_INTEGER, LATEST, toNanoseconds } from './instants.ts';
import { type DetailQueries, detailQueries } from './queries-details.ts';
import type { Shape } from './shape.ts';

/** Every SQL text about messages, for one shape of database. `queries-chats.ts` holds those about chats. */
export interface Queries {
  /** Message rows: columns as `rows.ts` reads them. Parameters: row id. */
  readonly message: string;
  /** Parameters: after, up to, limit. */
  readonly entries: string;
  /**
   * As `entries`, with what `settle` needs. Parameters: after, limit. A row id that no number holds exactly would come
   * again and again.
   */
  readonly arrivals: string;
  /** Own messages above a row id. Parameters: row id, limit. */
  readonly ownRows: string;
  readonly pages: Readonly<Record<'all' | 'chat', Readonly<Record<'asc' | 'desc', PageQueries>>>>;
  /**
   * The rows whose place in an index is not their place in time, a part of them each: row id, date (value, quotient,
   * remainder), whether it is a message, whether it counts (B12), whether it belongs in lists. Parameters: the chat;
   * limit, offset.
   */
  readonly undated: Readonly<Record<'all' | 'chat', readonly string[]>>;
  /** Whether any row is dated otherwise than in nanoseconds; for a chat: by what its joins say. */
  readonly hasOddDates: Readonly<Record<'all' | 'chat', string>>;
  readonly newest: string;
  readonly highestRowId: string;
  readonly guid: string;
  readonly rowIdOfGuid: string;
  /** About the reactions on a message, and what else `details` say. */
  readonly details: DetailQueries;
  /** Shown attachments of a message, in stored order: filename, transfer name, media type, bytes, state. */
  readonly attachments: string;
}

/**
 * Lists in the order of an index. Parameters: the chat; ascending the date and row id to begin after and the last
 * date, descending the date to end above and the date and row id to begin below; limit, offset.
 */
export interface PageQueries {
  readonly rows: string;
  /** The same places without the messages: row id and date. */
  readonly keys: string;
}

export function messageQueries(shape: Shape): Queries {
  const row = (chat: string, attachments = hasAttachments(shape)): string => messageColumns(shape, chat, attachments);
  const anyChat = wherever(shape);
  const reaction = REACTION.map(([name, missing]) => column(shape, name, missing)).join(', ');
  const isMessage = isNoReaction(shape);
  const page = (scope: 'all' | 'chat', order: 'asc' | 'desc'): PageQueries => ({
    rows: pageQuery(shape, scope, order, row(scope === 'all' ? LOWEST_CHAT : 'j.chat_id'), isMessage),
    keys: pageQuery(shape, scope, order, KEY_COLUMNS, isMessage),
  });
  return {
    message: `SELECT ${row(anyChat)} FROM message m WHERE m.ROWID = ? AND ${isMessage}`,
    entries: `SELECT ${row(anyChat)}, ${reaction} FROM message m WHERE m.ROWID > ${N} AND m.ROWID <= ${N} ORDER BY m.ROWID LIMIT ${N}`,
    arrivals: `SELECT ${row(anyChat, joinedAttachments(shape))}, ${reaction}, ${announcesAttachments(shape)}, ${unnamedAttachments(shape)}
      FROM message m WHERE m.ROWID > ${N} AND m.ROWID <= ${Number.MAX_SAFE_INTEGER} ORDER BY m.ROWID LIMIT ${N}`,
    ownRows: `SELECT ${row(anyChat)} FROM message m WHERE m.ROWID > ${N} AND m.is_from_me AND ${isMessage} ORDER BY m.ROWID LIMIT ${N}`,
    pages: {
      all: { asc: page('all', 'asc'), desc: page('all', 'desc') },
      chat: { asc: page('chat', 'asc'), desc: page('chat', 'desc') },
    },
    undated: { all: undatedOfAll(shape, isMessage), chat: undatedOfChat(shape, isMessage) },
    hasOddDates: {
      all: `SELECT ${hasOddDates('message', 'date')}`,
      chat: hasDatedJoins(shape)
        ? `SELECT ${hasOddDates('chat_message_join', 'message_date', `chat_id = ${N} AND `)}`
        : 'SELECT ? IS NOT NULL OR ? OR ?',
    },
    details: detailQueries(shape, `${row(anyChat)}, ${reaction}`),
    newest: 'SELECT ROWID, guid FROM message ORDER BY ROWID DESC LIMIT 1',
    highestRowId: shape.hasTable('sqlite_sequence')
      ? `SELECT max(ifnull((SELECT max(ROWID) FROM message), 0), ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'message'), 0))`
      : 'SELECT ifnull(max(ROWID), 0) FROM message',
    guid: 'SELECT guid FROM message WHERE ROWID = ?',
    rowIdOfGuid: `SELECT ROWID FROM message WHERE guid = ${T}`,
    attachments: hasAttachmentTables(shape)
      ? `SELECT a.filename, ${attachmentColumns(shape)}
         FROM message_attachment_join j JOIN attachment a ON a.ROWID = j.attachment_id
         WHERE j.message_id = ${N} AND ${isShown(shape)} ORDER BY j.ROWID`
      : 'SELECT NULL WHERE ? IS NULL',
  };
}

const KEY_COLUMNS = 'm.ROWID, m.date, m.date / 1000000000, m.date % 1000000000';
const LOWEST_CHAT = '(SELECT min(j.chat_id) FROM chat_message_join j WHERE j.message_id = m.ROWID)';
const REACTION = [
  ['associated_message_type', '0'],
  ['associated_message_guid', 'NULL'],
  ['associated_message_emoji', 'NULL'],
] as const;

/**
 * The exact moment of a date in nanoseconds, for sorting what no index sorts: `instantOf` in SQL (B6). Seconds
 * that 64 bits cannot hold become REAL here and in a bound alike, rounded by the same rule.
 */
export function instantSql(date: string): string {
  return `CASE WHEN typeof(${date}) NOT IN ('integer', 'real') THEN 0
    WHEN ${date} BETWEEN -10000000000 AND 10000000000 THEN CAST(${date} AS INTEGER) * 1000000000
    WHEN ${date} > 9223372036854775808.0 THEN ${toNanoseconds(LATEST)}.0
    WHEN ${date} < -9223372036854775808.0 THEN ${toNanoseconds(EARLIEST)}.0
    ELSE CAST(${date} AS INTEGER) END`;
}

/** True when some date is not a positive number of nanoseconds. */
export function hasOddDates(table: string, date: string, condition = ''): string {
  return [`${date} <= 10000000000`, `${date} IS NULL`, `${date} > ${LARGEST_INTEGER}`]
    .map((odd) => `EXISTS (SELECT 1 FROM ${table} WHERE ${condition}${odd})`)
    .join(' OR ');
}

/** The joins' dates put a list in order only where no join can stand there twice: its message would, too (B4, B9). */
function hasDatedJoins(shape: Shape): boolean {
  return (
    shape.hasColumn('chat_message_join', 'message_date') && shape.isUnique('chat_message_join', 'chat_id', 'message_id')
  );
}

/** What is no positive number of nanoseconds or seconds: an index has it at its ends. */
function odd(date: string): readonly string[] {
  return [`${date} IS NULL`, `${date} <= 0`, `${date} > ${LARGEST_INTEGER}`];
}

function undatedOfAll(shape: Shape, isMessage: string): readonly string[] {
  return odd('date').map(
    (isOdd) => `SELECT ${KEY_COLUMNS}, ${isMessage}, 0, ${isListed(shape)}
      FROM (SELECT ROWID AS id FROM message WHERE ${isOdd} LIMIT ${N} OFFSET ${N}) j JOIN message m ON m.ROWID = j.id`,
  );
}

/** A join may name a row that is gone; it is counted all the same, because the offset counts it. */
function undatedOfChat(shape: Shape, isMessage: string): readonly string[] {
  const isOdd = hasDatedJoins(shape) ? odd('message_date') : ['1'];
  return isOdd.map(
    (which) => `SELECT ${KEY_COLUMNS}, ${isMessage}, ${counts(shape)}, ${IS_LOWEST_CHAT}
      FROM (SELECT ROWID, message_id, chat_id FROM chat_message_join WHERE chat_id = ${N} AND ${which} LIMIT ${N} OFFSET ${N}) j
      LEFT JOIN message m ON m.ROWID = j.message_id`,
  );
}

/** Decision B12. */
export function counts(shape: Shape): string {
  return shape.hasColumn('message', 'schedule_type') ? 'ifnull(m.schedule_type, 0) <> 2' : '1';
}

/**
 * Decision B4: under the chat with the lowest row id alone. The `+` keeps SQLite off the index by chat; the row id, which
 * the index by message has, keeps it from reading the join itself where it is the only one.
 */
export const IS_LOWEST_CHAT = `NOT EXISTS (SELECT 1 FROM chat_message_join o
  WHERE o.message_id = j.message_id AND o.ROWID <> j.ROWID AND +o.chat_id < j.chat_id)`;

/** A list in the order of its index, for any columns and any condition on the row. */
export function pageQuery(
  shape: Shape,
  scope: 'all' | 'chat',
  order: 'asc' | 'desc',
  columns: string,
  condition: string,
): string {
  if (scope === 'all') {
    return `SELECT ${columns} FROM message m
      WHERE ${between(order, 'm.date', 'm.ROWID')} AND ${condition} AND ${isListed(shape)}
      ORDER BY m.date ${order}, m.ROWID ${order} LIMIT ${N} OFFSET ${N}`;
  }
  const date = hasDatedJoins(shape) ? 'j.message_date' : 'NULL';
  return `SELECT ${columns} FROM chat_message_join j CROSS JOIN message m ON m.ROWID = j.message_id
    WHERE j.chat_id = ${N} AND ${between(order, date, 'j.message_id')} AND ${condition} AND ${IS_LOWEST_CHAT}
    ORDER BY ${date} ${order}, j.message_id ${order} LIMIT ${N} OFFSET ${N}`;
}

/**
 * Between two bounds, the one a page begins at to the row id. SQLite stops reading an index early with one such
 * pair, but not with two.
 */
function between(order: 'asc' | 'desc', date: string, rowId: string): string {
  return order === 'asc'
    ? `(${date}, ${rowId}) > (${N}, ${N}) AND ${date} <= ${N}`
    : `${date} > ${N} AND (${date}, ${rowId}) < (${N}, ${N})`;
}

function isNoReaction(shape: Shape): string {
  return shape.hasColumn('message', 'associated_message_type') ? 'ifnull(m.associated_message_type, 0) = 0' : '1';
}

/** Decision B13: what the person deleted is kept for a while, and is in no list. */
function isListed(shape: Shape): string {
  if (!shape.hasTable('chat_recoverable_message_join')) return '1';
  return `NOT (m.ROWID IN (SELECT message_id FROM chat_recoverable_message_join WHERE message_id IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM chat_message_join j WHERE j.message_id = m.ROWID))`;
}

function wherever(shape: Shape): string {
  if (!shape.hasTable('chat_recoverable_message_join')) return LOWEST_CHAT;
  return `ifnull(${LOWEST_CHAT},
    (SELECT min(r.chat_id) FROM chat_recoverable_message_join r WHERE r.message_id = m.ROWID))`;
}

function column(shape: Shape, name: string, missing: string): string {
  return shape.hasColumn('message', name) ? `m.${name}` : missing;
}

/** True when any of these columns is there and set. */
function anyOf(shape: Shape, ...names: readonly string[]): string {
  const there = names.filter((name) => shape.hasColumn('message', name)).map((name) => `m.${name}`);
  return there.length === 0 ? '0' : `(${there.join(' OR ')})`;
}

function messageColumns(shape: Shape, chat: string, attachments: string): string {
  const blob = shape.hasColumn('message', 'attributedbody')
    ? `CASE WHEN length(m.attributedBody) <= ${LARGEST_BODY_BYTES} THEN m.attributedBody
       WHEN m.attributedBody IS NOT NULL THEN 0 END`
    : 'NULL';
  const caller = shape.hasColumn('message', 'destination_caller_id') ? "nullif(m.destination_caller_id, '')" : 'NULL';
  return `${KEY_COLUMNS.replace('m.ROWID', 'm.ROWID, m.guid')}, ${chat},
    CASE WHEN m.is_from_me THEN ifnull(${caller}, ${column(shape, 'account', 'NULL')}) ELSE m.handle_id END,
    ${statusCode(shape)}, CASE WHEN m.text <> '' THEN m.text ELSE ${blob} END, ${attachments}`;
}

/** Decision B7 as a number that `rows.ts` names; the columns are asked in its order and no further than needed. */
function statusCode(shape: Shape): string {
  const isScheduled = shape.hasColumn('message', 'schedule_type') ? 'm.schedule_type = 2' : '0';
  return `CASE WHEN m.is_from_me THEN CASE
      WHEN ${isScheduled} THEN 2
      WHEN ${anyOf(shape, 'error')} THEN 3
      WHEN ${anyOf(shape, 'date_read', 'is_read')} THEN 4
      WHEN ${anyOf(shape, 'is_delivered', 'date_delivered')} THEN 5
      WHEN ${column(shape, 'is_sent', '1')} THEN 6 ELSE 7 END
    WHEN ${anyOf(shape, 'is_read', 'date_read')} THEN 1 ELSE 0 END`;
}

function attachmentColumns(shape: Shape): string {
  return ['transfer_name', 'mime_type', 'total_bytes', 'transfer_state']
    .map((name) => (shape.hasColumn('attachment', name) ? `a.${name}` : 'NULL'))
    .join(', ');
}

function hasAttachmentTables(shape: Shape): boolean {
  return shape.hasTable('message_attachment_join') && shape.hasTable('attachment');
}

function hasAttachments(shape: Shape): string {
  if (!hasAttachmentTables(shape)) return '0';
  // SQLite opens the index of an IN once, that of an EXISTS for every row.
  return 'ifnull(m.ROWID IN (SELECT message_id FROM message_attachment_join), 0)';
}

function joinedAttachments(shape: Shape): string {
  if (!hasAttachmentTables(shape)) return '0';
  return '(SELECT count(*) FROM message_attachment_join a WHERE a.message_id = m.ROWID)';
}

/** NULL when the database cannot say: then nothing is waited for. */
function announcesAttachments(shape: Shape): string {
  if (!hasAttachmentTables(shape)) return 'NULL';
  return anyOf(shape, 'cache_has_attachments');
}

function unnamedAttachments(shape: Shape): string {
  if (!hasAttachmentTables(shape)) return '0';
  return `EXISTS (SELECT 1 FROM message_attachment_join j LEFT JOIN attachment a ON a.ROWID = j.attachment_id
    WHERE j.message_id = m.ROWID AND ${isShown(shape)} AND trim(ifnull(a.filename, '')) = '')`;
}

function isShown(shape: Shape): string {
  return shape.hasColumn('attachment', 'hide_attachment') ? 'ifnull(a.hide_attachment, 0) = 0' : '1';
}
