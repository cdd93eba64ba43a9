import type { DataShapes, SqliteDiagnostics } from '../../domain/diagnostics.ts';
import { type Sqlite, sqliteLibrary } from '../../runtime/sqlite.ts';
import { KNOWN_COLUMNS } from './known-columns.ts';

/** Only this many of the newest rows are counted, so that clients need not wait. */
const NEWEST_ROWS = 20_000;
const HOUR_NS = 3_600_000_000_000;
const SERVICES = ['iMessage', 'SMS', 'RCS', 'iMessageLite'];
const GUID = /^(?:[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}|(p:\d+\/|bp:).*)$/i;

/** Counts the shapes of the newest rows in chat.db. The result contains no content. */
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

/** Counts columns in the tables read by Postern that no macOS known to this version has. */
function unknownColumns(sqlite: Sqlite): number {
  return Object.entries(KNOWN_COLUMNS)
    .map(([table, known]) => {
      const names = new Set(known.trim().split(/\s+/));
      const found = sqlite.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
      return found.filter(([name]) => !names.has(String(name))).length;
    })
    .reduce((sum, count) => sum + count, 0);
}

/** Counts numbers individually, and everything else together. */
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
      return found === null ? 'other' : found[1] === undefined ? 'uuid' : 'prefixed';
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
