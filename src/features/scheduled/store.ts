import { DAY_MS } from '../../core/model/durations.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { KeptFile } from '../../core/model/kept-file.ts';
import { type SendChoices, sendChoices } from '../../core/model/send-service.ts';
import type { Row, Sqlite } from '../../core/runtime/sqlite.ts';
import { columnTypes, firstNumber, recordOf, storedBytesOf } from '../../core/state/record.ts';
import { durably } from '../../core/state/state-database.ts';
import type { ScheduledStore, StoredScheduled } from './ports.ts';
import { isOver, type ScheduledState } from './scheduled.ts';

const SCHEDULED = recordOf({
  id: columnTypes.text(),
  key_id: columnTypes.text(),
  state: columnTypes.text<ScheduledState>(),
  to: { ...columnTypes.text(), column: 'recipient' },
  members: columnTypes.orNull(columnTypes.json<readonly string[]>()),
  isApproved: columnTypes.flag(),
  text: columnTypes.orNull(columnTypes.text()),
  attachments: columnTypes.json<readonly KeptFile[]>(),
  options: columnTypes.json<SendChoices>(),
  requestId: columnTypes.orNull(columnTypes.text()),
  sendAtMs: columnTypes.number(),
  sendUntilMs: columnTypes.number(),
  createdMs: columnTypes.number(),
  begunMs: columnTypes.orNull(columnTypes.number()),
  endedMs: columnTypes.orNull(columnTypes.number()),
  message_id: columnTypes.orNull(columnTypes.text()),
  problem: columnTypes.orNull(columnTypes.text()),
});
const KEPT_MS = 30 * DAY_MS;
const MAX_ROWS = 10_000;
const MAX_LISTED = 500;
const OPEN = "state IN ('scheduled', 'sending')";

/**
 * Stores scheduled sends (decision X1). A stored request never changes; its state and outcome do. Its text is erased
 * when the send ends.
 */
export function scheduledStore(database: Sqlite): ScheduledStore {
  const SELECT = `SELECT ${SCHEDULED.columns} FROM scheduled`;
  const insert = database.prepare(`INSERT OR IGNORE ${SCHEDULED.insert('scheduled')}`);
  const select = database.prepare(`${SELECT} WHERE id = ?`);
  const listed = (order: 'ASC' | 'DESC') =>
    database.prepare(
      `${SELECT} WHERE state IN (SELECT value FROM json_each(?)) AND (? IS NULL OR key_id = ?)
       ORDER BY send_at_ms ${order}, number ${order} LIMIT ${MAX_LISTED}`,
    );
  const [soonest, latest] = [listed('ASC'), listed('DESC')];
  const open = database.prepare(`SELECT id FROM scheduled WHERE ${OPEN}`);
  const due = database.prepare(`${SELECT} WHERE state = 'scheduled' AND send_at_ms <= ? ORDER BY send_at_ms, number`);
  const next = database.prepare("SELECT min(send_at_ms) FROM scheduled WHERE state = 'scheduled'");
  const begin = database.prepare(
    "UPDATE scheduled SET state = 'sending', begun_ms = ? WHERE id = ? AND state = 'scheduled'",
  );
  const putBack = database.prepare("UPDATE scheduled SET state = 'scheduled' WHERE id = ? AND state = 'sending'");
  const end = database.prepare(
    `UPDATE scheduled SET state = ?, text = NULL, ended_ms = ?, message_id = ?, problem = ?
     WHERE id = ? AND state = ?`,
  );
  const waiting = database.prepare("SELECT count(*) FROM scheduled WHERE state = 'scheduled' AND key_id = ?");
  const removeOld = database.prepare(`DELETE FROM scheduled WHERE ended_ms < ?`);
  const removeOldest = database.prepare(
    `DELETE FROM scheduled WHERE number IN (SELECT number FROM scheduled WHERE NOT ${OPEN} ORDER BY number
       LIMIT max(0, (SELECT count(*) FROM scheduled) - ${MAX_ROWS}))`,
  );
  return {
    add(entry) {
      insert.run(...SCHEDULED.values({ ...entry, options: sendChoices(entry), endedMs: null }));
    },
    get: (id) => select.all(id).map(toScheduled)[0],
    list({ states, keyId = null }) {
      const parameters = [JSON.stringify(states), keyId, keyId] as const;
      const areOver = states.every((state) => isOver({ state }));
      const rows = areOver ? [...latest.all(...parameters)].reverse() : soonest.all(...parameters);
      return rows.map(toScheduled);
    },
    openIds: () => open.all().map(([id]) => String(id)),
    due: (nowMs) => due.all(nowMs).map(toScheduled),
    nextDueMs: () => firstNumber(next.get()),
    begin: (id, nowMs) => durably(database, () => begin.run(nowMs, id) > 0),
    putBack: (id) => durably(database, () => putBack.run(id) > 0),
    end(id, from, state, { atMs, messageId = null, problem = null }) {
      // Makes SQLite overwrite an erased text in the file too.
      database.exec('PRAGMA secure_delete = ON');
      return durably(database, () => end.run(state, atMs, messageId, problem, id, from) > 0);
    },
    countWaiting: (keyId) => Number(waiting.get(keyId)?.[0]),
    keptBytes: storedBytesOf(database, 'scheduled', OPEN),
    prune(nowMs) {
      removeOld.run(nowMs - KEPT_MS);
      removeOldest.run();
    },
  };
}

function toScheduled(row: Row): StoredScheduled {
  const { options, endedMs, ...entry } = SCHEDULED.read(row);
  return {
    ...entry,
    ...options,
    source: 'postern',
    send_at: isoSecond(entry.sendAtMs),
    send_until: isoSecond(entry.sendUntilMs),
    created_at: isoSecond(entry.createdMs),
    ended_at: endedMs === null ? null : isoSecond(endedMs),
  };
}
