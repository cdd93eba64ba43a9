import { type AppError, errorCode, isAppError } from '../model/errors.ts';
import { problem } from '../model/problems.ts';

const REFUSALS = /^(EPERM|EACCES|SQLITE_CANTOPEN.*|SQLITE_AUTH|SQLITE_PERM)$/;

const CAUSES = [
  [/^(ENOENT|ENOTDIR)$/, 'chat_db_missing'],
  [REFUSALS, 'chat_db_not_permitted'],
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'chat_db_locked'],
  [/^SQLITE_(NOTADB|CORRUPT|IOERR_SHORT_READ)/, 'chat_db_damaged'],
] as const;

/**
 * Returns the error that tells the user why chat.db is unreadable. Every public read throws it until chat.db is
 * readable again (decision C6).
 */
export function toUnavailable(cause: unknown): AppError {
  if (isAppError(cause)) return cause;
  const code = errorCode(cause) ?? '';
  const [, name] = CAUSES.find(([codes]) => codes.test(code)) ?? [];
  return name === undefined
    ? problem('chat_db_unreadable', { reason: code || 'unknown error' }, { cause })
    : problem(name, {}, { cause });
}

/** Reports whether the error means that this process may not open the file, although the file exists. */
export function isRefusal(error: unknown): boolean {
  return REFUSALS.test(errorCode(error) ?? '');
}

/** Reports whether the failure came from the database or the file, rather than from a bug in this program. */
export function isStorageFailure(error: unknown): boolean {
  return /^(SQLITE_|E[A-Z]+$)/.test(errorCode(error) ?? '');
}
