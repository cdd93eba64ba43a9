import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../../core/model/errors.ts';
import { PART } from './archive-layout.ts';

// Reads and writes files that only their owner can read: 0600, in folders of 0700. Follows no symbolic link.

const { O_CREAT, O_TRUNC, O_WRONLY, O_APPEND, O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const CHUNK_BYTES = 1 << 18;

/**
 * Creates a folder and its missing parents. Throws `EEXIST` or `ENOTDIR` if a file is in the way. Does not use the
 * option `recursive` of `mkdir`: if a file system such as /proc refuses new folders with `ENOENT`, that call never
 * ends.
 */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: FOLDER_MODE });
  } catch (error) {
    if (existsSync(join(folder, '.'))) return;
    if (errorCode(error) !== 'ENOENT') throw error;
    if (existsSync(dirname(folder))) throw Object.assign(new Error(`${folder} is refused`), { code: 'EPERM' });
    makeFolder(dirname(folder));
    makeFolder(folder);
  }
}

/**
 * Creates the missing folders below `root` for the file `path`, which is relative to `root`. Throws `ENOTDIR` if one of
 * them is a symbolic link or a file.
 */
export function makeFolderOf(root: string, path: string): void {
  let folder = root;
  for (const name of dirname(path).split('/')) {
    if (name === '.') continue;
    folder = join(folder, name);
    try {
      mkdirSync(folder, { mode: FOLDER_MODE });
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
      if (!lstatSync(folder).isDirectory()) {
        throw Object.assign(new Error(`${folder} is not a folder`), { code: 'ENOTDIR' });
      }
    }
  }
}

/**
 * Opens a file to append to it, and creates it if it is missing. Sets its mode, unless `isOwn` says that this process
 * has opened the file before.
 */
export function openToAppend(path: string, isOwn = false): number {
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
  if (!isOwn) fchmodSync(file, FILE_MODE);
  return file;
}

/**
 * A new version of the file `path`, written beside that file. `keep` replaces the file with the new version, and
 * `discard` removes the new version.
 */
export class Draft {
  readonly #path: string;
  readonly #file: number;
  #isOpen = true;

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path + PART, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
    fchmodSync(this.#file, FILE_MODE);
  }

  write(content: string | Uint8Array): void {
    writeAll(this.#file, typeof content === 'string' ? Buffer.from(content) : content);
  }

  /**
   * Syncs the draft and renames it to `target`. Pass `target` if the final path was not known when the draft was
   * created.
   */
  keep(target = this.#path): void {
    fsyncSync(this.#file);
    this.#close();
    renameSync(this.#path + PART, target);
  }

  discard(): void {
    if (!this.#isOpen) return;
    this.#close();
    rmSync(this.#path + PART, { force: true });
  }

  #close(): void {
    this.#isOpen = false;
    closeSync(this.#file);
  }
}

/** Creates or replaces a file: completely, or not at all. */
export function writeWhole(path: string, content: string): void {
  const draft = new Draft(path);
  try {
    draft.write(content);
    draft.keep();
  } finally {
    draft.discard();
  }
}

export function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** Reads a file as UTF-8. Returns undefined if it is missing. */
export function readWhole(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** Opens a file to read it. A pipe in its place is opened too, and has no content. */
export function openToRead(path: string): Promise<FileHandle> {
  return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/** Returns the SHA-256 of a file in the folder `root`. Throws the errors of the file system. */
export function sha256Of(root: string, path: string): string {
  const file = openSync(join(root, path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const sum = createHash('sha256');
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) sum.update(chunk.subarray(0, read));
    return sum.digest('hex');
  } finally {
    closeSync(file);
  }
}

/** Resolves once a file, or the names in a folder, are durably on disk, as far as the system can tell. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW);
  try {
    await file.sync();
  } catch (error) {
    // Some network file systems cannot sync folders.
    if (!/^(EINVAL|ENOTSUP|EPERM|EBADF|EISDIR)$/.test(errorCode(error) ?? '')) throw error;
  } finally {
    await file.close();
  }
}
