import type { DataShapes, SqliteDiagnostics } from '../../client/diagnostics-types.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import { type Sqlite, sqliteLibrary } from '../../core/runtime/sqlite.ts';

/** Number of newest rows that are examined: few enough that the service's clients hardly wait. */
const NEWEST_ROWS = 20_000;
const HOUR_NS = 3_600_000_000_000;
const SERVICES = ['iMessage', 'SMS', 'RCS', 'iMessageLite'];
const GUID = /^(?:[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}|(p:\d+\/|bp:).*)$/i;

/**
 * Counts which kinds of values the newest rows of chat.db hold, such as how often each `item_type` occurs. The result
 * contains no content of messages.
 */
export function dataShapes(sqlite: Sqlite, columns: readonly string[]): DataShapes {
  const has = (name: string): boolean => columns.includes(name);
  const rows = (sql: string): readonly (readonly unknown[])[] =>
    sqlite.prepare(sql.replaceAll('NEWEST', `m.ROWID > (SELECT max(ROWID) FROM message) - ${NEWEST_ROWS}`)).all();
  const number = (sql: string): number => Number(rows(sql)[0]?.[0] ?? 0);
  const count = (condition: string, ...needed: readonly string[]): number | null =>
    needed.every(has) ? number(`SELECT count(*) FROM message m WHERE NEWEST AND ${condition}`) : null;
  const histogram = (name: string): DataShapes['item_types'] =>
    has(name) ? counted(rows(`SELECT ${name}, count(*) FROM message m WHERE NEWEST GROUP BY 1`)) : null;
  const isThere = (table: string): boolean =>
    number(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '${table}'`) > 0;
  const attachments = (condition: string): number | null =>
    isThere('attachment') && isThere('message_attachment_join')
      ? number(`SELECT count(*) FROM message_attachment_join j JOIN attachment a ON a.ROWID = j.attachment_id
          JOIN message m ON m.ROWID = j.message_id
          WHERE NEWEST AND a.filename LIKE '%.pluginPayloadAttachment' AND ${condition}`)
      : null;
  return {
    rows: number('SELECT count(*) FROM message m WHERE NEWEST'),
    item_types: histogram('item_type'),
    associated_types: histogram('associated_message_type'),
    schedule_types: histogram('schedule_type'),
    services: has('service') ? named(rows('SELECT service, count(*) FROM message m WHERE NEWEST GROUP BY 1')) : null,
    guids: guids(rows('SELECT guid FROM message m WHERE NEWEST')),
    retracted: count('m.date_retracted <> 0', 'date_retracted'),
    edited_without_body: count(
      `m.date_edited <> 0 AND ifnull(m.text, '') = '' AND ifnull(length(m.attributedBody), 0) = 0`,
      ...['date_edited', 'attributedBody'],
    ),
    without_parts: count('m.part_count = 0', 'part_count'),
    text_null: count('m.text IS NULL', 'text'),
    unjoined: count(
      `m.date < (strftime('%s', 'now') - 978307260) * 1000000000
       AND NOT EXISTS (SELECT 1 FROM chat_message_join j WHERE j.message_id = m.ROWID)`,
      'date',
    ),
    link_previews_hidden: attachments('a.hide_attachment = 1'),
    link_previews_shown: attachments('ifnull(a.hide_attachment, 0) = 0'),
    link_rows_with_reply: count(
      `m.balloon_bundle_id = 'com.apple.messages.URLBalloonProvider' AND m.reply_to_guid IS NOT NULL`,
      ...['balloon_bundle_id', 'reply_to_guid'],
    ),
    backfilled: number(`SELECT count(*) FROM (
      SELECT m.date, lag(m.date) OVER (ORDER BY m.ROWID) AS before FROM message m WHERE NEWEST)
      WHERE before - date > ${HOUR_NS}`),
    columns: columns.length,
    unknown_columns: unknownColumns(sqlite),
  };
}

export function sqliteDiagnostics(sqlite: Sqlite): SqliteDiagnostics {
  const text = (sql: string): string => String(sqlite.prepare(sql).get()?.[0] ?? '');
  const version = text('SELECT sqlite_version()');
  const mode = text('PRAGMA journal_mode');
  return {
    library: sqliteLibrary ?? 'none',
    version: /^\d+\.\d+\.\d+$/.test(version) ? version : '',
    journal_mode: mode === 'wal' || mode === 'delete' ? mode : 'other',
    compile_options: sqlite
      .prepare('PRAGMA compile_options')
      .all()
      .map(([option]) => String(option))
      .filter((option) => /^(?:ENABLE|OMIT|THREADSAFE|MAX|DEFAULT)_?[A-Z0-9_]{0,50}(?:=\d{1,12})?$/.test(option)),
  };
}

/** Counts the columns that are not in `KNOWN_COLUMNS`, in the tables that Postern reads. */
function unknownColumns(sqlite: Sqlite): number {
  return Object.entries(KNOWN_COLUMNS)
    .map(([table, known]) => {
      const names = new Set(known.trim().split(/\s+/));
      const found = sqlite.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
      return found.filter(([name]) => !names.has(String(name))).length;
    })
    .reduce((sum, count) => sum + count, 0);
}

/** Returns how often each number of up to five digits occurs. Counts all other values together as `other`. */
function counted(rows: readonly (readonly unknown[])[]): Readonly<Record<string, number>> {
  return summed(rows, (value) => (/^-?\d{1,5}$/.test(String(value)) ? String(value) : 'other'));
}

function named(rows: readonly (readonly unknown[])[]): Readonly<Record<string, number>> {
  return summed(rows, (value) => SERVICES.find((service) => service === value) ?? 'other');
}

function guids(rows: readonly (readonly unknown[])[]): Readonly<Record<string, number>> {
  return summed(
    rows.map(([guid]) => [guid, 1]),
    (guid) => {
      const found = GUID.exec(String(guid));
      if (found === null) return 'other';
      return found[1] === undefined ? 'uuid' : 'prefixed';
    },
  );
}

function summed(
  rows: readonly (readonly unknown[])[],
  nameOf: (value: unknown) => string,
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const [value, count] of rows) sums[nameOf(value)] = (sums[nameOf(value)] ?? 0) + Number(count);
  return sums;
}

/**
 * The known columns of the tables that Postern reads, from macOS 10.13 to 27. Key: the table. Value: its columns,
 * separated by white space. A test checks that the columns are those of all schemas in `simulator/schemas/`. A report
 * counts unknown columns, because they reveal a new macOS.
 */
export const KNOWN_COLUMNS: Readonly<Record<string, string>> = lookupTable({
  message: `
    account account_guid associated_message_emoji associated_message_guid associated_message_range_length
    associated_message_range_location associated_message_type attributedBody balloon_bundle_id bia_reference_id
    cache_has_attachments cache_roomnames ck_chat_id ck_record_change_tag ck_record_id ck_sync_state country date
    date_delivered date_edited date_played date_read date_recovered date_retracted destination_caller_id
    did_notify_recipient error expire_state expressive_send_style_id fallback_hash filter_action filter_sub_action
    group_action_type group_title guid handle_id has_dd_results has_unseen_mention index_state is_archive
    is_audio_message is_auto_reply is_corrupt is_critical is_delayed is_delivered is_emote is_empty is_expirable
    is_finished is_forward is_from_me is_kt_verified is_pending_satellite_send is_played is_prepared is_read is_sent
    is_service_message is_sos is_spam is_stewie is_system_message is_time_sensitive item_type message_action_type
    message_source message_summary_info needs_relay other_handle part_count payload_data replace reply_to_guid ROWID
    schedule_state schedule_type sent_or_received_off_grid service service_center share_direction share_status
    sort_id sr_ck_record_change_tag sr_ck_record_id sr_ck_sync_state subject synced_syndication_ranges
    syndication_ranges text thread_originator_guid thread_originator_part time_expressive_send_played type version
    was_data_detected was_deduplicated was_delivered_quietly was_detonated was_downgraded`,
  chat: `
    account_id account_login chat_identifier ck_sync_state cloudkit_record_id display_name engram_id group_id guid
    is_archived is_blackholed is_deleting_incoming_messages is_filtered is_pending_review is_recovered
    last_addressed_handle last_addressed_sim_id last_read_message_timestamp original_group_id properties room_name
    ROWID server_change_token service_name sr_ck_sync_state sr_cloudkit_record_id sr_server_change_token state style
    successful_query syndication_date syndication_type`,
  handle: `
    country id person_centric_id ROWID service uncanonicalized_id`,
  attachment: `
    attribution_info ck_record_id ck_server_change_token_blob ck_sync_state created_date
    emoji_image_content_identifier emoji_image_short_description filename guid hide_attachment
    is_commsafety_sensitive is_outgoing is_sticker mime_type original_guid preview_generation_state ROWID
    sr_ck_record_id sr_ck_server_change_token_blob sr_ck_sync_state start_date sticker_user_info total_bytes
    transfer_name transfer_state user_info uti`,
  chat_handle_join: `
    chat_id handle_id`,
  chat_message_join: `
    chat_id index_state message_date message_id`,
  chat_recoverable_message_join: `
    chat_id ck_sync_state delete_date message_id`,
  message_attachment_join: `
    attachment_id message_id`,
});
