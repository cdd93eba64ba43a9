import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync } from 'node:fs';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

/**
 * Ensures that `path` is a regular file of this user with mode 0600. Creates the file if it is missing. Throws an error
 * with the reason if `path` is something else or belongs to another user. Checks the files that SQLite keeps beside
 * `path` likewise, but does not create them.
 */
export function claimPrivateFile(path: string): void {
  claim(path, O_CREAT);
  for (const side of ['-wal', '-shm', '-journal']) {
    if (lstatSync(path + side, { throwIfNoEntry: false }) !== undefined) claim(path + side, 0);
  }
}

function claim(path: string, create: number): void {
  // Checks the kind before opening: opening a pipe would block, and opening a device may have effects.
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new Error(`${path} is ${kindOf(found)}, not a file.`);
  const file = openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | create, 0o600);
  try {
    const { uid, mode } = fstatSync(file);
    if (uid !== process.geteuid?.()) throw new Error(`${path} belongs to another user (uid ${uid}).`);
    if ((mode & 0o777) !== 0o600) fchmodSync(file, 0o600);
  } finally {
    closeSync(file);
  }
}

function kindOf(found: NonNullable<ReturnType<typeof lstatSync>>): string {
  if (found.isDirectory()) return 'a folder';
  if (found.isSymbolicLink()) return 'a symbolic link';
  return found.isFIFO() ? 'a named pipe' : 'a socket or a device';
}
