import type { SchemaInfo } from './database.ts';

/** The key `rp` of a binary property list: the marker of two ASCII characters, then its text. */
const RETRACTED_PARTS_KEY = "X'527270'";

/**
 * SQL that is true when nothing of the message `m` is left because its sender unsent it (U3). Undo Send leaves
 * `date_retracted` at 0: on macOS 26 it was 0 in all of 33,600 rows, and the 14 unsent ones had `date_edited`, neither
 * text nor body, and their parts under `rp` in message_summary_info (nixfred/blip, pull request 32). In other databases
 * `part_count` was 0 (mautrix/imessage, pull request 199). A row that was edited and has lost its text, but says neither,
 * is only edited.
 */
export function isUnsent(schema: SchemaInfo): string {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  const retracted = has('date_retracted') ? ['ifnull(m.date_retracted, 0) <> 0'] : [];
  const left = has('attributedbody') ? ' AND ifnull(length(m.attributedBody), 0) = 0' : '';
  const says = [
    ...(has('part_count') ? ['ifnull(m.part_count, 0) = 0'] : []),
    ...(has('message_summary_info') ? [`ifnull(instr(m.message_summary_info, ${RETRACTED_PARTS_KEY}), 0) > 0`] : []),
  ].join(' OR ');
  const emptied = has('date_edited')
    ? [`(ifnull(m.date_edited, 0) <> 0 AND ifnull(m.text, '') = ''${left} AND (${says || '1'}))`]
    : [];
  return `(${[...retracted, ...emptied].join(' OR ') || '0'})`;
}
