import type { Offset } from '../../domain/offset.ts';
import type { DroppedEvent } from '../../domain/ports/webhooks.ts';
import type { Row, Sqlite } from '../../runtime/sqlite.ts';

/** Kept per webhook (decision P6). */
const KEPT = 10_000;

/** Stores the log positions of events that webhooks dropped, and which of them to deliver again. */
export function droppedEvents(database: Sqlite) {
  const insert = database.prepare(
    `INSERT INTO dropped (webhook, row_id, change) SELECT id, ?, ? FROM webhook WHERE id = ?
     ON CONFLICT DO UPDATE SET is_replayed = 0`,
  );
  const count = database.prepare('SELECT count(*) FROM dropped WHERE webhook = ?');
  const trim = database.prepare(
    `DELETE FROM dropped WHERE webhook = ? AND (row_id, change) <=
       (SELECT row_id, change FROM dropped WHERE webhook = ? ORDER BY row_id DESC, change DESC LIMIT 1 OFFSET ${KEPT})`,
  );
  const forget = database.prepare('DELETE FROM dropped WHERE webhook = ? AND row_id > ? AND change = 0');
  const forgetChanges = database.prepare('DELETE FROM dropped WHERE webhook = ? AND change > ?');
  const mark = database.prepare('UPDATE dropped SET is_replayed = ? WHERE webhook = ?');
  const next = database.prepare(
    `SELECT row_id, change FROM dropped WHERE webhook = ? AND is_replayed <> 0 ORDER BY row_id, change LIMIT 1`,
  );
  const remove = database.prepare('DELETE FROM dropped WHERE webhook = ? AND row_id = ? AND change = ?');
  const unmark = database.prepare('UPDATE dropped SET is_replayed = 0 WHERE webhook = ? AND row_id = ? AND change = ?');
  return {
    add: (id: string, { rowId, change }: DroppedEvent): void => void insert.run(rowId, change, id),
    trim: (id: string): void => void trim.run(id, id),
    count: (id: string): number => Math.min(KEPT, Number(count.get(id)?.[0])),
    /** Events after the offset are delivered anyway. */
    forgetAfter(id: string, { rowId, change }: Offset): void {
      forget.run(id, rowId);
      forgetChanges.run(id, change);
    },
    markAll: (id: string, isReplayed: boolean): void => void mark.run(isReplayed ? 1 : 0, id),
    next(id: string): DroppedEvent | undefined {
      const row = next.get(id);
      return row === undefined ? undefined : toEvent(row);
    },
    end(id: string, { rowId, change }: DroppedEvent, isDropped: boolean): void {
      (isDropped ? unmark : remove).run(id, rowId, change);
    },
  };
}

function toEvent([rowId, change]: Row): DroppedEvent {
  return { rowId: Number(rowId), change: Number(change) };
}
