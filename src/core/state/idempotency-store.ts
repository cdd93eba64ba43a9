import { createHash } from 'node:crypto';
import { DAY_MS } from '../model/durations.ts';
import { type IdempotencyKey, storedKey } from '../model/idempotency-key.ts';
import type { DeferringStore, EarlierUse, StoredOutcome } from '../model/ports/sending-ports.ts';
import type { Row, Sqlite } from '../runtime/sqlite.ts';
import { durably } from './state-database.ts';

/** How long an outcome is kept (decision D9). */
const KEPT_MS = DAY_MS;

/** Stores the outcomes of sends with an `Idempotency-Key` (decision D9): hashes, a row id or a problem, no text. */
export function idempotencyStore(database: Sqlite): DeferringStore {
  const forget = database.prepare('DELETE FROM send WHERE claimed_at_ms < ?');
  const select = database.prepare(
    'SELECT request_hash, state, row_id, problem FROM send WHERE key_hash = ? AND claimed_at_ms >= ?',
  );
  const insert = database.prepare(
    "INSERT INTO send (key_hash, request_hash, claimed_at_ms, state) VALUES (?, ?, ?, 'running')",
  );
  const update = database.prepare('UPDATE send SET state = ?, row_id = ?, problem = ? WHERE key_hash = ?');
  // These sends were running when an earlier process died.
  database.exec("UPDATE send SET state = 'interrupted' WHERE state = 'running'");

  const find = (key: IdempotencyKey, nowMs: number): EarlierUse | undefined => {
    const row = select.get(hashed(key), nowMs - KEPT_MS);
    return row && { requestHash: String(row[0]), outcome: toOutcome(row) };
  };

  return {
    find,
    // Durable even through a power failure: a second message is worse than a slow answer.
    claim: (key, requestHash, nowMs) =>
      durably(database, () => {
        const earlier = find(key, nowMs);
        if (earlier !== undefined) return earlier;
        forget.run(nowMs - KEPT_MS);
        insert.run(hashed(key), requestHash, nowMs);
        return 'claimed';
      }),
    defer: (key, requestHash, { id, nowMs, untilMs }, write) =>
      durably(database, () => {
        const earlier = find(key, nowMs);
        if (earlier !== undefined) return earlier;
        forget.run(nowMs - KEPT_MS);
        // Stores `untilMs`, the latest time to send, as the time of the claim. The claim is then kept until 24 hours
        // after `untilMs`.
        insert.run(hashed(key), requestHash, untilMs);
        update.run('deferred', null, id, hashed(key));
        write();
        return 'claimed';
      }),
    finish(key, outcome) {
      const rowId = outcome.state === 'confirmed' ? outcome.rowId : null;
      // The column `problem` has the part of a provisional send, because it has no problem.
      const part = outcome.state === 'provisional' && outcome.part !== undefined ? String(outcome.part) : null;
      const problem = outcome.state === 'problem' ? outcome.problem : part;
      durably(database, () => update.run(outcome.state, rowId, problem, hashed(key)));
    },
  };
}

function hashed(key: IdempotencyKey): string {
  return createHash('sha256').update(storedKey(key)).digest('hex');
}

function toOutcome(row: Row): StoredOutcome {
  switch (row[1]) {
    case 'confirmed':
      return { state: 'confirmed', rowId: Number(row[2]) };
    case 'provisional':
      return { state: 'provisional', part: row[3] === null ? undefined : Number(row[3]) };
    case 'problem':
      return { state: 'problem', problem: String(row[3]) };
    case 'deferred':
      return { state: 'deferred', id: String(row[3]) };
    case 'interrupted':
      return { state: 'interrupted' };
    default:
      return { state: 'running' };
  }
}
