import { addedCases } from './added-columns.ts';
import type { SchemaInfo } from './schema-info.ts';

/**
 * The key `rp` (retracted parts) as a binary property list stores it: the marker of an ASCII text with two characters,
 * then the text.
 */
const RETRACTED_PARTS_KEY = "X'527270'";

/**
 * SQL that is true if the sender unsent the whole message `m` (decision U3). Undo Send leaves `date_retracted` at 0: on
 * macOS 26 it was 0 in all of 33,600 rows. The 14 unsent rows among them had `date_edited`, neither text nor body, and
 * the key `rp` in message_summary_info (nixfred/blip, pull request 32). In other databases, unsent rows had a
 * `part_count` of 0 (mautrix/imessage, pull request 199). So an edited row without text is unsent if it has `rp` or a
 * `part_count` of 0, and one with a text if it has both, because that text is what was withdrawn (imsgcrawl, pull
 * request 8).
 */
export function isUnsent(schema: SchemaInfo): string {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  const retracted = has('date_retracted') ? ['ifnull(m.date_retracted, 0) <> 0'] : [];
  const left = has('attributedbody') ? ' AND ifnull(length(m.attributedBody), 0) = 0' : '';
  const isRetracted = `ifnull(instr(m.message_summary_info, ${RETRACTED_PARTS_KEY}), 0) > 0`;
  const says = [
    ...(has('part_count') ? ['ifnull(m.part_count, 0) = 0'] : []),
    ...(has('message_summary_info') ? [isRetracted] : []),
  ].join(' OR ');
  const isEmpty = `(ifnull(m.text, '') = ''${left} AND (${says || '1'}))`;
  const isWithdrawn =
    has('part_count') && has('message_summary_info') ? ` OR (m.part_count = 0 AND ${isRetracted})` : '';
  const emptied = has('date_edited') ? [`(ifnull(m.date_edited, 0) <> 0 AND (${isEmpty}${isWithdrawn}))`] : [];
  const cases = [...retracted, ...emptied];
  return cases.length === 0 ? '0' : `(${cases.join(' OR ')})`;
}

/**
 * SQL that is true if Messages is still to send the row `m` of Send Later. A row that was sent keeps its
 * `schedule_type`, with another state: macOS's own index asks for `is_sent` and `schedule_type` together.
 */
export function isScheduled(schema: SchemaInfo): string {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  if (!has('schedule_type')) return '0';
  const waits = has('schedule_state') ? ' AND m.schedule_state IN (1, 2)' : '';
  const isSent = has('is_sent') ? ' AND ifnull(m.is_sent, 0) = 0' : '';
  return `(m.schedule_type = 2${waits}${isSent})`;
}

/** SQL that is true if a part of the message `m` may have been unsent while its other parts remain. */
export function isPartlyUnsent(schema: SchemaInfo): string {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  if (!has('date_edited') || !has('message_summary_info')) return '0';
  return `(ifnull(m.date_edited, 0) <> 0 AND ifnull(instr(m.message_summary_info, ${RETRACTED_PARTS_KEY}), 0) > 0)`;
}

/**
 * SQL that is 1 if macOS 27 filed the row `m` as junk (decision V5): `filter_action` 2 (imessage-exporter, pull request
 * 797).
 */
export function isJunk(schema: SchemaInfo): string {
  return schema.hasColumn('message', 'filter_action') ? 'm.filter_action = 2' : '0';
}

const TYPE = 'ifnull(m.associated_message_type, 0)';
/** The `associated_message_type` of a vote in a poll. */
export const VOTE_TYPE = 4000;

/**
 * SQL that is true if the row `m` is a message. By default every row that refers to another row is a reaction (decision
 * B8). With the setting `by_kind`, rows of types 2 and 3 are messages of apps, such as GamePigeon, Check In and Apple
 * Cash (imessage-exporter, message.rs, `variant`), unless they add an option to a poll (decision U5).
 */
export function isMessage(schema: SchemaInfo): string {
  if (!schema.hasColumn('message', 'associated_message_type')) return '1';
  if (schema.associatedRows === 'reactions') return `${TYPE} = 0`;
  return `(${TYPE} IN (0, 2, 3) AND NOT ${isPollUpdate(schema)})`;
}

/** SQL that is true if the row `m` is a reaction. */
export function isReaction(schema: SchemaInfo): string {
  return `NOT (${isMessage(schema)} OR ${isPartOfPoll(schema)})`;
}

/**
 * SQL that is true if the row `m` is a vote in a poll or adds an option to one. Always false unless the setting
 * `by_kind` applies (decision U5).
 */
export function isPartOfPoll(schema: SchemaInfo): string {
  if (!schema.hasColumn('message', 'associated_message_type') || schema.associatedRows === 'reactions') return '0';
  return `(${TYPE} = ${VOTE_TYPE} OR ${isPollUpdate(schema)})`;
}

/**
 * SQL that is true if the row `m` adds an option to a poll: a balloon of Polls that refers to another row (imsg, pull
 * request 125).
 */
export function isPollUpdate(schema: SchemaInfo): string {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  if (!has('associated_message_type') || !has('associated_message_guid') || !has('balloon_bundle_id')) return '0';
  return `(${TYPE} IN (2, 3) AND ifnull(m.balloon_bundle_id LIKE '%:com.apple.messages.Polls', 0)
    AND ifnull(m.associated_message_guid, '') NOT IN ('', m.guid))`;
}

/**
 * SQL for the `reply_to_guid` of the row `m` if `m` is the balloon of a link and in no thread, else NULL. A text with a
 * link is stored as two rows: the text without the URL, and the balloon, whose `reply_to_guid` names the text (imsg,
 * pull request 181). The `reply_to_guid` of an ordinary row may name any earlier row.
 */
export function linkTextGuid(schema: SchemaInfo): string {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  if (!has('reply_to_guid') || !has('balloon_bundle_id')) return 'NULL';
  const thread = has('thread_originator_guid') ? " AND ifnull(m.thread_originator_guid, '') = ''" : '';
  return `CASE WHEN m.balloon_bundle_id = 'com.apple.messages.URLBalloonProvider'${thread} THEN nullif(m.reply_to_guid, '') END`;
}

/**
 * SQL that is true if the row `m` is incoming, is not a system row and has no handle (decision U1). Messages may insert
 * an outgoing row with `is_from_me` 0 and no handle, and correct it a moment later (steipete/imsg, issue 80 and pull
 * request 87).
 */
export function lacksHandle(schema: SchemaInfo): string {
  const isMessage = schema.hasColumn('message', 'item_type') ? 'ifnull(m.item_type, 0) = 0' : '1';
  return `ifnull(m.is_from_me, 0) = 0 AND ifnull(m.handle_id, 0) = 0 AND ${isMessage}`;
}

/** A hidden message is at most this long in its typedstream. */
const HIDDEN_BODY_BYTES = 4096;

/**
 * SQL that is 1 if the row `m` is a message that Postern wrote for one of its features, and that lists leave out. `0`
 * if nothing is hidden.
 */
export function isHidden(schema: SchemaInfo): string {
  const cases = schema.hidden.map(({ chat, start, length }) => {
    // In a typedstream: the marker of a text, its length in one byte, and its beginning.
    const stream = Buffer.concat([Buffer.from('+'), Buffer.of(length), Buffer.from(start)]).toString('hex');
    const body = schema.hasColumn('message', 'attributedbody')
      ? ` OR (ifnull(m.text, '') = '' AND length(m.attributedBody) < ${HIDDEN_BODY_BYTES}
        AND instr(m.attributedBody, X'${stream}') > 0)`
      : '';
    const end = `;-;${chat}`;
    // True also before Messages has joined the row to its chat.
    return `ifnull(((length(m.text) = ${length} AND m.text GLOB ${quoted(`${start}*`)})${body})
    AND NOT EXISTS (SELECT 1 FROM chat_message_join x JOIN chat c ON c.ROWID = x.chat_id
      WHERE x.message_id = m.ROWID AND lower(substr(c.guid, -${[...end].length})) <> ${quoted(end)}), 0)`;
  });
  return cases.length === 0 ? '0' : cases.map((one) => `(${one})`).join(' OR ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Bytes of `message_summary_info` in an ordinary row, which has no content besides its text. */
const ORDINARY_SUMMARY_BYTES = 61;

/**
 * SQL that is 1 if the row `m` has content besides its text, which most rows do not have. Finds this out without
 * decoding blobs: the `attributedBody` of a plain text always ends with `PLAIN_END`.
 */
export function hasContent(schema: SchemaInfo): string {
  const of = (name: string, sql: string): readonly string[] =>
    schema.hasColumn('message', name.toLowerCase()) ? [sql] : [];
  const cases = [
    ...of('item_type', 'm.item_type <> 0'),
    ...of('balloon_bundle_id', "m.balloon_bundle_id <> ''"),
    ...of('attributedBody', `substr(m.attributedBody, ${-PLAIN_END.length}) <> X'${PLAIN_END.toString('hex')}'`),
    ...of('message_summary_info', `length(m.message_summary_info) NOT IN (0, ${ORDINARY_SUMMARY_BYTES})`),
    ...of('expressive_send_style_id', "m.expressive_send_style_id <> ''"),
    ...of('subject', "m.subject <> ''"),
    ...of('thread_originator_part', "m.thread_originator_part <> ''"),
    isScheduled(schema),
    ...addedCases(schema),
  ];
  return cases.length === 0 ? '0' : `ifnull(${cases.map((one) => `ifnull(${one}, 0)`).join(' OR ')}, 0)`;
}

/** The last bytes of an `attributedBody` that is a single part of plain text. The length of the text precedes them. */
const PLAIN_END = Buffer.from(
  '\x92\x84\x84\x84\x0cNSDictionary\x00\x95\x84\x01i\x01\x92\x84\x98\x98\x1d__kIMMessagePartAttributeName\x86' +
    '\x92\x84\x84\x84\x08NSNumber\x00\x84\x84\x07NSValue\x00\x95\x84\x01*\x84\x9b\x9b\x00\x86\x86\x86',
  'latin1',
);
