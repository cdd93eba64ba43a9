import { ADDED, ADDED_BITS, ADDED_KINDS, CONTENT_BITS, FLAGS, TRANSCRIPT_BITS } from '../model/fingerprint.ts';
import { hasAttachmentTables, isShown } from './attachment-sql.ts';
import { anyOf, column } from './queries.ts';
import { isPartlyUnsent, isUnsent } from './row-kinds.ts';
import type { SchemaInfo } from './schema-info.ts';

/**
 * SQL for the print of the row `m`: a number that changes when the flags, the later additions or the content of the row
 * change. Attachments are not included; see `attachmentsSql`.
 */
export function rowSql(schema: SchemaInfo): string {
  return `${flagsSql(schema)} + ${addedSql(schema)} + ${contentSql(schema)}`;
}

/**
 * SQL for the flags: one bit for each column of decision B7. Ignores the delivery columns of an incoming row, where
 * they have no meaning.
 */
function flagsSql(schema: SchemaInfo): string {
  const flag = (bit: number, ...names: readonly string[]): string =>
    `CASE WHEN ${anyOf(schema, ...names)} THEN ${bit} ELSE 0 END`;
  const own = [String(FLAGS.own), flag(FLAGS.delivered, 'is_delivered', 'date_delivered')];
  own.push(flag(FLAGS.sent, 'is_sent'), flag(FLAGS.failed, 'error'));
  return `${flag(FLAGS.read, 'date_read', 'is_read')} + CASE WHEN m.is_from_me THEN ${own.join(' + ')} ELSE 0 END
    + CASE WHEN ${anyOf(schema, 'date_edited', 'date_retracted')}
      THEN ${flag(FLAGS.edited, 'date_edited')} + CASE WHEN ${isUnsent(schema)} THEN ${FLAGS.unsent} ELSE 0 END ELSE 0 END`;
}

const BITS_31 = 2 ** 31 - 1;
/**
 * Odd factors below 2^31, by which a column's length or date is multiplied. If two lengths differ only a little, their
 * products modulo 2^31 still differ in the upper bits.
 */
const FACTORS = {
  text: 1_640_531_527,
  attributedbody: 1_836_311_903,
  message_summary_info: 1_500_450_271,
  payload_data: 1_327_217_885,
  date_edited: 805_306_457,
  date_retracted: 1_234_567_891,
} as const;
/** A mask that limits each summand to 50 bits, so that the sums stay within SQLite's 64-bit integers. */
const SUM_BITS = 2 ** 50 - 1;

/**
 * SQL for a checksum of a row's content. It combines the lengths of the columns, which cost almost nothing to read. It
 * includes the dates of edits, so that an edit to a text of equal length is noticed too.
 */
function contentSql(schema: SchemaInfo): string {
  const there = (...names: readonly (keyof typeof FACTORS)[]): readonly (keyof typeof FACTORS)[] =>
    names.filter((name) => schema.hasColumn('message', name));
  const lengths = there('text', 'attributedbody', 'message_summary_info').map((name) => {
    const length = lengthSql(schema, name);
    // Leaves out the body of a voice message: only an added transcript changes the body, and `addedSql` covers
    // transcripts.
    return name === 'attributedbody' ? `CASE WHEN ${isVoice(schema)} THEN 0 ELSE ${length} END` : length;
  });
  const dates = there('date_edited', 'date_retracted').map(
    (name) => `((ifnull(m.${name} % ${BITS_31}, 0) & ${BITS_31}) * ${FACTORS[name]} & ${SUM_BITS})`,
  );
  const anyDate = anyOf(schema, 'date_edited', 'date_retracted');
  const sum = `((${lengths.join(' + ')}) & ${SUM_BITS}) + CASE WHEN ${anyDate} THEN ${dates.join(' + ') || '0'} ELSE 0 END`;
  return `(${mixed(sum, CONTENT_BITS)})`;
}

/**
 * SQL for a length times its factor. A length is at most 2^30, so a sum of three products stays within SQLite's
 * integers.
 */
function lengthSql(schema: SchemaInfo, name: keyof typeof FACTORS): string {
  return `ifnull(${schema.byteLength(column(schema, name))}, 0) * ${FACTORS[name]}`;
}

/**
 * SQL for the `bits` highest bits of a sum modulo 2^31. The high bits depend on more bits of the summed lengths than
 * the low bits do.
 */
function mixed(sum: string, bits: number): string {
  return `((${sum}) & ${BITS_31}) >> ${31 - bits}`;
}

/**
 * SQL for a checksum of later additions to the row `m`: the votes and options of a poll (separate rows), the transcript
 * of a voice message (Messages adds it to the body), the payload of a link or an app, and unsent parts.
 */
function addedSql(schema: SchemaInfo): string {
  const added = (kind: number, sum: string): string => `${kind} + ${ADDED} * (${mixed(sum, ADDED_BITS)})`;
  const payload = lengthSql(schema, 'payload_data');
  const cases: string[] = [];
  if (schema.hasColumn('message', 'balloon_bundle_id') && hasVotes(schema)) {
    cases.push(
      `WHEN m.balloon_bundle_id LIKE '%:com.apple.messages.Polls'
        THEN ${added(ADDED_KINDS.poll, `${payload} + ${votesSql(schema)} * ${FACTORS.text}`)}`,
    );
  }
  if (schema.hasColumn('message', 'attributedbody')) {
    cases.push(
      `WHEN ${isVoice(schema)} AND instr(m.attributedBody, ${bytes('IMAudioTranscription')}) > 0
        THEN ${added(ADDED_KINDS.transcript, lengthSql(schema, 'attributedbody'))}`,
    );
  }
  if (schema.hasColumn('message', 'payload_data')) {
    cases.push(`WHEN m.payload_data IS NOT NULL THEN ${added(ADDED_KINDS.preview, payload)}`);
  }
  if (schema.hasColumn('message', 'message_summary_info')) {
    const summary = mixed(lengthSql(schema, 'message_summary_info'), ADDED_BITS);
    cases.push(`WHEN ${isPartlyUnsent(schema)} THEN ${ADDED} * (${summary})`);
  }
  return cases.length === 0 ? '0' : `CASE ${cases.join(' ')} ELSE 0 END`;
}

/** Reports whether an index can find votes. Without an index, every poll would cost a full scan. */
function hasVotes(schema: SchemaInfo): boolean {
  return (
    schema.hasColumn('message', 'associated_message_type') && schema.hasIndex('message', 'associated_message_guid')
  );
}

/**
 * SQL for a checksum of the votes and added options of the poll `m`. These rows refer to the poll by guid. If a person
 * votes again, the checksum changes even if Messages deletes the earlier vote.
 */
function votesSql({ messagesByIndex }: SchemaInfo): string {
  return `(SELECT (CAST(total(v.ROWID % 1000003) AS INTEGER) + count(*)) & ${BITS_31} FROM ${messagesByIndex} v
    WHERE v.associated_message_guid IN (m.guid, 'p:0/' || m.guid) AND v.associated_message_type IN (2, 3, 4000))`;
}

function isVoice(schema: SchemaInfo): string {
  return column(schema, 'is_audio_message', '0');
}

/** SQL for a text as a blob, because instr() compares bytes only if both of its arguments are blobs. */
function bytes(text: string): string {
  return `X'${Buffer.from(text).toString('hex')}'`;
}

/**
 * SQL for two checksums per message. The first changes when an attachment is added or removed, changes its transfer
 * state, or receives a file name. The second changes when a voice message's attachment receives a transcript.
 */
export function attachmentsSql(schema: SchemaInfo, isIn: string): string | undefined {
  if (!hasAttachmentTables(schema) || !schema.hasIndex('message_attachment_join', 'message_id')) return undefined;
  const has = (name: string): boolean => schema.hasColumn('attachment', name);
  const state = has('transfer_state') ? 'ifnull(a.transfer_state, 0) & 7' : '0';
  const transcript =
    has('user_info') && has('mime_type')
      ? `CASE WHEN (a.mime_type LIKE 'audio/%' OR ifnull(a.mime_type, '') = '') AND instr(a.user_info, ${bytes('audio-transcription')}) > 0
          THEN 1 + ${schema.byteLength('a.user_info')} % ${2 ** TRANSCRIPT_BITS - 1} ELSE 0 END`
      : '0';
  return `SELECT j.message_id, sum(1 + 2 * (${state}) + (trim(ifnull(a.filename, '')) <> '')), sum(${transcript})
    FROM message_attachment_join j JOIN attachment a ON a.ROWID = j.attachment_id
    WHERE ${isIn} AND ${isShown(schema)} GROUP BY j.message_id`;
}

/** SQL for the row ids of messages that the user deleted and can still restore (decision B13). */
export function deletedSql(schema: SchemaInfo, isIn: string): string | undefined {
  if (!schema.hasTable('chat_recoverable_message_join')) return undefined;
  return `SELECT r.message_id FROM chat_recoverable_message_join r
    WHERE ${isIn} AND NOT EXISTS (SELECT 1 FROM chat_message_join j WHERE j.message_id = r.message_id)`;
}

/** Maximum number of rows watched in each set, such as the unread messages. Only the newest are watched. */
const MAX_WATCHED = 500;
const MAX_DELETED = 5000;

/** One query per watched set. Each returns the row ids of its set as one text, separated by commas. */
export function watchedSql(schema: SchemaInfo): readonly string[] {
  // Returning all row ids as one text costs a third of returning each in its own row.
  const joined = (rowId: string, newest: string): string =>
    `SELECT group_concat(${rowId}) FROM (SELECT ${rowId} ${newest})`;
  const newest = (condition: string): string =>
    joined('ROWID', `FROM ${schema.messagesByIndex} WHERE ${condition} ORDER BY ROWID DESC LIMIT ${MAX_WATCHED}`);
  const has = (...names: readonly string[]): boolean => names.every((name) => schema.hasColumn('message', name));
  const sets: string[] = [];
  if (schema.hasIndex('message', 'is_read', 'is_from_me', 'is_finished')) {
    sets.push(newest('is_read = 0 AND is_from_me = 0 AND is_finished = 1'));
  }
  if (schema.hasIndex('message', 'is_finished', 'is_from_me', 'error')) {
    sets.push(newest('is_finished = 1 AND is_from_me = 1 AND error > 0'));
  }
  if (schema.hasIndex('message', 'cache_roomnames', 'service', 'is_sent', 'is_delivered')) {
    // SQLite uses a partial index only if the query repeats all terms of the index's WHERE clause. Since macOS 26, the
    // clause includes `schedule_type` and the service RCS.
    const since26 = has('schedule_type')
      ? "service IN ('iMessage', 'RCS') AND schedule_type == 0"
      : "service = 'iMessage'";
    sets.push(
      newest(
        `cache_roomnames IS NULL AND ${since26} AND is_sent = 1 AND is_delivered = 0 AND was_downgraded = 0 AND item_type == 0`,
      ),
    );
  }
  if (schema.hasTable('chat_recoverable_message_join')) {
    sets.push(joined('message_id', `FROM chat_recoverable_message_join ORDER BY ROWID DESC LIMIT ${MAX_DELETED}`));
  }
  return sets;
}
