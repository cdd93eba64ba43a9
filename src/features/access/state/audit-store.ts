import type { AuditAction, AuditEntry } from '../../../client/access-types.ts';
import { DAY_MS, MINUTE_MS } from '../../../core/model/durations.ts';
import { isoSecond } from '../../../core/model/iso-second.ts';
import type { Row, Sqlite } from '../../../core/runtime/sqlite.ts';
import { firstNumber } from '../../../core/state/record.ts';
import type { AuditQuery, AuditStore, KeyUses } from '../ports.ts';

const MAX_ROWS = 100_000;
const KEPT_MS = 90 * DAY_MS;

const SELECT = 'SELECT number, at_ms, key_id, action, target, outcome, text_hmac, count FROM audit';
/** SQL that is true for the lines that count towards the caps. Separate lines record what came of the requests. */
const CAPPED = 'ask IS NOT NULL';
/**
 * SQL that is true for the lines that one of the two counts of the caps includes: every allowed request to send, held
 * or scheduled ones too (`asked`), or every message that may leave now (`leaving`).
 */
const OF_COUNT = "CASE ? WHEN 'asked' THEN outcome = 'asked' ELSE action = 'send' END";
/**
 * SQL that is true for lines of the kinds that a key can cause without a send, a decision or a change of a key. Such
 * lines are removed first.
 */
const PLENTY = `(action IN ('read', 'event', 'refused', 'webhook') OR outcome = 'dry_run'
  OR action = 'schedule' AND outcome IN ('asked', 'scheduled', 'cancelled'))`;

/**
 * Counts the actions of limited keys per span of time, in four groups: `read` (reads and events), `refused`, `asked`
 * (requests to send or to schedule) and `sent` (sends that went out).
 */
const USES = `SELECT key_id, at_ms / CAST(? AS INTEGER) * CAST(? AS INTEGER), what, sum(count) FROM (
    SELECT key_id, at_ms, count, CASE
      WHEN action IN ('read', 'event') THEN 'read'
      WHEN action = 'refused' THEN 'refused'
      WHEN outcome = 'asked' THEN 'asked'
      WHEN action IN ('send', 'schedule', 'approval') AND outcome IN ('sent', 'pending') THEN 'sent' END AS what
    FROM audit WHERE at_ms >= ? AND key_id NOT IN ('owner', 'tapback'))
  WHERE what IS NOT NULL GROUP BY 1, 2, 3`;

/** Stores the audit log (decision L4): bounded in rows and time, without bodies. */
export function auditStore(database: Sqlite): AuditStore {
  const insert = database.prepare(
    `INSERT INTO audit (at_ms, key_id, action, target, outcome, text_hmac, count, is_new, ask)
     VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?) RETURNING number`,
  );
  const more = database.prepare('UPDATE audit SET count = count + ? WHERE number = ?');
  const uses = database.prepare(USES);
  const inMinute = database.prepare(
    `SELECT count(*), min(at_ms) FROM audit WHERE key_id = ? AND ${CAPPED} AND at_ms > ? AND ${OF_COUNT}`,
  );
  const inDay = database.prepare(
    `SELECT count(*), min(at_ms), count(DISTINCT CASE WHEN is_new AND target IS NOT ? THEN target END)
     FROM audit WHERE key_id = ? AND ${CAPPED} AND at_ms > ? AND ${OF_COUNT}`,
  );
  const ofAll = database.prepare(
    `SELECT count(*), min(at_ms) FROM audit WHERE ${CAPPED} AND at_ms > ? AND ${OF_COUNT}`,
  );
  const ofAsk = database.prepare('SELECT at_ms FROM audit WHERE ask = ? AND at_ms >= ? ORDER BY number DESC LIMIT 1');
  const old = database.prepare('DELETE FROM audit WHERE at_ms < ?');
  const count = database.prepare('SELECT count(*) FROM audit');
  // Both exclude the last day's requests, because they count towards the caps.
  const oldestPlenty = database.prepare(oldest(`${PLENTY} AND NOT (${CAPPED} AND at_ms > ?)`));
  const oldestOthers = database.prepare(oldest(`NOT (${CAPPED} AND at_ms > ?)`));
  return {
    add({ keyId, action, target = null, outcome, textHmac = null, isNew = false, ask = null }, atMs) {
      return Number(insert.get(atMs, keyId, action, target, outcome, textHmac, isNew ? 1 : 0, ask)?.[0]);
    },
    count(lines) {
      database.transaction(() => {
        for (const line of lines) more.run(line.more, line.id);
      });
    },
    list(query) {
      const { conditions, values } = conditionsOf(query);
      const { after, isNewestFirst = false, limit } = query;
      // Without `after`, selects the newest lines, even if they are returned oldest first.
      const order = after === undefined || isNewestFirst ? 'DESC' : 'ASC';
      const sql = `${SELECT}${conditions} ORDER BY number ${order} LIMIT ?`;
      const entries = database
        .prepare(sql)
        .all(...values, limit)
        .map(toEntry);
      return order === 'DESC' && !isNewestFirst ? entries.reverse() : entries;
    },
    uses: (sinceMs, lengthMs) =>
      uses.all(lengthMs, lengthMs, sinceMs).map(([keyId, atMs, what, count]) => ({
        keyId: String(keyId),
        atMs: Number(atMs),
        what: String(what) as KeyUses['what'],
        count: Number(count),
      })),
    sends(keyId, target, nowMs, counted) {
      const minute = inMinute.get(keyId, nowMs - MINUTE_MS, counted);
      const day = inDay.get(target, keyId, nowMs - DAY_MS, counted);
      return {
        minute: toCount(minute, MINUTE_MS),
        day: toCount(day, DAY_MS),
        newContacts: { ...toCount(day, DAY_MS), count: Number(day?.[2] ?? 0) },
        dayOfAll: toCount(ofAll.get(nowMs - DAY_MS, counted), DAY_MS),
      };
    },
    ask: (ask, sinceMs) => firstNumber(ofAsk.get(ask, sinceMs)),
    trim(nowMs) {
      old.run(nowMs - KEPT_MS);
      const excess = Number(count.get()?.[0]) - MAX_ROWS;
      if (excess <= 0) return;
      const dayAgoMs = nowMs - DAY_MS;
      const left = excess - oldestPlenty.run(dayAgoMs, excess);
      if (left > 0) oldestOthers.run(dayAgoMs, left);
    },
  };
}

/** Returns the conditions of a query, with the values for their placeholders. */
function conditionsOf(query: AuditQuery) {
  const { keyId, after, before, sinceMs, action, outcome, target } = query;
  const wanted: readonly (readonly [condition: string, value: string | number | undefined])[] = [
    ['key_id = ?', keyId],
    ['number > ?', after],
    ['number < ?', before],
    ['at_ms >= ?', sinceMs],
    ['action = ?', action],
    ['outcome = ?', outcome],
    ['target = ?', target],
  ];
  const used = wanted.flatMap(([condition, value]) => (value === undefined ? [] : [{ condition, value }]));
  const conditions = used.length === 0 ? '' : ` WHERE ${used.map(({ condition }) => condition).join(' AND ')}`;
  return { conditions, values: used.map(({ value }) => value) };
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
