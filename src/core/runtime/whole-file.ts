import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../model/errors.ts';

/** Writes a new file that only its owner can read, and syncs it to disk. */
export function writeDraft(draft: string, text: string): void {
  const file = openSync(draft, 'wx', 0o600);
  try {
    // openSync applies the umask to the mode; fchmodSync does not.
    fchmodSync(file, 0o600);
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Replaces a file atomically with one that only its owner can read. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeDraft(draft, text);
    renameSync(draft, file);
  } finally {
    removeIfThere(draft);
  }
  sync(dirname(file));
}

/**
 * Makes a finished draft available at `path`, and throws if `path` exists. Creates a hard link, because a rename would
 * replace an existing file. Renames only on file systems without hard links (exFAT, SMB).
 */
export function publish(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST' || lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw error;
    renameSync(draft, path);
  }
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Already renamed, or never created.
  }
}

/** Syncs a file or a folder. A file that was just created or renamed survives a crash only if its folder is synced. */
export function sync(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } catch {
    // Some file systems refuse to sync folders.
  } finally {
    closeSync(handle);
  }
}
