import type { Cursor, LogIdentity } from '../domain/cursor.ts';
import type { LogEntry, PendingRow } from '../domain/event.ts';
import { type Offset, rowOffset } from '../domain/offset.ts';
import type { MessageLog } from '../domain/ports/feed.ts';
import type { Connection } from './connection.ts';
import { toArrival, toLogEntry, toText } from './rows.ts';

/** chat.db as a log whose offset is the row id. */
export class ChatLog implements MessageLog {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  entries(after: Offset, upTo: Offset, limit: number): readonly LogEntry[] {
    return this.#connection.read((edition) =>
      edition.database
        .all(edition.database.queries.entries, after.rowId, upTo.rowId, limit)
        .map((row) => toLogEntry(row, edition)),
    );
  }

  pendingRows(after: Offset, limit: number): readonly PendingRow[] {
    return this.#connection.read((edition) =>
      edition.database.all(edition.database.queries.arrivals, after.rowId, limit).map((row) => toArrival(row, edition)),
    );
  }

  newest(): Cursor {
    return this.#connection.read(({ database }) => {
      const row = database.get(database.queries.newest);
      const inode = this.#connection.fileId;
      return row === undefined
        ? { offset: rowOffset(0), guid: null, inode }
        : { offset: rowOffset(row[0] as number), guid: toText(row[1]), inode };
    });
  }

  identity({ rowId }: Offset): LogIdentity {
    return this.#connection.read(({ database }) => {
      const row = database.get(database.queries.guid, rowId);
      return {
        inode: this.#connection.fileId,
        guidAtCursor: row === undefined ? null : toText(row[0]),
        highestRowId: Number(database.get(database.queries.highestRowId)?.[0] ?? 0),
      };
    });
  }
}
