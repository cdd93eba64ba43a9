import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../model/errors.ts';

/** Name of a file that exists while a restore replaces state.db and config.toml in the same folder. */
export const UNFINISHED = 'restore.unfinished';

/** Throws `restore_unfinished` if a restore was interrupted. It may have replaced state.db but not config.toml. */
export function assertRestored(folder: string): void {
  if (!existsSync(join(folder, UNFINISHED))) return;
  throw new AppError('restore_unfinished', `A restore into ${folder} was interrupted.`, {
    hint: 'Run it again: `postern restore FILE --force`',
  });
}
