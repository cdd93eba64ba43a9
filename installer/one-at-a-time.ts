import { AppError, isAppError } from '../src/core/model/errors.ts';
import { lockFile } from '../src/core/runtime/file-lock.ts';
import type { Layout } from './install-layout.ts';

/**
 * Runs `work`. Throws `already_installing` if another installer or uninstaller is running for this installation,
 * because the two would remove each other's unfinished files. Files that `work` creates are writable only by their
 * owner, whatever the umask.
 */
export async function oneAtATime(layout: Layout, work: () => Promise<void>): Promise<void> {
  const release = locked(layout.lock);
  const umask = process.umask();
  process.umask(umask | 0o022);
  try {
    await work();
  } finally {
    process.umask(umask);
    release();
  }
}

/**
 * Locks the file and returns a function that unlocks it. Continues without a lock if SQLite or the folder is unusable,
 * because a later step of the installation then reports the problem.
 */
function locked(path: string): () => void {
  try {
    return lockFile(path, alreadyInstalling);
  } catch (error) {
    if (isAppError(error) && error.code === 'already_installing') throw error;
    return () => undefined;
  }
}

function alreadyInstalling(cause: unknown): AppError {
  return new AppError('already_installing', 'Another command is installing or uninstalling Postern.', {
    hint: 'Nothing was changed. Wait until that command has ended.',
    cause,
  });
}
