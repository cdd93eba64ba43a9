import { AppError, errorCode, isAppError } from '../domain/errors.ts';

const FULL_DISK_ACCESS =
  'On a Mac, open System Settings > Privacy & Security > Full Disk Access, switch on Postern, then start it again.';

const REFUSALS = /^(EPERM|EACCES|SQLITE_CANTOPEN.*|SQLITE_AUTH|SQLITE_PERM)$/;

const CAUSES: readonly { readonly codes: RegExp; readonly message: string; readonly hint: string }[] = [
  {
    codes: /^(ENOENT|ENOTDIR)$/,
    message: 'There is no Messages database at the configured path.',
    hint: 'Open Messages and sign in once, or set backend.chat_db_path.',
  },
  {
    codes: REFUSALS,
    message: 'The Messages database may not be opened.',
    hint: FULL_DISK_ACCESS,
  },
  {
    codes: /^SQLITE_(BUSY|LOCKED|PROTOCOL)/,
    message: 'The Messages database is locked by another program.',
    hint: 'Postern goes on by itself as soon as the lock is gone.',
  },
  {
    codes: /^SQLITE_(NOTADB|CORRUPT|IOERR_SHORT_READ)/,
    message: 'The file at the configured path is damaged or no SQLite database.',
    hint: 'Check backend.chat_db_path, and whether Messages itself still shows its conversations.',
  },
];

/** What went wrong with chat.db, as a person can use it; every public read throws this while it lasts (C6). */
export function toUnavailable(cause: unknown): AppError {
  if (isAppError(cause)) return cause;
  const code = errorCode(cause) ?? '';
  const known = CAUSES.find(({ codes }) => codes.test(code));
  return new AppError('unavailable', 'chat_db_unavailable', known?.message ?? 'The Messages database cannot be read.', {
    hint: known?.hint ?? `SQLite or the system said ${code || 'nothing more'}; Postern keeps trying.`,
    cause,
  });
}

/** True when the file is there and this process may not open it. */
export function isRefusal(error: unknown): boolean {
  return REFUSALS.test(errorCode(error) ?? '');
}

/** True for failures of the database or the file, as opposed to mistakes in this program. */
export function isStorageFailure(error: unknown): boolean {
  return /^(SQLITE_|E[A-Z]+$)/.test(errorCode(error) ?? '');
}
