import type { ApprovalState, HeldFile } from '../../domain/approval.ts';
import { isoSecond } from '../../domain/iso-second.ts';
import type { ApprovalStore, StoredApproval } from '../../domain/ports/access.ts';
import { type SendPreferences, shownOptions } from '../../domain/send-service.ts';
import type { Row, Sqlite } from '../../runtime/sqlite.ts';
import { durably } from './database.ts';

const COLUMNS =
  'id, key_id, state, recipient, members, text, attachments, shown, ask, request_hash, text_hmac, created_ms, ' +
  'expires_ms, decided_at, decided_by, message_id, problem, has_key, options';

/** Decision L3. The caps of all limited keys permit some 6,000 requests in that time. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const MAX_ROWS = 10_000;
const ENDED = "state NOT IN ('held', 'approved')";
/** Scheduled, and not over yet: its ask stays known. */
const IS_SCHEDULED = "id IN (SELECT id FROM scheduled WHERE state IN ('scheduled', 'sending'))";

/** Stores held sends (decision L3). Only a row's state changes; its text is erased when it ends. */
export function approvalStore(database: Sqlite): ApprovalStore {
  // Overwrites an erased text in the file too.
  database.exec('PRAGMA secure_delete = ON');
  const SELECT = `SELECT ${COLUMNS} FROM approval`;
  const insert = database.prepare(`INSERT INTO approval (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, '?')})`);
  const select = database.prepare(`${SELECT} WHERE id = ?`);
  const selectAll = database.prepare(`${SELECT} ORDER BY number DESC LIMIT ?`);
  const selectIn = database.prepare(`${SELECT} WHERE state = ? ORDER BY number DESC LIMIT ?`);
  const selectAsk = database.prepare(
    `${SELECT} WHERE ask = ? AND (created_ms >= ? OR ${IS_SCHEDULED}) ORDER BY number DESC LIMIT 1`,
  );
  const held = database.prepare("SELECT count(*) FROM approval WHERE state = 'held' AND key_id = ?");
  const files = database.prepare("SELECT attachments FROM approval WHERE state IN ('held', 'approved')");
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
  const removeOld = database.prepare(`DELETE FROM approval WHERE expires_ms < ? AND ${ENDED} AND NOT ${IS_SCHEDULED}`);
  const removeOldest = database.prepare(
    `DELETE FROM approval WHERE number IN
       (SELECT number FROM approval WHERE has_key = 0 AND ${ENDED} ORDER BY number LIMIT ?)`,
  );
  return {
    add: (approval) => void insert.run(...toRow(approval)),
    get(id) {
      const row = select.get(id);
      return row && toApproval(row);
    },
    list: (state, limit) => (state === undefined ? selectAll.all(limit) : selectIn.all(state, limit)).map(toApproval),
    ofAsk(ask, sinceMs) {
      const row = selectAsk.get(ask, sinceMs);
      return row && toApproval(row);
    },
    countHeld: (keyId) => Number(held.get(keyId)?.[0]),
    heldBytes: () =>
      files
        .all()
        .flatMap(([json]) => JSON.parse(String(json)) as HeldFile[])
        .reduce((sum, { bytes }) => sum + bytes, 0),
    due: (nowMs) => due.all(nowMs).map(([id]) => String(id)),
    nextExpiryMs() {
      const ms = next.get()?.[0];
      return typeof ms === 'number' ? ms : undefined;
    },
    decide: (id, state, { at, by, nowMs, shown }) =>
      durably(database, () =>
        state === 'approved' ? approve.run(at, by, id, nowMs, shown ?? '') > 0 : end.run(state, at, by, id) > 0,
      ),
    prune(nowMs) {
      const old = removeOld.run(nowMs - KEPT_MS);
      const excess = Number(count.get()?.[0]) - MAX_ROWS;
      const oldest = excess > 0 ? removeOldest.run(excess) : 0;
      if (old + oldest === 0) return;
      database.exec('DELETE FROM self_chat_request WHERE approval NOT IN (SELECT id FROM approval)');
    },
    finish: (id, state, { messageId, problem }) =>
      void durably(database, () => finish.run(state, messageId, problem, id)),
  };
}

function toRow(approval: StoredApproval) {
  return [
    approval.id,
    approval.key_id,
    approval.state,
    approval.to,
    JSON.stringify(approval.members),
    approval.text,
    JSON.stringify(approval.attachments),
    approval.shown,
    approval.ask,
    approval.requestHash,
    approval.textHmac,
    approval.createdMs,
    approval.expiresMs,
    approval.decided_at,
    approval.decided_by,
    approval.message_id,
    approval.problem,
    approval.hasKey ? 1 : 0,
    JSON.stringify(approval.options),
  ] as const;
}

function toApproval(row: Row): StoredApproval {
  const textAt = (at: number): string | null => (typeof row[at] === 'string' ? row[at] : null);
  const options = JSON.parse(String(row[18])) as SendPreferences;
  const [createdMs, expiresMs] = [Number(row[11]), Number(row[12])];
  return {
    id: String(row[0]),
    key_id: String(row[1]),
    state: String(row[2]) as ApprovalState,
    to: String(row[3]),
    members: JSON.parse(String(row[4])) as string[],
    text: textAt(5),
    attachments: JSON.parse(String(row[6])) as HeldFile[],
    shown: String(row[7]),
    ask: String(row[8]),
    requestHash: String(row[9]),
    textHmac: String(row[10]),
    createdMs,
    expiresMs,
    created_at: isoSecond(createdMs),
    expires_at: isoSecond(expiresMs),
    decided_at: textAt(13),
    decided_by: textAt(14),
    message_id: textAt(15),
    problem: textAt(16),
    hasKey: Number(row[17]) !== 0,
    options,
    ...shownOptions(options),
  };
}
