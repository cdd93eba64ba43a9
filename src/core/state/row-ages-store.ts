import { DAY_MS } from '../model/durations.ts';
import type { RowAgeStore } from '../model/ports/row-ages-ports.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { firstNumber } from './record.ts';

/** An age is kept for `KEPT_MS` after the row was first seen, and at most `KEPT_ROWS` ages are kept (decision U4). */
const KEPT_MS = 30 * DAY_MS;
const KEPT_ROWS = 100_000;

/** Stores the ages of rows that were old when first seen, and the times when chat.db was watched (decision U4). */
export function rowAgeStore(database: Sqlite): RowAgeStore {
  const insert = database.prepare('INSERT OR IGNORE INTO row_age (row_id, age_s, seen_ms) VALUES (?, ?, ?)');
  const forget = database.prepare('DELETE FROM row_age WHERE seen_ms < ?');
  const trim = database.prepare(
    `DELETE FROM row_age WHERE row_id <= (SELECT row_id FROM row_age ORDER BY row_id DESC LIMIT 1 OFFSET ${KEPT_ROWS})`,
  );
  const any = database.prepare('SELECT 1 FROM row_age LIMIT 1');
  const ofRow = database.prepare('SELECT age_s FROM row_age WHERE row_id = ?');
  const ofRows = database.prepare('SELECT row_id, age_s FROM row_age WHERE row_id > ? AND row_id <= ?');
  const spans = database.prepare('SELECT from_ms, to_ms FROM watched_span ORDER BY from_ms');
  const addSpan = database.prepare('INSERT INTO watched_span (from_ms, to_ms) VALUES (?, ?)');
  // True once the table has had a row. Most databases never get one, so lookups skip the query until then. Stays true
  // after `cursorStore` has emptied the table for a replaced chat.db. The queries then find nothing, which does no
  // harm.
  let hasAny = any.get() !== undefined;
  return {
    add(ages, nowMs) {
      database.transaction(() => {
        for (const [rowId, ageS] of ages) insert.run(rowId, ageS, nowMs);
        forget.run(nowMs - KEPT_MS);
        trim.run();
      });
      hasAny = true;
    },
    of: (rowId) => (hasAny ? firstNumber(ofRow.get(rowId)) : undefined),
    between: (after, upTo) =>
      new Map(hasAny ? ofRows.all(after.rowId, upTo.rowId).map(([rowId, ageS]) => [Number(rowId), Number(ageS)]) : []),
    spans: () => spans.all().map(([fromMs, toMs]) => ({ fromMs: Number(fromMs), toMs: Number(toMs) })),
    saveSpans: (kept) =>
      database.transaction(() => {
        database.exec('DELETE FROM watched_span');
        for (const { fromMs, toMs } of kept) addSpan.run(Math.round(fromMs), Math.round(toMs));
      }),
  };
}
