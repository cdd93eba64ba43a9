import { hash } from 'node:crypto';
import type { ChatShapes } from '../../client/diagnostics-types.ts';
import { addressTag } from '../../core/model/address.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';

/** Number of SMS of which `sms_guid_marks` has a number each. */
const COMPARED_SMS = 20;

/** Counts filters of chats, tags of addresses and states of scheduled rows, over the whole of chat.db. */
export function chatShapes(sqlite: Sqlite): ChatShapes {
  const has = (table: string, ...names: readonly string[]): boolean => {
    const found = sqlite.prepare(`SELECT name FROM pragma_table_info('${table}')`).all().flat();
    return names.every((name) => found.includes(name));
  };
  const rows = (sql: string): readonly (readonly unknown[])[] => sqlite.prepare(sql).all();
  const histogram = (values: readonly string[]): Readonly<Record<string, number>> => {
    const sums: Record<string, number> = {};
    for (const value of values) sums[value] = (sums[value] ?? 0) + 1;
    return sums;
  };
  const column = (table: string, name: string): readonly string[] | null =>
    has(table, name) ? rows(`SELECT ${name} FROM ${table}`).map(([value]) => smallNumber(value)) : null;
  const filters = column('chat', 'is_filtered');
  const blackholed = column('chat', 'is_blackholed');
  const handles = rows(`SELECT id, ${has('handle', 'uncanonicalized_id') ? 'uncanonicalized_id' : 'NULL'} FROM handle`);
  const tagged = handles.filter(([id]) => tagOf(id) !== 'none');
  return {
    chat_filters: filters && histogram(filters),
    chats_blackholed: blackholed?.filter((value) => value === '1').length ?? null,
    handle_tags: histogram(handles.map(([id]) => tagOf(id))),
    tags_uncanonicalized: histogram(tagged.map(([id, raw]) => (raw === null ? 'null' : sameTag(id, raw)))),
    schedule_states: has('message', 'schedule_type', 'schedule_state', 'is_sent')
      ? histogram(
          rows('SELECT schedule_type, schedule_state, is_sent FROM message WHERE schedule_type <> 0').map((values) =>
            values.map(smallNumber).join('/'),
          ),
        )
      : null,
    sms_guid_marks: has('message', 'service') ? smsMarks(sqlite) : [],
  };
}

function smsMarks(sqlite: Sqlite): readonly number[] {
  const newest = `SELECT guid FROM message WHERE service = 'SMS' ORDER BY ROWID DESC LIMIT ${COMPARED_SMS}`;
  const digests = sqlite
    .prepare(newest)
    .all()
    .map(([guid]) => hash('sha256', String(guid), 'hex'));
  return digests.map((digest) => Number.parseInt(digest.slice(0, 8), 16) % 1_000_000);
}

/** Returns a number of up to five digits as a text, and `other` for anything else. */
function smallNumber(value: unknown): string {
  return /^-?\d{1,5}$/.test(String(value)) ? String(value) : 'other';
}

/** Returns the name of an address's tag; `other` for something else in parentheses at its end. */
function tagOf(id: unknown): string {
  const text = String(id);
  return addressTag(text) ?? (text.endsWith(')') ? 'other' : 'none');
}

function sameTag(id: unknown, raw: unknown): string {
  return tagOf(id) === tagOf(raw) ? 'same' : 'other';
}

/**
 * Returns the row's chat and handle, whether the chat is with the owner's own addresses, and whether it was delivered.
 */
export function selfShape(
  sqlite: Sqlite,
  columns: readonly string[],
  row: number,
  own: ReadonlySet<string>,
): {
  readonly chat: number | null;
  readonly handle: number | null;
  readonly isSelf: boolean;
  readonly isDelivered: boolean;
} {
  const delivered = columns.includes('date_delivered') ? 'ifnull(date_delivered, 0) <> 0' : '0';
  const [handle, isDelivered] =
    sqlite.prepare(`SELECT nullif(handle_id, 0), ${delivered} FROM message WHERE ROWID = ?`).get(row) ?? [];
  const [chat] = sqlite.prepare('SELECT chat_id FROM chat_message_join WHERE message_id = ?').get(row) ?? [];
  const members =
    chat === undefined
      ? []
      : sqlite
          .prepare('SELECT id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id WHERE j.chat_id = ?')
          .all(Number(chat))
          .flat();
  return {
    chat: chat === undefined ? null : Number(chat),
    handle: handle === undefined || handle === null ? null : Number(handle),
    isSelf: members.length > 0 && members.every((address) => own.has(String(address))),
    isDelivered: Number(isDelivered) === 1,
  };
}

/** Returns the place of an id among those that `seen` has met, from 1, and adds a new one. */
export function numberOf(id: number | null, seen: Map<number, number>): number | null {
  if (id !== null && !seen.has(id)) seen.set(id, seen.size + 1);
  return id === null ? null : (seen.get(id) ?? null);
}
