import { join } from 'node:path';
import { AppError, errorCode, isAppError } from '../domain/errors.ts';
import { claimPrivateFile } from '../runtime/private-file.ts';
import { openSqlite, type Sqlite } from '../runtime/sqlite.ts';

/** A service that is just ending is waited for this long. */
const WAIT_MS = 1000;

/**
 * Takes a configuration folder for this process alone, and gives what lets go of it: two services on one state would
 * deliver everything twice. The lock is SQLite's on a file of its own, so it ends with the process, however that
 * ends. Throws AppError `conflict` / `already_running`, or `internal` / `state_db_unusable` with what is wrong.
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, 'lock.db');
  let database: Sqlite | undefined;
  try {
    claimPrivateFile(path);
    database = openSqlite(path, { busyTimeoutMs: WAIT_MS });
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (isAppError(error)) throw error;
    if (errorCode(error) !== 'SQLITE_BUSY') throw unusable(folder, path, error);
    throw new AppError('already_running', `another Postern runs with ${folder}.`, {
      hint: 'Stop that one first, or give this one a folder of its own with --config-dir DIR.',
      cause: error,
    });
  }
  const held = database;
  return () => held.close();
}

function unusable(folder: string, path: string, cause: unknown): AppError {
  return new AppError('state_db_unusable', `${path} cannot be used: ${String(cause)}`, {
    hint: `Postern must be able to write to ${folder}: look at who owns it and what is in it, and at the disk.`,
    cause,
  });
}
