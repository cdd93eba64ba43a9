import { addedColumns, decodable } from './added-columns.ts';
import { columnList } from './columns.ts';
import { column } from './queries.ts';
import { isScheduled } from './row-kinds.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';

/** The content of a row besides its text. A blob too large to be decoded is selected as its length. */
export const ROW_CONTENT_COLUMNS = columnList({
  guid: 'value',
  text: 'value',
  attributedBody: 'value',
  summaryInfo: 'value',
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

interface ContentQueries {
  /** `ROW_CONTENT_COLUMNS` and `addedColumns`. Parameter: row id. */
  readonly row: string;
  /** `addedColumns` of an attachment. Parameter: row id of the attachment. */
  readonly attachment: string;
  /**
   * Is there a row near a row with the same conversation and date by which a member gave themselves a new address?
   * Parameter: row id.
   */
  readonly newAddress: string | undefined;
}

export const contentQueriesOf = perSchema((schema): ContentQueries => {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  return {
    row: `SELECT ${ROW_CONTENT_COLUMNS.select(rowParts(schema))}${addedColumns(schema, 'row')} FROM message m WHERE m.ROWID = ?`,
    attachment: `SELECT a.ROWID${addedColumns(schema, 'file')} FROM attachment a WHERE a.ROWID = ?`,
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

function rowParts(schema: SchemaInfo) {
  const of = (name: string): string => column(schema, name);
  return {
    guid: 'm.guid',
    text: 'm.text',
    attributedBody: decodable(schema.hasColumn('message', 'attributedbody') ? 'm.attributedBody' : 'NULL'),
    summaryInfo: decodable(of('message_summary_info')),
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
