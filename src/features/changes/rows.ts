import { statSync } from 'node:fs';
import { Fingerprints } from '../../core/chatdb/public.ts';
import type { RowFeature } from '../../core/row-feature.ts';
import { openSqlite } from '../../core/runtime/sqlite.ts';

/** The objects in the reader thread that the detection of changes calls. */
export interface ChangeTargets {
  readonly prints: Pick<Fingerprints, 'range' | 'origins'>;
  readonly files: { readonly checkpoint: typeof checkpoint };
}

export const changeRows: RowFeature<ChangeTargets> = (connection) => {
  const prints = new Fingerprints(connection);
  return { prints: () => prints, files: () => ({ checkpoint }) };
};

/**
 * Copies the pages in a database's -wal into the database file, through a separate connection. Does not wait for other
 * connections, so pages that they use may stay.
 */
function checkpoint(path: string): void {
  statSync(path); // throws if the file is missing; SQLite would create it
  const sqlite = openSqlite(path);
  try {
    sqlite.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } finally {
    sqlite.close();
  }
}
