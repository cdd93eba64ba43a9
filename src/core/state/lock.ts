import { join } from 'node:path';
import { AppError } from '../model/errors.ts';
import { lockFile } from '../runtime/file-lock.ts';

/**
 * Locks a configuration folder for this process, because two services on one state would deliver everything twice.
 * Returns the function that unlocks it. Throws `already_running`, or `state_db_unusable` with the reason.
 */
export function lockFolder(folder: string): () => void {
  return lockFile(
    join(folder, 'lock.db'),
    (cause) =>
      new AppError('already_running', `another Postern is using ${folder}.`, {
        hint: 'Stop that one first, or give this one another folder with --config-dir DIR.',
        cause,
      }),
  );
}
