import { ATTACHMENT_COLUMNS, INT_PARAM, TEXT_PARAM } from './columns.ts';
import { isPartlyUnsent, isUnsent } from './row-kinds.ts';
import { perSchema, type SchemaInfo } from './schema-info.ts';

/**
 * SQL for `ATTACHMENT_COLUMNS` of a message's listed attachments, in stored order. An attachment whose row is gone has
 * only NULLs. Parameter: row id of the message.
 */
export function listedAttachmentsSql(schema: SchemaInfo): string {
  // CROSS JOIN keeps this order: the message's row is found once, not once for each attachment.
  return `SELECT ${ATTACHMENT_COLUMNS.select(attachmentParts(schema))}
    FROM message m CROSS JOIN message_attachment_join j ON j.message_id = m.ROWID
      LEFT JOIN attachment a ON a.ROWID = j.attachment_id
    WHERE m.ROWID = ${INT_PARAM} AND ${isShown(schema)} AND NOT ${isUnsent(schema)} AND ${isNoPreview(schema)}
    ORDER BY j.ROWID`;
}

/** Maximum size of a body in which attachments without a join are looked for: more than any list of pictures needs. */
const MAX_BODY_BYTES = 32_768;

/**
 * SQL for the number of placeholders in attributedBody, counted here because nearly no body has more than joins, and
 * need not leave SQLite then. Two neighbouring bytes can look like one; the body's decoder decides.
 */
const PLACES =
  "(length(hex(m.attributedBody)) - length(replace(hex(m.attributedBody), hex(X'EFBFBC'), ''))) / length(hex(X'EFBFBC'))";

/** Queries for the attachments that a body names, and that the joins lack. */
export interface BodyAttachmentQueries {
  /**
   * The attributedBody of a message that has more places for attachments than a number, unless it is large, of a link
   * or an app, or unsent. Parameters: row id, number.
   */
  readonly body: string;
  /**
   * `ATTACHMENT_COLUMNS` of an attachment, then 1 if it is hidden or joined to any message. Parameter: the guid of the
   * attachment.
   */
  readonly attachment: string;
}

/**
 * Returns queries for attachments without a join: macOS 15.7.7 leaves out the join of some pictures in groups
 * (BlueBubbles server, issue 816). Undefined if no index supports them.
 */
export const bodyAttachmentQueriesOf = perSchema((schema): BodyAttachmentQueries | undefined => {
  if (!hasAttachmentTables(schema) || !schema.hasColumn('message', 'attributedbody')) return undefined;
  const isIndexed =
    schema.hasIndex('message_attachment_join', 'attachment_id') && schema.hasIndex('attachment', 'guid');
  if (!isIndexed) return undefined;
  const balloon = schema.hasColumn('message', 'balloon_bundle_id') ? "ifnull(m.balloon_bundle_id, '') = ''" : '1';
  const isJoined = 'EXISTS (SELECT 1 FROM message_attachment_join j WHERE j.attachment_id = a.ROWID)';
  return {
    body: `SELECT m.attributedBody FROM message m WHERE m.ROWID = ${INT_PARAM} AND ${balloon}
      AND length(m.attributedBody) <= ${MAX_BODY_BYTES} AND ${PLACES} > ${INT_PARAM} AND NOT ${isUnsent(schema)}`,
    attachment: `SELECT ${ATTACHMENT_COLUMNS.select({ ...attachmentParts(schema), isPartlyUnsent: '0' })},
        ${isJoined} OR NOT ${isShown(schema)}
      FROM attachment a WHERE a.guid = ${TEXT_PARAM}`,
  };
});

export function hasAttachmentTables(schema: SchemaInfo): boolean {
  return schema.hasTable('message_attachment_join') && schema.hasTable('attachment');
}

/** SQL that is 1 if the message `m` has attachments, or says so although none is joined. */
export function hasAttachments(schema: SchemaInfo): string {
  if (!hasAttachmentTables(schema)) return '0';
  // IN is faster than EXISTS here: SQLite opens the join table's index once instead of once per message.
  const joined = 'ifnull(m.ROWID IN (SELECT message_id FROM message_attachment_join), 0)';
  return schema.hasColumn('message', 'cache_has_attachments')
    ? `(${joined} OR ifnull(m.cache_has_attachments, 0))`
    : joined;
}

/** SQL for the number of attachments of the message `m`. */
export function joinedAttachments(schema: SchemaInfo): string {
  if (!hasAttachmentTables(schema)) return '0';
  return '(SELECT count(*) FROM message_attachment_join a WHERE a.message_id = m.ROWID)';
}

/** SQL that is 1 if an attachment of the message `m` has no file name yet. */
export function unnamedAttachments(schema: SchemaInfo): string {
  if (!hasAttachmentTables(schema)) return '0';
  return `EXISTS (SELECT 1 FROM message_attachment_join j LEFT JOIN attachment a ON a.ROWID = j.attachment_id
    WHERE j.message_id = m.ROWID AND ${isShown(schema)} AND trim(ifnull(a.filename, '')) = '')`;
}

function attachmentParts(schema: SchemaInfo) {
  const of = (name: string): string => (schema.hasColumn('attachment', name) ? `a.${name}` : 'NULL');
  return {
    rowId: 'a.ROWID',
    filename: 'a.filename',
    transferName: of('transfer_name'),
    mediaType: of('mime_type'),
    uti: of('uti'),
    bytes: of('total_bytes'),
    state: of('transfer_state'),
    guid: of('guid'),
    isPartlyUnsent: isPartlyUnsent(schema),
  };
}

/**
 * SQL that is true unless the message `m` is a link or an app, and its attachment `a` has no file. Such an attachment
 * is part of a preview.
 */
function isNoPreview(schema: SchemaInfo): string {
  if (!schema.hasColumn('message', 'balloon_bundle_id')) return '1';
  return `(trim(ifnull(a.filename, '')) <> '' OR ifnull(m.balloon_bundle_id, '') = '')`;
}

/** SQL that is true unless Messages hides the attachment `a`, as it does with the files of link previews. */
export function isShown(schema: SchemaInfo): string {
  return schema.hasColumn('attachment', 'hide_attachment') ? 'ifnull(a.hide_attachment, 0) = 0' : '1';
}
