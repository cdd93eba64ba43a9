import { statSync } from 'node:fs';
import { openSqlite } from './sqlite.ts';

/** Copies what is in the -wal of a database into the database itself, on a connection of its own. */
export function checkpoint(path: string): void {
  statSync(path); // SQLite would make a file that is missing
  const sqlite = openSqlite(path);
  try {
    sqlite.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } finally {
    sqlite.close();
  }
}
