import { closeSync, openSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';

const BYTES = 4096;

/**
 * Overwrites one page of a database file, as a disk that fails does. `at` chooses among the pages of this kind that
 * hold the table or index. Nothing may have the file open, and it may have no -wal.
 */
export function damagePage(
  path: string,
  name: string,
  { kind = 'leaf', at = 1 / 3 }: { readonly kind?: 'leaf' | 'overflow'; readonly at?: number } = {},
): void {
  const database = new Database(path);
  database.pragma('wal_checkpoint(TRUNCATE)');
  const pages = database
    .prepare('SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY pageno')
    .pluck()
    .all(name, kind) as number[];
  database.close();
  const page = pages[Math.min(pages.length - 1, Math.floor(pages.length * at))];
  if (page === undefined) throw new Error(`${name} has no ${kind} page`);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(BYTES, 0xa5), 0, BYTES, (page - 1) * BYTES);
  closeSync(file);
}
