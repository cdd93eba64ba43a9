import { type AppError, errorCode, isAppError } from '../domain/errors.ts';
import { problem } from '../domain/problems.ts';

const REFUSALS = /^(EPERM|EACCES|SQLITE_CANTOPEN.*|SQLITE_AUTH|SQLITE_PERM)$/;

const CAUSES = [
  [/^(ENOENT|ENOTDIR)$/, 'chat_db_missing'],
  [REFUSALS, 'chat_db_not_permitted'],
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'chat_db_locked'],
  [/^SQLITE_(NOTADB|CORRUPT|IOERR_SHORT_READ)/, 'chat_db_damaged'],
] as const;

/** What went wrong with chat.db, as a person can use it; every public read throws this while it lasts (C6). */
export function toUnavailable(cause: unknown): AppError {
  if (isAppError(cause)) return cause;
  const code = errorCode(cause) ?? '';
  const [, name] = CAUSES.find(([codes]) => codes.test(code)) ?? [];
  return name === undefined
    ? problem('chat_db_unreadable', { code: code || 'unknown error' }, { cause })
    : problem(name, {}, { cause });
}

/** True when the file is there and this process may not open it. */
export function isRefusal(error: unknown): boolean {
  return REFUSALS.test(errorCode(error) ?? '');
}

/** True for failures of the database or the file, as opposed to mistakes in this program. */
export function isStorageFailure(error: unknown): boolean {
  return /^(SQLITE_|E[A-Z]+$)/.test(errorCode(error) ?? '');
}
