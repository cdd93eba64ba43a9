import type { Cursor } from '../model/cursor.ts';
import type { CursorStore } from '../model/ports/feed-ports.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { changeWriter, printWriter, restartChanges } from './changes-store.ts';

/** A feature, or another part, that keeps facts about one chat.db. */
export interface Replaced {
  replaced?(state: Sqlite): void;
}

/** Stores how far events have been published (decisions C4, C5). */
export function cursorStore(database: Sqlite, features: readonly Replaced[] = []): CursorStore {
  const select = database.prepare('SELECT row_id, change, guid, inode FROM cursor');
  const upsert = database.prepare(`INSERT INTO cursor (one, row_id, change, guid, inode) VALUES (1, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET row_id = excluded.row_id, change = excluded.change, guid = excluded.guid, inode = excluded.inode`);
  const selectReplacedAt = database.prepare('SELECT replaced_at FROM cursor');
  const moveConsumers = database.prepare(
    "UPDATE consumer SET row_id = ?, change = ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'change'), 0)",
  );
  const sentSince = database.prepare('INSERT OR REPLACE INTO sent_since (one, row_id) VALUES (1, ?)');
  const writePrints = printWriter(database);
  const addChange = changeWriter(database);
  const write = ({ offset, guid, inode }: Cursor): void => void upsert.run(offset.rowId, offset.change, guid, inode);
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
    save(cursor, prints, changes = [], nowMs = 0) {
      if (prints === undefined) return write(cursor);
      database.transaction(() => {
        write(cursor);
        writePrints(prints, true);
        for (const change of changes) addChange(change, nowMs);
      });
    },
    replacedAt: () => Number(selectReplacedAt.get()?.[0] ?? 0),
    restart(cursor, prints) {
      database.transaction(() => {
        if (select.get() !== undefined) {
          // Both refer to rows of the replaced database. A repeated request still sends nothing, but finds no row.
          database.exec(
            "DELETE FROM sent_part; UPDATE send SET state = 'provisional', row_id = NULL WHERE state = 'confirmed'",
          );
          sentSince.run(cursor.offset.rowId);
          write(cursor);
          database.exec('UPDATE cursor SET replaced_at = row_id');
        } else write(cursor);
        for (const feature of features) feature.replaced?.(database);
        restartChanges(database);
        if (prints !== undefined) writePrints(prints);
        moveConsumers.run(cursor.offset.rowId);
        // Dropped events and row ages refer to rows of the replaced database.
        database.exec('DELETE FROM dropped; UPDATE webhook SET held = NULL; DELETE FROM row_age');
      });
    },
  };
}
