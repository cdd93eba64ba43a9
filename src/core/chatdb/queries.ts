import { chatGuidVariants } from '../model/address.ts';
import { decodable } from './added-columns.ts';
import {
  hasAttachments,
  hasAttachmentTables,
  joinedAttachments,
  listedAttachmentsSql,
  unnamedAttachments,
} from './attachment-sql.ts';
import { bodySql } from './body-sql.ts';
import {
  CHAT_COLUMNS,
  DETAIL_COLUMNS,
  ENTRY_COLUMNS,
  INT_PARAM,
  instantSql,
  MESSAGE_COLUMNS,
  PENDING_COLUMNS,
  STATUS_CODE,
  TEXT_PARAM,
} from './columns.ts';
import { reactionTargets } from './reaction-target.ts';
import { anyChat, lacksJoin } from './row-chat.ts';
import { flagsSql } from './row-flags.ts';
import {
  hasContent,
  isHidden,
  isJunk,
  isMessage,
  isPartOfPoll,
  isReaction,
  isScheduled,
  isUnsent,
  lacksHandle,
  linkTextGuid,
} from './row-kinds.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';

/** The SQL for one schema of chat.db, except the SQL of lists, which is in `list-queries.ts`. */
export interface Queries {
  /** `MESSAGE_COLUMNS` of one message. Parameter: its row id. */
  readonly message: string;
  /** `MESSAGE_COLUMNS` of several rows. Parameter: a JSON array of row ids. */
  readonly messagesById: string;
  /** `ENTRY_COLUMNS` of the rows in a range of row ids. Parameters: row id before the first, last row id, limit. */
  readonly entries: string;
  /**
   * `PENDING_COLUMNS` of the rows above a row id. Parameters: row id, limit. Excludes row ids that a JavaScript number
   * cannot represent exactly: the next read could not begin exactly behind such a row, and would repeat it.
   */
  readonly pendingRows: string;
  /** Number of the rows in a range of row ids that cause no event. Parameters: first and last row id. */
  readonly silentRows: string;
  /**
   * Length in bytes of each attributedBody in a range of row ids. SQLite knows the lengths without reading the bodies.
   * Undefined if the table has no such column. Parameters: row id before the first, last row id, limit.
   */
  readonly bodyLengths: string | undefined;
  /**
   * `MESSAGE_COLUMNS` and `linkTextGuid` of outgoing messages above a row id. Parameters: row id, earliest date in
   * nanoseconds since 2001, limit.
   */
  readonly ownRows: string;
  /** `DETAIL_COLUMNS` of one row. Parameter: its row id. */
  readonly details: string;
  /**
   * `ENTRY_COLUMNS` of the reactions to a message, in any order. Parameters: `reactionTargets` of the message's guid.
   * Undefined unless chat.db has an index that finds reactions.
   */
  readonly reactions: string | undefined;
  /** `ATTACHMENT_COLUMNS` of a message's listed attachments, in stored order. */
  readonly attachments: string;
  readonly attributedBody: string;
  /**
   * Text, attributedBody and message_summary_info of a row. Parameter: its row id. A blob too large to be decoded is
   * selected as its length.
   */
  readonly editedBody: string;
  readonly newest: string;
  readonly highestRowId: string;
  readonly guid: string;
  readonly rowIdOfGuid: string;
  /** `CHAT_COLUMNS` of one chat. Parameter: its row id. */
  readonly chat: string;
  /** Row ids of the chats that an id may refer to. Parameters: `chatGuidVariants` of the id. */
  readonly chatRowIds: string;
  /** Row ids of the chats with exactly this guid. */
  readonly chatsNamed: string;
  readonly participants: string;
  readonly handle: string;
}

export const queriesOf = perSchema((schema): Queries => {
  const entry = ENTRY_COLUMNS.select({ ...messageParts(schema, anyChat(schema)), ...reactionParts(schema) });
  const message = MESSAGE_COLUMNS.select(messageParts(schema, anyChat(schema)));
  // Without an index on `associated_message_guid`, the reactions to each message would cost a full scan. Then no
  // reactions are listed (decision B1).
  const hasReactions =
    schema.hasColumn('message', 'associated_message_type') && schema.hasIndex('message', 'associated_message_guid');
  return {
    message: `SELECT ${message} FROM message m WHERE m.ROWID = ? AND ${isMessage(schema)}`,
    messagesById: `SELECT ${message} FROM json_each(?) i CROSS JOIN message m ON m.ROWID = i.value
      WHERE ${isMessage(schema)}`,
    entries: `SELECT ${entry} FROM message m WHERE m.ROWID > ${INT_PARAM} AND m.ROWID <= ${INT_PARAM}
      AND NOT ${isPartOfPoll(schema)}
      ORDER BY m.ROWID LIMIT ${INT_PARAM}`,
    pendingRows: `SELECT ${PENDING_COLUMNS.select(pendingParts(schema))} FROM message m WHERE m.ROWID > ${INT_PARAM} AND m.ROWID <= ${Number.MAX_SAFE_INTEGER}
      ORDER BY m.ROWID LIMIT ${INT_PARAM}`,
    silentRows: `SELECT count(*) FROM message m WHERE m.ROWID BETWEEN ${INT_PARAM} AND ${INT_PARAM} AND ${isPartOfPoll(schema)}`,
    bodyLengths: schema.hasColumn('message', 'attributedbody')
      ? `SELECT length(m.attributedBody) FROM message m WHERE m.ROWID > ${INT_PARAM} AND m.ROWID <= ${INT_PARAM}
         ORDER BY m.ROWID LIMIT ${INT_PARAM}`
      : undefined,
    ownRows: `SELECT ${message}, ${linkTextGuid(schema)} FROM message m WHERE m.ROWID > ${INT_PARAM} AND m.is_from_me
      AND ${instantSql('m.date')} >= ${INT_PARAM} AND ${isMessage(schema)}
      ORDER BY m.ROWID LIMIT ${INT_PARAM}`,
    details: `SELECT ${DETAIL_COLUMNS.select(detailParts(schema))} FROM message m WHERE m.ROWID = ?`,
    reactions: hasReactions
      ? `SELECT ${entry} FROM ${schema.messagesByIndex} m
         WHERE m.associated_message_guid IN (${parameters(reactionTargets(''))}) AND ${isReaction(schema)}`
      : undefined,
    attachments: hasAttachmentTables(schema) ? listedAttachmentsSql(schema) : NOTHING,
    attributedBody: 'SELECT attributedBody FROM message WHERE ROWID = ?',
    editedBody: `SELECT m.text, ${decodable(column(schema, 'attributedbody'))},
      ${decodable(column(schema, 'message_summary_info'))} FROM message m WHERE m.ROWID = ?`,
    newest: 'SELECT ROWID, guid FROM message ORDER BY ROWID DESC LIMIT 1',
    highestRowId: schema.hasTable('sqlite_sequence')
      ? `SELECT max(ifnull((SELECT max(ROWID) FROM message), 0),
           ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'message'), 0))`
      : 'SELECT ifnull(max(ROWID), 0) FROM message',
    guid: 'SELECT guid FROM message WHERE ROWID = ?',
    rowIdOfGuid: `SELECT ROWID FROM ${schema.messagesByIndex} WHERE guid = ${TEXT_PARAM}`,
    chat: `SELECT ${CHAT_COLUMNS.select(chatParts(schema))} FROM chat c WHERE c.ROWID = ?`,
    chatsNamed: `SELECT ROWID FROM chat WHERE guid = ${TEXT_PARAM}`,
    chatRowIds: `SELECT ROWID FROM chat WHERE guid IN (${parameters(chatGuidVariants(''))})`,
    participants: schema.hasTable('chat_handle_join')
      ? `SELECT h.id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id
         WHERE j.chat_id = ${INT_PARAM} ORDER BY j.ROWID`
      : NOTHING,
    handle: 'SELECT id FROM handle WHERE ROWID = ?',
  };
});

/** Stands in for a query on tables that chat.db lacks: takes one parameter, as that query does, and selects no row. */
const NOTHING = 'SELECT NULL WHERE ? IS NULL';

function parameters(values: readonly string[]): string {
  return values.map(() => TEXT_PARAM).join(', ');
}

/** SQL that is true if the row `m` counts for `last_message_at` (decision B12). */
export function isCounted(schema: SchemaInfo): string {
  const scheduled = isScheduled(schema);
  const isDue = scheduled === '0' ? '1' : `${scheduled} IS NOT 1`;
  return `${isDue} AND ${isNotHidden(schema)}`;
}

/** SQL that is true unless the row `m` is hidden. */
export function isNotHidden(schema: SchemaInfo): string {
  return schema.hidden.length === 0 ? '1' : `NOT (${isHidden(schema)})`;
}

/**
 * SQL that is true unless the user deleted the message `m`. A deleted message stays in chat.db for a while (decision
 * B13).
 */
export function isListed(schema: SchemaInfo): string {
  if (!schema.hasTable('chat_recoverable_message_join')) return '1';
  return `NOT (m.ROWID IN (SELECT message_id FROM chat_recoverable_message_join WHERE message_id IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM chat_message_join j WHERE j.message_id = m.ROWID))`;
}

/** SQL for a column of the row `m`, or `missing` if the database lacks it. */
export function column(schema: SchemaInfo, name: string, missing = 'NULL'): string {
  return schema.hasColumn('message', name) ? `m.${name}` : missing;
}

/** SQL that is true if any of these columns of the row `m` is set. Columns that chat.db lacks count as not set. */
export function anyOf(schema: SchemaInfo, ...names: readonly string[]): string {
  const there = names.filter((name) => schema.hasColumn('message', name)).map((name) => `m.${name}`);
  return there.length === 0 ? '0' : `(${there.join(' OR ')})`;
}

/** Returns the SQL for each of `MESSAGE_COLUMNS`. `chat` is the SQL for the row id of the message's chat. */
export function messageParts(schema: SchemaInfo, chat: string) {
  const caller = schema.hasColumn('message', 'destination_caller_id') ? "nullif(m.destination_caller_id, '')" : 'NULL';
  return {
    rowId: 'm.ROWID',
    guid: 'm.guid',
    date: 'm.date',
    chat,
    party: `CASE WHEN m.is_from_me THEN ifnull(${caller}, ${column(schema, 'account')}) ELSE m.handle_id END`,
    status: statusSql(schema),
    body: bodySql(schema),
    attachments: hasAttachments(schema),
  };
}

export function reactionParts(schema: SchemaInfo) {
  return {
    associatedType: column(schema, 'associated_message_type', '0'),
    associatedGuid: column(schema, 'associated_message_guid'),
    associatedEmoji: column(schema, 'associated_message_emoji'),
    flags: flagsSql(entryFlags(schema)),
  };
}

export function entryFlags(schema: SchemaInfo) {
  return { isMessage: isMessage(schema), isJunk: isJunk(schema), isHidden: isHidden(schema) };
}

function pendingParts(schema: SchemaInfo) {
  return {
    ...messageParts(schema, anyChat(schema)),
    ...reactionParts(schema),
    attachments: joinedAttachments(schema),
    announcesAttachments: announcesAttachments(schema),
    hasUnnamedAttachment: unnamedAttachments(schema),
    flags: flagsSql({
      ...entryFlags(schema),
      isPartOfPoll: isPartOfPoll(schema),
      lacksHandle: lacksHandle(schema),
      lacksJoin: lacksJoin(schema),
      isImessage: schema.hasColumn('message', 'service') ? "m.service = 'iMessage'" : '0',
    }),
  };
}

function detailParts(schema: SchemaInfo) {
  return {
    service: column(schema, 'service'),
    itemType: column(schema, 'item_type'),
    balloon: column(schema, 'balloon_bundle_id'),
    replyTo: column(schema, 'thread_originator_guid'),
    error: column(schema, 'error'),
    edited: column(schema, 'date_edited'),
    retracted: column(schema, 'date_retracted'),
    isUnsent: isUnsent(schema),
    delivered: column(schema, 'date_delivered'),
    read: column(schema, 'date_read'),
    textRow: linkTextGuid(schema),
    caller: column(schema, 'destination_caller_id'),
    account: column(schema, 'account'),
    filterAction: column(schema, 'filter_action'),
    filterSubAction: column(schema, 'filter_sub_action'),
    partCount: column(schema, 'part_count'),
    hasAttachments: hasAttachments(schema),
    hasContent: hasContent(schema),
  };
}

function chatParts(schema: SchemaInfo) {
  const of = (name: string): string => (schema.hasColumn('chat', name) ? `c.${name}` : 'NULL');
  return {
    guid: 'c.guid',
    displayName: of('display_name'),
    style: of('style'),
    ownAddress: of('last_addressed_handle'),
    service: of('service_name'),
    isFiltered: schema.hasColumn('chat', 'is_filtered') ? 'ifnull(c.is_filtered, 0)' : 'NULL',
    isBlackholed: of('is_blackholed'),
  };
}

/**
 * SQL for the status as a `STATUS_CODE`. Checks the columns in the order of decision B7, up to the first that applies.
 */
function statusSql(schema: SchemaInfo): string {
  return `CASE WHEN m.is_from_me THEN CASE
      WHEN ${isScheduled(schema)} THEN ${STATUS_CODE.scheduled}
      WHEN ${anyOf(schema, 'error')} THEN ${STATUS_CODE.failed}
      WHEN ${anyOf(schema, 'date_read', 'is_read')} THEN ${STATUS_CODE.read}
      WHEN ${anyOf(schema, 'is_delivered', 'date_delivered')} THEN ${STATUS_CODE.delivered}
      WHEN ${column(schema, 'is_sent', '1')} THEN ${STATUS_CODE.sent} ELSE ${STATUS_CODE.unsent} END
    WHEN ${anyOf(schema, 'is_read', 'date_read')} THEN ${STATUS_CODE.readHere} ELSE ${STATUS_CODE.received} END`;
}

/**
 * SQL that is true if the row `m` says that it has attachments. Messages may store the attachments later than the row.
 * NULL if chat.db has no tables for attachments.
 */
function announcesAttachments(schema: SchemaInfo): string {
  if (!hasAttachmentTables(schema)) return 'NULL';
  return anyOf(schema, 'cache_has_attachments');
}
