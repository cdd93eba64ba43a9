import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AppError, errorCode } from '../src/domain/errors.ts';

/**
 * Builds a folder beside its place and moves it there when it is complete; what was there goes away.
 * When anything fails nothing is left behind and what was there stays.
 */
export async function buildFolder(destination: string, fill: (staging: string) => void | Promise<void>): Promise<void> {
  const staging = join(dirname(destination), '.postern-new');
  const fresh = join(staging, basename(destination));
  const old = join(staging, 'old');
  try {
    // Also takes away what an interrupted installation left.
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(fresh, { recursive: true });
    await fill(fresh);
    moveAway(destination, old);
    renameSync(fresh, destination);
  } catch (error) {
    throw explained(error, destination);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Writes a file so that it is either the old or the new one, never half of it. */
export function writeWhole(path: string, content: string | Uint8Array, mode: number): void {
  const fresh = join(dirname(path), `.${basename(path)}.new`);
  try {
    mkdirSync(dirname(path), { recursive: true });
    rmSync(fresh, { force: true });
    writeFileSync(fresh, content, { mode, flush: true });
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw explained(error, path);
  }
}

function moveAway(path: string, to: string): void {
  try {
    renameSync(path, to);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

function explained(error: unknown, path: string): unknown {
  const code = errorCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new AppError('unavailable', 'disk_full', `The disk is full: ${path} could not be written.`, {
      hint: 'Nothing was changed. Make room (about 500 MB) and run the installation again.',
      cause: error,
    });
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new AppError('unavailable', 'not_writable', `${path} cannot be written.`, {
      hint: `Look at who owns ${dirname(path)}; an earlier run with sudo may have left it to root.`,
      cause: error,
    });
  }
  return error;
}
