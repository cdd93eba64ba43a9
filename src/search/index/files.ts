import { existsSync, unlinkSync } from 'node:fs';

/** Removes the index and SQLite's side files. */
export function deleteIndex(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) {
    // Usually nothing exists, and loading rmSync to find that out is slow.
    if (existsSync(path + end)) unlinkSync(path + end);
  }
}
