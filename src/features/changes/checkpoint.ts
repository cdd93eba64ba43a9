import { statSync } from 'node:fs';
import { openSqlite } from '../../core/runtime/sqlite.ts';

/**
 * Copies the pages in a database's -wal into the database file, through a separate connection. Does not wait for other
 * connections, so pages that they use may stay.
 */
export function checkpoint(path: string): void {
  statSync(path); // throws if the file is missing; SQLite would create it
  const sqlite = openSqlite(path);
  try {
    sqlite.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } finally {
    sqlite.close();
  }
}
