import { AppError, isAppError } from '../src/domain/errors.ts';
import { lockFile } from '../src/runtime/file-lock.ts';
import type { Layout } from './layout.ts';

/**
 * Runs `work` while no other installer and no uninstaller works on this installation: two at once would remove each
 * other's copies. Throws `already_installing` otherwise. Nobody else may write to what `work` makes, whatever the
 * umask is.
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

/** Holds nothing where SQLite or the folder cannot be used: the installation itself says what is wrong with them. */
function locked(path: string): () => void {
  try {
    return lockFile(path, alreadyInstalling);
  } catch (error) {
    if (isAppError(error) && error.code === 'already_installing') throw error;
    return () => undefined;
  }
}

function alreadyInstalling(cause: unknown): AppError {
  return new AppError('already_installing', 'Postern is being installed or uninstalled by another command.', {
    hint: 'Nothing was changed. Wait for that one to end.',
    cause,
  });
}
