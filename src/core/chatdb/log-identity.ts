import type { LogIdentity } from '../model/cursor.ts';
import type { Offset } from '../model/offset.ts';
import { toText } from './columns.ts';
import type { Snapshot } from './snapshot.ts';

/** Reads the facts by which `isReplaced` recognizes another chat.db. Call it inside `read`. */
export function identityAt({ database, queries }: Snapshot, inode: string, { rowId }: Offset): LogIdentity {
  const row = database.get(queries.guid, rowId);
  return {
    inode,
    guidAtCursor: row === undefined ? null : toText(row[0]),
    highestRowId: Number(database.get(queries.highestRowId)?.[0] ?? 0),
  };
}
