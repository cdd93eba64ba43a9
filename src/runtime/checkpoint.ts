import { statSync } from 'node:fs';
import { openSqlite } from './sqlite.ts';

/** Copies a database's -wal into the database file, on a separate connection. */
export function checkpoint(path: string): void {
  statSync(path); // throws if the file is missing, because SQLite would create it
  const sqlite = openSqlite(path);
  try {
    sqlite.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } finally {
    sqlite.close();
  }
}
