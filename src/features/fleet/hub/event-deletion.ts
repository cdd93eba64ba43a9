import type { HubDatabase } from './hub-database.ts';

/** Maximum number of events deleted in one step. A step takes a few milliseconds. */
const STEP = 2000;

/**
 * Deletes up to `STEP` of the oldest events, but never the newest one. Deletes an event only if each message that holds
 * it is older than `beforeMs` or comes before `firstSequence` of `stream`. Returns true if there may be more to delete.
 * Callers hold a transaction.
 */
export function deleteOldEvents(
  database: HubDatabase,
  beforeMs: number,
  stream: string,
  firstSequence: number,
): boolean {
  const id = database.number('SELECT id FROM stream WHERE created = ?', stream) ?? 0;
  const isOld = (table: string): string => `(${table}.at_ms < ? OR (${table}.stream = ? AND ${table}.sequence < ?))`;
  const kept = `SELECT 1 FROM later_place WHERE later_place.number = event.number AND NOT ${isOld('later_place')}`;
  const where = `number < (SELECT max(number) FROM event) AND ${isOld('event')} AND NOT EXISTS (${kept})`;
  const oldest = `SELECT number FROM event WHERE ${where} ORDER BY number LIMIT ${STEP}`;
  const given = [beforeMs, id, firstSequence] as const;
  const deleted = database.run(`DELETE FROM event WHERE number IN (${oldest})`, ...given, ...given);
  // A gap that is not old still concerns clients of a stream that this hub never read, even if it precedes all events.
  database.run('DELETE FROM gap WHERE number < (SELECT min(number) FROM event) AND at_ms < ?', beforeMs);
  return deleted >= STEP;
}
