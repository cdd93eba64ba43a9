import { decodable } from './body-sql.ts';
import { perSchema, type SchemaInfo } from './chatdb-handle.ts';
import { columnList, MAX_SECONDS, POLL_ROW_COLUMNS, TEXT_PARAM } from './columns.ts';
import { column, messageParts } from './queries.ts';
import { reactionTargets } from './reaction-target.ts';
import { anyChat } from './row-chat.ts';
import { isPollUpdate, isScheduled, VOTE_TYPE } from './row-kinds.ts';

/** The content of a row besides its text. A blob too large to be decoded is selected as its length. */
export const ROW_CONTENT_COLUMNS = columnList({
  guid: 'value',
  text: 'value',
  attributedBody: 'value',
  summaryInfo: 'value',
  payload: 'value',
  balloon: 'value',
  associatedGuid: 'value',
  associatedType: 'value',
  itemType: 'value',
  groupAction: 'value',
  groupTitle: 'value',
  handle: 'value',
  otherHandle: 'value',
  shareStatus: 'value',
  shareDirection: 'value',
  isFromMe: 'value',
  effect: 'value',
  subject: 'value',
  threadGuid: 'value',
  threadPart: 'value',
  /** 1 while Messages is still to send the row. */
  isScheduled: 'value',
  scheduleState: 'value',
});

/**
 * The columns that describe an attachment's content, such as a sticker or a transcript. Its file is read separately.
 */
export const ATTACHMENT_CONTENT_COLUMNS = columnList({
  guid: 'value',
  isSticker: 'value',
  stickerInfo: 'value',
  attribution: 'value',
  description: 'value',
  userInfo: 'value',
});

interface ContentQueries {
  /** `ROW_CONTENT_COLUMNS`. Parameter: row id. */
  readonly row: string;
  /** `ATTACHMENT_CONTENT_COLUMNS`. Parameter: row id of the attachment. */
  readonly attachment: string;
  /**
   * `POLL_ROW_COLUMNS` of a poll's votes and added options, newest first. Parameters: the `reactionTargets` of the
   * poll's guid. Undefined if no index supports the query.
   */
  readonly pollRows: string | undefined;
  /**
   * Row id of the message with a poll's question: the next row by the poll's sender, if that row replies to the poll.
   * Parameter: row id of the poll.
   */
  readonly caption: string | undefined;
  /**
   * Is there a row near a row with the same conversation and date by which a member gave themselves a new address?
   * Parameter: row id.
   */
  readonly newAddress: string | undefined;
}

export const contentQueriesOf = perSchema((schema): ContentQueries => {
  const of = (name: string): string => (schema.hasColumn('attachment', name) ? `a.${name}` : 'NULL');
  const has = (name: string): boolean => schema.hasColumn('message', name);
  const names = has('associated_message_type') && schema.hasIndex('message', 'associated_message_guid');
  const pollParts = {
    ...messageParts(schema, anyChat(schema)),
    associatedType: column(schema, 'associated_message_type'),
    payload: decodable(column(schema, 'payload_data')),
  };
  const targets = reactionTargets('').map(() => TEXT_PARAM);
  return {
    row: `SELECT ${ROW_CONTENT_COLUMNS.select(rowParts(schema))} FROM message m WHERE m.ROWID = ?`,
    attachment: `SELECT ${ATTACHMENT_CONTENT_COLUMNS.select({
      guid: of('guid'),
      isSticker: of('is_sticker'),
      stickerInfo: decodable(of('sticker_user_info')),
      attribution: decodable(of('attribution_info')),
      description: of('emoji_image_short_description'),
      userInfo: decodable(of('user_info')),
    })} FROM attachment a WHERE a.ROWID = ?`,
    pollRows: names
      ? `SELECT ${POLL_ROW_COLUMNS.select(pollParts)} FROM ${schema.messagesByIndex} m
         WHERE m.associated_message_guid IN (${targets.join(', ')})
           AND (m.associated_message_type = ${VOTE_TYPE} OR ${isPollUpdate(schema)})
         ORDER BY m.ROWID DESC LIMIT ${MAX_POLL_ROWS}`
      : undefined,
    caption: has('reply_to_guid') ? captionSql(schema) : undefined,
    newAddress: has('group_action_type') && has('other_handle') ? NEW_ADDRESS_SQL : undefined,
  };
});

/** Messages writes both rows of a changed address at once. */
const ADDRESS_ROWS = 20;
const NEW_ADDRESS_SQL = `SELECT 1 FROM message r CROSS JOIN message m
  ON m.ROWID BETWEEN r.ROWID - ${ADDRESS_ROWS} AND r.ROWID + ${ADDRESS_ROWS}
  WHERE r.ROWID = ? AND m.date = r.date AND m.item_type = 1 AND m.group_action_type = 0
    AND m.other_handle = m.handle_id AND m.handle_id <> 0
    AND EXISTS (SELECT 1 FROM chat_message_join a JOIN chat_message_join b ON b.chat_id = a.chat_id
      WHERE a.message_id = r.ROWID AND b.message_id = m.ROWID)
  LIMIT 1`;

/** Maximum number of votes and added options read per poll, newest first. No real poll has as many. */
const MAX_POLL_ROWS = 2000;
/**
 * Number of row ids after a poll that are searched for its caption. Rows of other conversations may come between the
 * two.
 */
const CAPTION_ROWS = 50;
const CAPTION_S = 5;

/**
 * SQL for the row with a poll's question: an ordinary row after the poll by the same sender (decision V2; imsg, pull
 * request 155).
 */
function captionSql(schema: SchemaInfo): string {
  const thread = column(schema, 'thread_originator_guid');
  const isCaption = `m.reply_to_guid = p.guid AND ifnull(${thread}, '') = '' AND m.date >= p.date
    AND m.date <= p.date + CASE WHEN p.date > ${MAX_SECONDS} THEN ${CAPTION_S * 1e9} ELSE ${CAPTION_S} END`;
  return `SELECT CASE WHEN ${isCaption} THEN m.ROWID END
    FROM message p CROSS JOIN message m ON m.ROWID > p.ROWID AND m.ROWID <= p.ROWID + ${CAPTION_ROWS}
    WHERE p.ROWID = ? AND ifnull(m.handle_id, 0) = ifnull(p.handle_id, 0)
      AND ifnull(m.is_from_me, 0) = ifnull(p.is_from_me, 0)
    ORDER BY m.ROWID LIMIT 1`;
}

function rowParts(schema: SchemaInfo) {
  const of = (name: string): string => column(schema, name);
  return {
    guid: 'm.guid',
    text: 'm.text',
    attributedBody: decodable(schema.hasColumn('message', 'attributedbody') ? 'm.attributedBody' : 'NULL'),
    summaryInfo: decodable(of('message_summary_info')),
    payload: decodable(of('payload_data')),
    balloon: of('balloon_bundle_id'),
    associatedGuid: of('associated_message_guid'),
    associatedType: of('associated_message_type'),
    itemType: of('item_type'),
    groupAction: of('group_action_type'),
    groupTitle: of('group_title'),
    handle: 'm.handle_id',
    otherHandle: of('other_handle'),
    shareStatus: of('share_status'),
    shareDirection: of('share_direction'),
    isFromMe: 'm.is_from_me',
    effect: of('expressive_send_style_id'),
    subject: of('subject'),
    threadGuid: of('thread_originator_guid'),
    threadPart: of('thread_originator_part'),
    isScheduled: isScheduled(schema),
    scheduleState: of('schedule_state'),
  };
}
