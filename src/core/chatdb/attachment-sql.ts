import type { SchemaInfo } from './chatdb-handle.ts';
import { ATTACHMENT_COLUMNS, INT_PARAM } from './columns.ts';
import { isPartlyUnsent, isUnsent } from './row-kinds.ts';

/**
 * SQL for `ATTACHMENT_COLUMNS` of a message's listed attachments, in stored order. Parameter: row id of the message.
 */
export function listedAttachmentsSql(schema: SchemaInfo): string {
  return `SELECT ${ATTACHMENT_COLUMNS.select(attachmentParts(schema))}
    FROM message_attachment_join j JOIN attachment a ON a.ROWID = j.attachment_id
    WHERE j.message_id = ${INT_PARAM} AND ${isShown(schema)} AND ${isNotUnsent(schema)}
    ORDER BY j.ROWID`;
}

export function hasAttachmentTables(schema: SchemaInfo): boolean {
  return schema.hasTable('message_attachment_join') && schema.hasTable('attachment');
}

/** SQL that is 1 if the message `m` has attachments. */
export function hasAttachments(schema: SchemaInfo): string {
  if (!hasAttachmentTables(schema)) return '0';
  // IN is faster than EXISTS here: SQLite opens the join table's index once instead of once per message.
  return 'ifnull(m.ROWID IN (SELECT message_id FROM message_attachment_join), 0)';
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
    bytes: of('total_bytes'),
    state: of('transfer_state'),
    guid: of('guid'),
    isPartlyUnsent: `(SELECT ${isPartlyUnsent(schema)} FROM message m WHERE m.ROWID = j.message_id)`,
  };
}

/**
 * SQL that is true unless the message of the join `j` was unsent. Unsending a message leaves its attachment rows in
 * place.
 */
function isNotUnsent(schema: SchemaInfo): string {
  const unsent = isUnsent(schema);
  return unsent === '0' ? '1' : `NOT EXISTS (SELECT 1 FROM message m WHERE m.ROWID = j.message_id AND ${unsent})`;
}

/** SQL that is true unless Messages hides the attachment `a`, as it does with the files of link previews. */
export function isShown(schema: SchemaInfo): string {
  return schema.hasColumn('attachment', 'hide_attachment') ? 'ifnull(a.hide_attachment, 0) = 0' : '1';
}
