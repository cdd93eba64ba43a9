import type { AuditAction, AuditEntry } from '../../domain/audit.ts';
import { isoSecond } from '../../domain/iso-second.ts';
import type { AuditStore } from '../../domain/ports/access.ts';
import type { Row, Sqlite } from '../../runtime/sqlite.ts';

const MAX_ROWS = 100_000;
const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const SELECT = 'SELECT number, at_ms, key_id, action, target, outcome, text_hmac, count FROM audit';
/** A send that was let through, held or not. Its outcome is another line. */
const ASKED = "action = 'send' AND ask IS NOT NULL";
/**
 * Lines that a key can cause in any number. They are removed first, so that they never displace sends, decisions or
 * keys.
 */
const PLENTY = "(action IN ('read', 'event', 'refused', 'webhook') OR outcome = 'dry_run')";

/** Stores the audit log (decision L4): bounded in rows and time, without bodies. */
export function auditStore(database: Sqlite): AuditStore {
  const insert = database.prepare(
    `INSERT INTO audit (at_ms, key_id, action, target, outcome, text_hmac, count, is_new, ask)
     VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?) RETURNING number`,
  );
  const more = database.prepare('UPDATE audit SET count = count + ? WHERE number = ?');
  const newest = database.prepare(
    `SELECT * FROM (${SELECT} WHERE (? IS NULL OR key_id = ?) ORDER BY number DESC LIMIT ?) ORDER BY number`,
  );
  const after = database.prepare(`${SELECT} WHERE (? IS NULL OR key_id = ?) AND number > ? ORDER BY number LIMIT ?`);
  const inMinute = database.prepare(
    `SELECT count(*), min(at_ms) FROM audit WHERE key_id = ? AND ${ASKED} AND at_ms > ?`,
  );
  const inDay = database.prepare(
    `SELECT count(*), min(at_ms), count(DISTINCT CASE WHEN is_new AND target IS NOT ? THEN target END)
     FROM audit WHERE key_id = ? AND ${ASKED} AND at_ms > ?`,
  );
  const ofAll = database.prepare(`SELECT count(*), min(at_ms) FROM audit WHERE ${ASKED} AND at_ms > ?`);
  const ofAsk = database.prepare('SELECT at_ms FROM audit WHERE ask = ? AND at_ms >= ? ORDER BY number DESC LIMIT 1');
  const old = database.prepare('DELETE FROM audit WHERE at_ms < ?');
  const count = database.prepare('SELECT count(*) FROM audit');
  const oldestPlenty = database.prepare(oldest(PLENTY));
  // Sends that caps count are always kept.
  const oldestOthers = database.prepare(oldest(`NOT (${ASKED} AND at_ms > ?)`));
  return {
    add({ keyId, action, target = null, outcome, textHmac = null, isNew = false, ask = null }, atMs) {
      return Number(insert.get(atMs, keyId, action, target, outcome, textHmac, isNew ? 1 : 0, ask)?.[0]);
    },
    count(lines) {
      database.transaction(() => {
        for (const line of lines) more.run(line.more, line.id);
      });
    },
    list: ({ keyId = null, after: number, limit }) =>
      (number === undefined ? newest.all(keyId, keyId, limit) : after.all(keyId, keyId, number, limit)).map(toEntry),
    sends(keyId, target, nowMs) {
      const minute = inMinute.get(keyId, nowMs - MINUTE_MS);
      const day = inDay.get(target, keyId, nowMs - DAY_MS);
      return {
        minute: toCount(minute, MINUTE_MS),
        day: toCount(day, DAY_MS),
        newContacts: { ...toCount(day, DAY_MS), count: Number(day?.[2] ?? 0) },
        dayOfAll: toCount(ofAll.get(nowMs - DAY_MS), DAY_MS),
      };
    },
    ask(ask, sinceMs) {
      const row = ofAsk.get(ask, sinceMs);
      return row && Number(row[0]);
    },
    trim(nowMs) {
      old.run(nowMs - KEPT_MS);
      const excess = Number(count.get()?.[0]) - MAX_ROWS;
      if (excess <= 0) return;
      const left = excess - oldestPlenty.run(excess);
      if (left > 0) oldestOthers.run(nowMs - DAY_MS, left);
    },
  };
}

function oldest(condition: string): string {
  return `DELETE FROM audit WHERE number IN (SELECT number FROM audit WHERE ${condition} ORDER BY number LIMIT ?)`;
}

function toCount(row: Row | undefined, windowMs: number) {
  return { count: Number(row?.[0] ?? 0), freeAtMs: Number(row?.[1] ?? 0) + windowMs };
}

function toEntry(row: Row): AuditEntry {
  return {
    id: Number(row[0]),
    at: isoSecond(Number(row[1])),
    key_id: String(row[2]),
    action: String(row[3]) as AuditAction,
    target: row[4] === null ? null : String(row[4]),
    outcome: String(row[5]),
    text_hmac: row[6] === null ? null : String(row[6]),
    count: Number(row[7]),
  };
}
