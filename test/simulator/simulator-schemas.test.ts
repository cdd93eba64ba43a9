import { expect, test } from '@jest/globals';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { loadableSchema, type MacosVersion } from '../../src/features/simulator/macos-versions.ts';

/** Returns `table.column` with its type and default. */
function columnsOf(version: MacosVersion): ReadonlyMap<string, string> {
  const sqlite = openSqlite(':memory:');
  sqlite.exec(loadableSchema(version));
  const rows = sqlite
    .prepare(`SELECT t.name || '.' || c.name, c.type || ' ' || ifnull(c.dflt_value, '')
      FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`)
    .all();
  sqlite.close();
  return new Map(rows.map(([name, type]) => [String(name), String(type)]));
}

const names = (table: string, ...columns: readonly string[]): readonly string[] =>
  columns.map((column) => `${table}.${column}`);

test.each([
  [
    '11',
    '12',
    names(
      'message',
      'syndication_ranges',
      'synced_syndication_ranges',
      'was_delivered_quietly',
      'did_notify_recipient',
    ),
  ],
  [
    '13',
    '14',
    [
      ...names('message', 'is_stewie', 'is_kt_verified', 'is_sos', 'is_critical', 'bia_reference_id', 'fallback_hash'),
      ...names('chat', 'is_recovered', 'is_deleting_incoming_messages'),
    ],
  ],
  [
    '14',
    '15',
    [
      ...names('message', 'associated_message_emoji', 'is_pending_satellite_send', 'needs_relay', 'schedule_type'),
      ...names('message', 'schedule_state', 'sent_or_received_off_grid'),
      ...names('attachment', 'emoji_image_content_identifier', 'emoji_image_short_description'),
    ],
  ],
  ['26', '27', names('message', 'filter_action', 'filter_sub_action')],
] as const)('between macOS %s and %s only the columns come that are known to', (before, after, added) => {
  const [old, young] = [columnsOf(before), columnsOf(after)];
  expect([...young.keys()].filter((name) => !old.has(name)).sort()).toEqual([...added].sort());
  expect([...old].filter(([name, type]) => young.get(name) !== type)).toEqual([]);
});

test('the columns that came with macOS 14 and 15 are as in the dump of macOS 26', () => {
  const [old, young, dump] = [columnsOf('13'), columnsOf('15'), columnsOf('26')];
  const added = [...young].filter(([name]) => !old.has(name));
  expect(added).toHaveLength(16);
  expect(added.filter(([name, type]) => dump.get(name) !== type)).toEqual([]);
});
