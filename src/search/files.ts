import { rmSync } from 'node:fs';

/** Removes the index, and what SQLite keeps beside it. */
export function deleteIndex(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(path + end, { force: true });
}
