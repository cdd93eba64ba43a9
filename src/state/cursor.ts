import type { Cursor } from '../domain/cursor.ts';
import type { CursorStore } from '../domain/ports/feed.ts';
import type { Sqlite } from '../runtime/sqlite.ts';

/** How far events have been published (decisions C4, C5). */
export function cursorStore(database: Sqlite): CursorStore {
  const select = database.prepare('SELECT row_id, change, guid, inode FROM cursor');
  const upsert = database.prepare(
    'INSERT OR REPLACE INTO cursor (one, row_id, change, guid, inode) VALUES (1, ?, ?, ?, ?)',
  );
  const moveConsumers = database.prepare('UPDATE consumer SET row_id = ?, change = ?');
  const sentSince = database.prepare('INSERT OR REPLACE INTO sent_since (one, row_id) VALUES (1, ?)');
  const save = ({ offset, guid, inode }: Cursor): void => void upsert.run(offset.rowId, offset.change, guid, inode);
  return {
    load() {
      const row = select.get();
      if (row === undefined) return undefined;
      const [rowId, change, guid, inode] = row;
      return {
        offset: { rowId: Number(rowId), change: Number(change) },
        guid: guid === null ? null : String(guid),
        inode: String(inode),
      };
    },
    save,
    restart(cursor) {
      database.transaction(() => {
        if (select.get() !== undefined) {
          // What was sent has rows in the database that was replaced.
          database.exec('DELETE FROM sent_part');
          sentSince.run(cursor.offset.rowId);
        }
        save(cursor);
        moveConsumers.run(cursor.offset.rowId, cursor.offset.change);
      });
    },
  };
}
