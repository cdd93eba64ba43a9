import { accessSync, constants, opendirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCode } from '../model/errors.ts';
import { problem } from '../model/problems.ts';
import { openSqlite } from '../runtime/sqlite.ts';

/** The files of a database on disk, found without opening them (decision B1). */
export interface DatabaseFiles {
  /** Real path of the database. SQLite follows links, and keeps the -wal and the -shm beside the real file. */
  readonly path: string;
  /**
   * Identifies the database file by device, inode and time of birth. The time is included because inodes are reused.
   */
  readonly database: string | null;
  /** `database` without the device, whose number changes with every mount (POSIX, st_dev). */
  readonly lasting: string;
  readonly wal: string | null;
  readonly shm: string | null;
  /** Changes when any program writes to the database file itself. */
  readonly touched: string;
}

/**
 * Returns the identities of the files. Throws an error with code `ENOENT`, `EACCES`, … if the database is missing or
 * may not be read, and an AppError if it is empty or a pipe.
 */
export function findFiles(configuredPath: string): DatabaseFiles {
  const path = realPath(configuredPath);
  const database = statSync(path, { bigint: true });
  accessSync(path, constants.R_OK);
  // Opening a pipe would make SQLite, and so the whole process, wait for a writer.
  if (database.isFIFO()) throw problem('chat_db_is_pipe');
  if (database.isDirectory()) throw problem('chat_db_is_folder');
  // Even when it only reads, SQLite deletes a -wal beside an empty database, because it mistakes the -wal for a
  // leftover.
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

/**
 * Returns the path with symbolic links resolved. macOS 27 reports a protected file as missing. So if the file seems to
 * be missing, also opens its folder: if macOS refuses that, throws the refusal instead (decision T5).
 */
function realPath(configuredPath: string): string {
  try {
    return realpathSync.native(configuredPath);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') opendirSync(dirname(configuredPath)).closeSync();
    throw error;
  }
}

export function areSameFiles(a: DatabaseFiles, b: DatabaseFiles): boolean {
  return a.database === b.database && a.wal === b.wal && a.shm === b.shm;
}

function identify(path: string): string | null {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  return file === undefined ? null : `${file.dev}:${file.ino}:${file.birthtimeNs}`;
}

/** Reports whether a path leads into the folder in which Messages keeps its own chat.db. */
export function isOfMessages(path: string, home: string): boolean {
  const folder = join(home, 'Library', 'Messages');
  return dirname(path) === folder || dirname(path) === resolved(folder);
}

function resolved(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/**
 * Reports whether nothing can write a database while it is open: its folder is read-only and it has no -wal. SQLite can
 * open such a file only as `immutable`, because it cannot create the -shm.
 */
export function isReadOnlyCopy({ path, wal }: DatabaseFiles, home: string): boolean {
  return wal === null && !isOfMessages(path, home) && isReadOnly(dirname(path));
}

/** Reports whether the folder of a database cannot be written, so that SQLite cannot create the -shm it needs. */
export function isInReadOnlyFolder({ path }: DatabaseFiles): boolean {
  return isReadOnly(dirname(path));
}

/** Reports whether file modes or a read-only disk prevent writing. A refusal by macOS (EPERM) is something else. */
function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return /^(?:EACCES|EROFS)$/.test(errorCode(error) ?? '');
  }
}

/**
 * Removes the -wal and -shm that reading a copy of chat.db has left beside it. `before` are the files before the
 * copy was opened. Never touches the chat.db of Messages, or a -wal that was there before or has content.
 */
export function removeSideFiles(before: DatabaseFiles, home: string): void {
  const { path } = before;
  if (before.wal !== null || before.shm !== null || isOfMessages(path, home)) return;
  if (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size !== 0) return;
  try {
    // SQLite removes both files when the last connection that may write is closed, and knows if this is the last one.
    const sqlite = openSqlite(path, { busyTimeoutMs: 0 });
    try {
      sqlite.prepare('PRAGMA schema_version').get();
    } finally {
      sqlite.close();
    }
    // Nobody can write a file that is read-only, so nobody can have put anything into the -wal.
    if (!isReadOnly(path)) return;
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  } catch {
    // The files are harmless, and the copy may have been unmounted.
  }
}
