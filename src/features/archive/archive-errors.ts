import { AppError, errorCode, isAppError } from '../../core/model/errors.ts';

const FROM_A_COPY = 'Nothing was written. Put the file back from a copy of the archive, or export into another folder.';

/** Returns an `archive_damaged` error. `detail` is a sentence that names the damage. */
export function damaged(detail: string, cause?: unknown): AppError {
  return new AppError('archive_damaged', detail, {
    hint: `${FROM_A_COPY} To see everything that is wrong: postern export verify`,
    cause,
  });
}

/** Returns the error for a folder without an archive. */
export function noArchiveAt(folder: string): AppError {
  return new AppError('archive_absent', `There is no archive at ${folder}.`);
}

const FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL)$/;
const REFUSED = /^(EACCES|EPERM|EROFS|SQLITE_READONLY.*|SQLITE_CANTOPEN.*)$/;

/** Returns the AppError that explains the cause of a lock error. Returns `error` if the cause has no explanation. */
function explainedLock(error: AppError, folder: string): AppError {
  const cause = explained(error.cause, folder);
  return isAppError(cause) ? cause : error;
}

/** Converts an error of the file system to one that explains it in a sentence. Returns any other error unchanged. */
export function explained(error: unknown, folder: string): unknown {
  if (isAppError(error)) return error.code === 'state_db_unusable' ? explainedLock(error, folder) : error;
  const code = errorCode(error) ?? '';
  if (FULL.test(code)) {
    return new AppError('archive_disk_full', `The disk of ${folder} is full.`, {
      hint: 'Everything archived so far is intact. Make room, then run the same command, which continues from there.',
      cause: error,
    });
  }
  if (/^(EEXIST|ENOTDIR)$/.test(code)) {
    return new AppError('archive_foreign', `${folder} is a file, or has a file where a folder must be (${code}).`, {
      hint: 'Name a new folder, or one that postern export has made.',
      cause: error,
    });
  }
  if (REFUSED.test(code)) {
    const hint = 'Check who owns the folder and its content, and whether its disk is read-only.';
    return new AppError('archive_not_writable', `Postern may not write to ${folder} (${code}).`, {
      hint,
      cause: error,
    });
  }
  if (/^E(?:IO|NXIO|NODEV|STALE)$/.test(code)) {
    const hint = 'Everything archived so far is intact. Connect the disk again, then run the same command.';
    return new AppError('archive_unreachable', `The disk of ${folder} does not answer (${code}).`, {
      hint,
      cause: error,
    });
  }
  return error;
}
