import type { Offset } from '../model/offset.ts';
import type { Sqlite } from '../runtime/sqlite.ts';

/** Stores how far each reader of the event log has read. The positions move when chat.db is replaced. */
export function consumerPositions(database: Sqlite) {
  const select = database.prepare('SELECT row_id, change FROM consumer WHERE name = ?');
  const insert = database.prepare('INSERT OR REPLACE INTO consumer (name, row_id, change) VALUES (?, ?, ?)');
  const move = database.prepare('UPDATE consumer SET row_id = ?, change = ? WHERE name = ?');
  const remove = database.prepare('DELETE FROM consumer WHERE name = ?');
  return {
    of(name: string): Offset | undefined {
      const row = select.get(name);
      return row && { rowId: Number(row[0]), change: Number(row[1]) };
    },
    set: (name: string, { rowId, change }: Offset): void => void insert.run(name, rowId, change),
    /** Like `set`, but only if the reader still exists. */
    move: (name: string, { rowId, change }: Offset): void => void move.run(rowId, change, name),
    remove: (name: string): void => void remove.run(name),
  };
}
