import { isUnsent } from './row-kinds.ts';
import type { SchemaInfo } from './schema-info.ts';

/**
 * Maximum size in bytes of an attributedBody that is selected with its row. Instead of a larger body, the row contains
 * the body's length, and the body is read separately if it is needed.
 */
const SMALL_BODY_BYTES = 16_384;
/** Selected in place of the body of an edited row, whose newest text `editedBody` finds. */
export const EDITED_BODY = -1;

/**
 * SQL for the stored text of the row `m`: a text, an attributedBody or its length, NULL for a row that was unsent, or
 * `EDITED_BODY`.
 */
export function bodySql(schema: SchemaInfo): string {
  const blob = schema.hasColumn('message', 'attributedbody')
    ? `CASE WHEN length(m.attributedBody) <= ${SMALL_BODY_BYTES} THEN m.attributedBody
       WHEN m.attributedBody IS NOT NULL THEN length(m.attributedBody) END`
    : 'NULL';
  const dates = ['date_edited', 'date_retracted'].filter((name) => schema.hasColumn('message', name));
  const edited = dates.map((name) => `m.${name}`).join(' OR ');
  const isEdited = `WHEN ${edited} THEN CASE WHEN ${isUnsent(schema)} THEN NULL ELSE ${EDITED_BODY} END`;
  return `CASE ${edited === '' ? '' : isEdited} WHEN m.text <> '' THEN m.text ELSE ${blob} END`;
}

/**
 * SQL for the total size in bytes of the columns that can hold a row's text. SQLite knows the sizes without reading the
 * values.
 */
export function textBytes(schema: SchemaInfo): string {
  const blob = schema.hasColumn('message', 'attributedbody')
    ? `ifnull(${schema.byteLength('m.attributedBody')}, 0)`
    : '0';
  const edits =
    schema.hasColumn('message', 'date_edited') && schema.hasColumn('message', 'message_summary_info')
      ? ' + CASE WHEN m.date_edited THEN ifnull(length(m.message_summary_info), 0) ELSE 0 END'
      : '';
  return `ifnull(${schema.byteLength('m.text')}, 0) + ${blob}${edits}`;
}
