import type { EventType } from '../model/event.ts';
import { columnList, fromUnixNs, INT_PARAM, instantAt, MAX_SECONDS, toNanoseconds, toUnixMs } from './columns.ts';
import type { Connection } from './connection.ts';
import { column, isNotHidden } from './queries.ts';
import { isMessage, isPartOfPoll, isScheduled } from './row-kinds.ts';
import { perSchema } from './schema-info.ts';

/** A message or reaction that chat.db has. */
export interface PastEvent {
  readonly atMs: number;
  readonly type: EventType;
}

/**
 * Yields the events before `beforeMs`, newest first, at most `limit` at once. Goes by date, because iCloud inserts old
 * messages as new rows. Throws while chat.db is unreadable.
 */
export type PastEvents = (beforeMs: number, limit: number) => Iterable<readonly PastEvent[]>;

const COLUMNS = columnList({ rowId: 'value', date: 'date', kind: 'value' });

/**
 * Selects rows that were events before a date and row id, newest first. Their text is not read. Leaves out
 * rows dated in seconds, which only macOS 10.12 and older wrote.
 */
export const pastEventsSqlOf = perSchema((schema): string => {
  const kind = `CASE WHEN NOT ${isMessage(schema)}
      THEN iif(${column(schema, 'associated_message_type', '0')} BETWEEN 3000 AND 3999, 'reaction.removed', 'reaction.added')
    WHEN m.is_from_me THEN 'message.sent' ELSE 'message.received' END`;
  return `SELECT ${COLUMNS.select({ rowId: 'm.ROWID', date: 'm.date', kind })} FROM message m
    WHERE m.date > ${MAX_SECONDS} AND (m.date, m.ROWID) < (${INT_PARAM}, ${INT_PARAM}) AND NOT ${isPartOfPoll(schema)} AND ${isScheduled(schema)} IS NOT 1 AND ${isNotHidden(schema)}
    ORDER BY m.date DESC, m.ROWID DESC LIMIT ${INT_PARAM}`;
});

/** Reads when the messages and reactions in chat.db were written, for the counters. */
export function pastEvents(connection: Connection): PastEvents {
  const { rowId, date, kind } = COLUMNS.at;
  return function* (beforeMs, limit) {
    let bound: readonly [date: bigint, rowId: bigint] = [fromUnixNs(BigInt(beforeMs) * 1_000_000n), 0n];
    for (;;) {
      const rows = connection.read(({ database }) => database.all(pastEventsSqlOf(database.schema), ...bound, limit));
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map((row) => ({
        atMs: toUnixMs(instantAt(row, date)),
        type: row[kind] as PastEvent['type'],
      }));
      bound = [toNanoseconds(instantAt(last, date)), BigInt(last[rowId] as number)];
    }
  };
}
