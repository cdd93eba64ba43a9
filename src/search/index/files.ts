import { existsSync, unlinkSync } from 'node:fs';

/** Removes the index, and what SQLite keeps beside it. */
export function deleteIndex(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) {
    // Nothing to remove is the rule, and rmSync would load much to find that.
    if (existsSync(path + end)) unlinkSync(path + end);
  }
}
