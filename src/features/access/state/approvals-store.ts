import type { ApprovalState } from '../../../client/access-types.ts';
import { DAY_MS } from '../../../core/model/durations.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import type { KeptFile } from '../../../core/model/kept-file.ts';
import { type SendPreferences, shownOptions } from '../../../core/model/send-service.ts';
import type { Row, Sqlite } from '../../../core/runtime/sqlite.ts';
import { columnTypes, firstNumber, recordOf, storedBytesOf } from '../../../core/state/record.ts';
import { durably } from '../../../core/state/state-database.ts';
import type { ApprovalStore, StoredApproval } from '../ports.ts';

const APPROVAL = recordOf({
  id: columnTypes.text(),
  key_id: columnTypes.text(),
  state: columnTypes.text<ApprovalState>(),
  to: { ...columnTypes.text(), column: 'recipient' },
  members: columnTypes.json<readonly string[]>(),
  text: columnTypes.orNull(columnTypes.text()),
  attachments: columnTypes.json<readonly KeptFile[]>(),
  shown: columnTypes.text(),
  ask: columnTypes.text(),
  requestHash: columnTypes.text(),
  textHmac: columnTypes.text(),
  createdMs: columnTypes.number(),
  expiresMs: columnTypes.number(),
  decided_at: columnTypes.orNull(columnTypes.text()),
  decided_by: columnTypes.orNull(columnTypes.text()),
  message_id: columnTypes.orNull(columnTypes.text()),
  problem: columnTypes.orNull(columnTypes.text()),
  hasKey: columnTypes.flag(),
  options: columnTypes.json<SendPreferences>(),
});

/** How long approvals are kept (decision L3). The caps of all limited keys allow some 6,000 requests in that time. */
const KEPT_MS = 30 * DAY_MS;
const MAX_ROWS = 10_000;
const ENDED = "state NOT IN ('held', 'approved')";
/**
 * SQL that is true for an approved send that is deferred and has not ended. Such a row is not removed, so that a
 * repeated request finds it. Parameter: the ids of these sends as JSON.
 */
const IS_DEFERRED = 'id IN (SELECT value FROM json_each(?))';

/**
 * Stores held sends (decision L3). A stored request never changes; its state and outcome do. Its text is erased when
 * the send ends.
 */
export function approvalStore(database: Sqlite, deferredIds: () => readonly string[] = () => []): ApprovalStore {
  const deferred = (): string => JSON.stringify(deferredIds());
  // Makes SQLite overwrite an erased text in the file too.
  database.exec('PRAGMA secure_delete = ON');
  const SELECT = `SELECT ${APPROVAL.columns} FROM approval`;
  const insert = database.prepare(`INSERT ${APPROVAL.insert('approval')}`);
  const select = database.prepare(`${SELECT} WHERE id = ?`);
  const selectAll = database.prepare(`${SELECT} ORDER BY number DESC LIMIT ?`);
  const selectIn = database.prepare(
    `${SELECT} WHERE state = ? ORDER BY iif(state = 'held', expires_ms, -number), number LIMIT ?`,
  );
  const selectAsk = database.prepare(
    `${SELECT} WHERE ask = ? AND (created_ms >= ? OR ${IS_DEFERRED}) ORDER BY number DESC LIMIT 1`,
  );
  const held = database.prepare("SELECT count(*) FROM approval WHERE state = 'held' AND key_id = ?");
  const due = database.prepare("SELECT id FROM approval WHERE state = 'held' AND expires_ms <= ?");
  const next = database.prepare("SELECT min(expires_ms) FROM approval WHERE state = 'held'");
  const approve = database.prepare(
    `UPDATE approval SET state = 'approved', decided_at = ?, decided_by = ?
     WHERE id = ? AND state = 'held' AND expires_ms > ? AND shown = ?`,
  );
  const end = database.prepare(
    "UPDATE approval SET state = ?, text = NULL, decided_at = ?, decided_by = ? WHERE id = ? AND state = 'held'",
  );
  const finish = database.prepare(
    "UPDATE approval SET state = ?, text = NULL, message_id = ?, problem = ? WHERE id = ? AND state = 'approved'",
  );
  const count = database.prepare('SELECT count(*) FROM approval');
  const removeOld = database.prepare(`DELETE FROM approval WHERE expires_ms < ? AND ${ENDED} AND NOT ${IS_DEFERRED}`);
  const removeOldest = database.prepare(
    `DELETE FROM approval WHERE number IN
       (SELECT number FROM approval WHERE has_key = 0 AND ${ENDED} ORDER BY number LIMIT ?)`,
  );
  return {
    add: (approval) => void insert.run(...APPROVAL.values(approval)),
    get: (id) => select.all(id).map(toApproval)[0],
    list: (state, limit) => (state === undefined ? selectAll.all(limit) : selectIn.all(state, limit)).map(toApproval),
    ofAsk: (ask, sinceMs) => selectAsk.all(ask, sinceMs, deferred()).map(toApproval)[0],
    countHeld: (keyId) => Number(held.get(keyId)?.[0]),
    keptBytes: storedBytesOf(database, 'approval', "state IN ('held', 'approved')"),
    due: (nowMs) => due.all(nowMs).map(([id]) => String(id)),
    nextExpiryMs: () => firstNumber(next.get()),
    decide: (id, state, { at, by, nowMs, shown }) =>
      durably(database, () =>
        state === 'approved' ? approve.run(at, by, id, nowMs, shown ?? '') > 0 : end.run(state, at, by, id) > 0,
      ),
    prune(nowMs) {
      removeOld.run(nowMs - KEPT_MS, deferred());
      const excess = Number(count.get()?.[0]) - MAX_ROWS;
      if (excess > 0) removeOldest.run(excess);
    },
    finish: (id, state, { messageId, problem }) =>
      void durably(database, () => finish.run(state, messageId, problem, id)),
  };
}

function toApproval(row: Row): StoredApproval {
  const approval = APPROVAL.read(row);
  return {
    ...approval,
    created_at: isoSecond(approval.createdMs),
    expires_at: isoSecond(approval.expiresMs),
    ...shownOptions(approval.options),
  };
}
