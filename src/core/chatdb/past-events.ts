import type { EventType } from '../model/event.ts';
import { columnList, instantAt, toUnixMs } from './columns.ts';
import type { Connection } from './connection.ts';
import { column, isNotHidden } from './queries.ts';
import { isMessage, isPartOfPoll, isScheduled } from './row-kinds.ts';
import { perSchema } from './schema-info.ts';

/** A message or reaction that chat.db has. */
export interface PastEvent {
  readonly rowId: number;
  readonly atMs: number;
  readonly type: EventType;
}

/** Returns the newest past events with a row id below `before`, newest first. Throws while chat.db is unreadable. */
export type PastEvents = (before: number, limit: number) => readonly PastEvent[];

const COLUMNS = columnList({ rowId: 'value', date: 'date', kind: 'value' });

/** Selects rows that were events, newest first. Their text is not read. */
const sqlOf = perSchema((schema): string => {
  const kind = `CASE WHEN NOT ${isMessage(schema)}
      THEN iif(${column(schema, 'associated_message_type', '0')} BETWEEN 3000 AND 3999, 'reaction.removed', 'reaction.added')
    WHEN m.is_from_me THEN 'message.sent' ELSE 'message.received' END`;
  return `SELECT ${COLUMNS.select({ rowId: 'm.ROWID', date: 'm.date', kind })} FROM message m
    WHERE m.ROWID < ? AND NOT ${isPartOfPoll(schema)} AND ${isScheduled(schema)} IS NOT 1 AND ${isNotHidden(schema)}
    ORDER BY m.ROWID DESC LIMIT ?`;
});

/** Reads when the messages and reactions in chat.db were written, for the counters. */
export function pastEvents(connection: Connection): PastEvents {
  return (before, limit) =>
    connection.read(({ database }) =>
      database.all(sqlOf(database.schema), before, limit).map(
        (row): PastEvent => ({
          rowId: row[COLUMNS.at.rowId] as number,
          atMs: toUnixMs(instantAt(row, COLUMNS.at.date)),
          type: row[COLUMNS.at.kind] as PastEvent['type'],
        }),
      ),
    );
}
