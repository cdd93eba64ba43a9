import type { HeldFile } from '../../domain/approval.ts';
import { isoSecond } from '../../domain/iso-second.ts';
import type { ScheduledStore, StoredScheduled } from '../../domain/ports/scheduled.ts';
import type { ScheduledState } from '../../domain/scheduled.ts';
import { type SendPreferences, sendOptions } from '../../domain/send-service.ts';
import type { Row, Sqlite } from '../../runtime/sqlite.ts';
import { durably } from './database.ts';

const COLUMNS =
  'id, key_id, state, recipient, members, is_approved, text, attachments, options, request_id, send_at_ms, ' +
  'send_until_ms, created_ms, begun_ms, ended_ms, message_id, problem';
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const MAX_ROWS = 10_000;
const MAX_LISTED = 500;
const OPEN = "state IN ('scheduled', 'sending')";

/** Scheduled sends (decision X1). A row never changes but for its state; its text is erased when it ends. */
export function scheduledStore(database: Sqlite): ScheduledStore {
  const SELECT = `SELECT ${COLUMNS} FROM scheduled`;
  const insert = database.prepare(
    `INSERT OR IGNORE INTO scheduled (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, '?')})`,
  );
  const select = database.prepare(`${SELECT} WHERE id = ?`);
  const listed = database.prepare(
    `${SELECT} WHERE state IN (SELECT value FROM json_each(?)) AND (? IS NULL OR key_id = ?)
     ORDER BY send_at_ms, number LIMIT ${MAX_LISTED}`,
  );
  const due = database.prepare(`${SELECT} WHERE state = 'scheduled' AND send_at_ms <= ? ORDER BY send_at_ms, number`);
  const next = database.prepare("SELECT min(send_at_ms) FROM scheduled WHERE state = 'scheduled'");
  const begin = database.prepare(
    "UPDATE scheduled SET state = 'sending', begun_ms = ? WHERE id = ? AND state = 'scheduled'",
  );
  const end = database.prepare(
    `UPDATE scheduled SET state = ?, text = NULL, ended_ms = ?, message_id = ?, problem = ?
     WHERE id = ? AND state = ?`,
  );
  const waiting = database.prepare("SELECT count(*) FROM scheduled WHERE state = 'scheduled' AND key_id = ?");
  const files = database.prepare(`SELECT attachments FROM scheduled WHERE ${OPEN} AND attachments <> '[]'`);
  const removeOld = database.prepare(`DELETE FROM scheduled WHERE ended_ms < ?`);
  const removeOldest = database.prepare(
    `DELETE FROM scheduled WHERE number IN (SELECT number FROM scheduled WHERE NOT ${OPEN} ORDER BY number
       LIMIT max(0, (SELECT count(*) FROM scheduled) - ${MAX_ROWS}))`,
  );
  return {
    add: (entry) => void insert.run(...toRow(entry)),
    get(id) {
      const row = select.get(id);
      return row && toScheduled(row);
    },
    list: ({ states, keyId = null }) => listed.all(JSON.stringify(states), keyId, keyId).map(toScheduled),
    due: (nowMs) => due.all(nowMs).map(toScheduled),
    nextDueMs() {
      const ms = next.get()?.[0];
      return typeof ms === 'number' ? ms : undefined;
    },
    begin: (id, nowMs) => durably(database, () => begin.run(nowMs, id) > 0),
    end(id, from, state, { atMs, messageId = null, problem = null }) {
      // An erased text is overwritten in the file too.
      database.exec('PRAGMA secure_delete = ON');
      return durably(database, () => end.run(state, atMs, messageId, problem, id, from) > 0);
    },
    countWaiting: (keyId) => Number(waiting.get(keyId)?.[0]),
    heldBytes: () =>
      files
        .all()
        .flatMap(([json]) => JSON.parse(String(json)) as HeldFile[])
        .reduce((sum, { bytes }) => sum + bytes, 0),
    prune(nowMs) {
      removeOld.run(nowMs - KEPT_MS);
      removeOldest.run();
    },
  };
}

function toRow(entry: StoredScheduled) {
  return [
    entry.id,
    entry.key_id,
    entry.state,
    entry.to,
    entry.members === null ? null : JSON.stringify(entry.members),
    entry.isApproved ? 1 : 0,
    entry.text,
    JSON.stringify(entry.attachments),
    JSON.stringify(sendOptions({ service: entry.service, fallback: entry.fallback })),
    entry.requestId,
    entry.sendAtMs,
    entry.sendUntilMs,
    entry.createdMs,
    entry.begunMs,
    null,
    entry.message_id,
    entry.problem,
  ] as const;
}

function toScheduled(row: Row): StoredScheduled {
  const textAt = (at: number): string | null => (typeof row[at] === 'string' ? row[at] : null);
  const msAt = (at: number): number | null => (typeof row[at] === 'number' ? row[at] : null);
  const members = textAt(4);
  const [sendAtMs, sendUntilMs, createdMs] = [Number(row[10]), Number(row[11]), Number(row[12])];
  const endedMs = msAt(14);
  return {
    id: String(row[0]),
    source: 'postern',
    key_id: String(row[1]),
    state: String(row[2]) as ScheduledState,
    to: String(row[3]),
    members: members === null ? null : (JSON.parse(members) as string[]),
    isApproved: row[5] === 1,
    text: textAt(6),
    attachments: JSON.parse(String(row[7])) as HeldFile[],
    ...(JSON.parse(String(row[8])) as Pick<SendPreferences, 'service' | 'fallback'>),
    requestId: textAt(9),
    sendAtMs,
    sendUntilMs,
    createdMs,
    begunMs: msAt(13),
    send_at: isoSecond(sendAtMs),
    send_until: isoSecond(sendUntilMs),
    created_at: isoSecond(createdMs),
    ended_at: endedMs === null ? null : isoSecond(endedMs),
    message_id: textAt(15),
    problem: textAt(16),
  };
}
