import { dirname } from 'node:path';
import { AppError, errorCode, isAppError } from '../model/errors.ts';
import { claimPrivateFile } from './private-file.ts';
import { openSqlite, type Sqlite } from './sqlite.ts';

/** How long to wait for the lock, because the process that holds it may just be ending. */
const WAIT_MS = 1000;

/**
 * Locks a file for this process and returns the function that unlocks it. SQLite holds the lock, so it is released
 * however the process ends. If another process holds the lock, throws the error that `taken` creates. Throws
 * `state_db_unusable` if the file cannot be opened or written.
 */
export function lockFile(path: string, taken: (cause: unknown) => AppError): () => void {
  let database: Sqlite | undefined;
  try {
    claimPrivateFile(path);
    database = openSqlite(path, { busyTimeoutMs: WAIT_MS });
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (isAppError(error)) throw error;
    throw errorCode(error) === 'SQLITE_BUSY' ? taken(error) : unusable(path, error);
  }
  const locked = database;
  return () => locked.close();
}

function unusable(path: string, cause: unknown): AppError {
  return new AppError('state_db_unusable', `${path} cannot be used: ${String(cause)}`, {
    hint: `Postern must be able to write to ${dirname(path)}: check its owner, its content and the disk.`,
    cause,
  });
}
