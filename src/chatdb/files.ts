import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { problem } from '../domain/problems.ts';

/** The files of a database as they lie on disk, looked at without opening any (B1). */
export interface Files {
  /** Where the database itself lies: SQLite follows links, and keeps the -wal and the -shm there. */
  readonly path: string;
  /** Which file this is: inode and time of birth, since an inode may be given again. null when there is none. */
  readonly database: string | null;
  /** The same without its device: that has another number whenever it is mounted anew (POSIX, st_dev). */
  readonly lasting: string;
  readonly wal: string | null;
  readonly shm: string | null;
  /** Changes when somebody writes to the database file itself. */
  readonly touched: string;
}

/** Throws with code `ENOENT`, `EACCES`, … when the database cannot be found or may not be read; AppError when it is empty or a pipe. */
export function lookAtFiles(configuredPath: string): Files {
  const path = realpathSync.native(configuredPath);
  const database = statSync(path, { bigint: true });
  accessSync(path, constants.R_OK);
  // SQLite would wait at a pipe until somebody writes to it, and the whole process with it.
  if (database.isFIFO()) throw problem('chat_db_is_pipe');
  // SQLite takes a -wal beside an empty database for a leftover and deletes it, even when it only reads.
  if (database.isFile() && database.size === 0n) throw problem('chat_db_empty');
  return {
    path,
    database: `${database.dev}:${database.ino}:${database.birthtimeNs}`,
    lasting: `${database.ino}:${database.birthtimeNs}`,
    wal: identify(`${path}-wal`),
    shm: identify(`${path}-shm`),
    touched: `${database.size}:${database.mtimeNs}`,
  };
}

export function areSameFiles(a: Files, b: Files): boolean {
  return a.database === b.database && a.wal === b.wal && a.shm === b.shm;
}

function identify(path: string): string | null {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  return file === undefined ? null : `${file.dev}:${file.ino}:${file.birthtimeNs}`;
}
