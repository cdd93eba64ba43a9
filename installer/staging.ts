import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AppError, errorCode } from '../src/core/model/errors.ts';

/** A complete folder beside its destination. */
export interface StagedFolder {
  readonly path: string;
  /** Moves the folder to its destination. Keeps the folder that it replaces until `discard`. */
  place(): void;
  /** True from `place` to `putBack`. */
  isPlaced(): boolean;
  /** Undoes `place`, even if it failed halfway. */
  putBack(): void;
  /** Removes the folder that is not in use. After `place` this is the replaced folder, otherwise the new one. */
  discard(): void;
}

/** Fills a folder beside its destination. Leaves nothing behind if `fill` fails. */
export async function stageFolder(
  destination: string,
  fill: (staging: string) => void | Promise<void>,
): Promise<StagedFolder> {
  const staging = join(dirname(destination), '.postern-new');
  const path = join(staging, basename(destination));
  const old = join(staging, 'old');
  const discard = (): void => rmSync(staging, { recursive: true, force: true });
  try {
    // Removes the staging folder that an interrupted installation may have left behind.
    discard();
    mkdirSync(path, { recursive: true });
    await fill(path);
  } catch (error) {
    discard();
    throw writeFailure(error, destination);
  }
  return {
    path,
    discard,
    place() {
      try {
        moveIfThere(destination, old);
        renameSync(path, destination);
      } catch (error) {
        throw writeFailure(error, destination);
      }
    },
    isPlaced: () => !existsSync(path),
    putBack() {
      if (!existsSync(path)) moveIfThere(destination, path);
      moveIfThere(old, destination);
    },
  };
}

/**
 * Builds a folder beside `destination` and moves it there once it is complete. Removes an older folder at
 * `destination`.
 */
export async function buildFolder(destination: string, fill: (staging: string) => void | Promise<void>): Promise<void> {
  const staged = await stageFolder(destination, fill);
  try {
    staged.place();
  } catch (error) {
    staged.putBack();
    throw error;
  } finally {
    staged.discard();
  }
}

/** Writes a file atomically: readers see either the old or the new content. */
export function writeWhole(path: string, content: string | Uint8Array, mode: number): void {
  const fresh = join(dirname(path), `.${basename(path)}.new`);
  try {
    mkdirSync(dirname(path), { recursive: true });
    rmSync(fresh, { force: true });
    writeFileSync(fresh, content, { mode, flush: true });
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw writeFailure(error, path);
  }
}

const APP_MANAGEMENT =
  ' If you own the folder, macOS protects Postern.app from this terminal, because another program made the app. Switch this terminal on in System Settings under Privacy & Security > App Management, or use the terminal that made Postern.app.';

function moveIfThere(path: string, to: string): void {
  try {
    renameSync(path, to);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/**
 * Returns an AppError with advice if the disk is full or `path` is not writable. Returns `error` itself for any other
 * failure. For EPERM, the advice also mentions App Management, which since macOS 13 protects an app from terminals that
 * did not make it. EACCES comes only from file ownership and permissions.
 */
export function writeFailure(error: unknown, path: string): unknown {
  const code = errorCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new AppError('disk_full', `The disk is full: ${path} could not be written.`, {
      hint: 'Make room (about 500 MB) and run the installation again.',
      cause: error,
    });
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new AppError('not_writable', `${path} cannot be written.`, {
      hint: `Check who owns ${dirname(path)}. After an earlier run with sudo, the owner may be root.${code === 'EPERM' ? APP_MANAGEMENT : ''}`,
      cause: error,
    });
  }
  return error;
}
