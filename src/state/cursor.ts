import type { Cursor } from '../domain/cursor.ts';
import type { CursorStore } from '../domain/ports/feed.ts';
import type { Sqlite } from '../runtime/sqlite.ts';

/** Where publishing stands (decisions C4, C5). */
export function cursorStore(database: Sqlite): CursorStore {
  const select = database.prepare('SELECT row_id, guid, inode FROM cursor');
  const upsert = database.prepare('INSERT OR REPLACE INTO cursor (one, row_id, guid, inode) VALUES (1, ?, ?, ?)');
  const moveWebhooks = database.prepare('UPDATE webhook SET row_id = ?');
  const save = (mark: Cursor): void => void upsert.run(mark.rowId, mark.guid, mark.inode);
  return {
    load() {
      const row = select.get();
      if (row === undefined) return undefined;
      return { rowId: Number(row[0]), guid: row[1] === null ? null : String(row[1]), inode: String(row[2]) };
    },
    save,
    restart(mark) {
      database.transaction(() => {
        save(mark);
        moveWebhooks.run(mark.rowId);
      });
    },
  };
}
