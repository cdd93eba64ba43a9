import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../core/model/errors.ts';
import { AddressBookFile } from './address-book-file.ts';

const FILE = 'AddressBook-v22.abcddb';
/** Maximum number of accounts that are read. */
const MAX_SOURCES = 50;
const PERMISSION: readonly string[] = ['EPERM', 'EACCES', 'SQLITE_PERM', 'SQLITE_AUTH', 'SQLITE_CANTOPEN'];
const DAMAGE = /^SQLITE_(?:NOTADB|CORRUPT)|^not a file$/;

export function isPermission(failure: string | undefined): boolean {
  return failure !== undefined && PERMISSION.includes(failure);
}

/** Returns a code such as `SQLITE_NOTADB`, or else the error's message. */
export function failureOf(error: unknown): string {
  return errorCode(error) ?? (error as Error).message;
}

/** One file of the Address Book. After `check`, the file is open, or `failure` says why it cannot be read. */
export class ContactSource {
  /** Path of the file relative to the folder `AddressBook`. */
  readonly name: string;
  readonly #path: string;
  #file: AddressBookFile | undefined;
  #failure: string | undefined;
  #identity = '';
  #stamp = '';
  #version = 0;

  constructor(folder: string, name: string) {
    this.name = name;
    this.#path = join(folder, name);
  }

  get file(): AddressBookFile | undefined {
    return this.#file;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * Checks the file for changes, and opens it if necessary. Returns true if the contacts must be loaded again, because
   * the file has changed or can no longer be read.
   */
  check(): boolean {
    const before = this.#failure;
    try {
      const { dev, ino, size, mtimeMs } = statFile(this.#path);
      const identity = `${dev} ${ino}`;
      const stamp = `${identity} ${size} ${mtimeMs}`;
      if (this.#file !== undefined && identity === this.#identity) return this.#hasCommits();
      // A damaged file is not opened again until it has changed.
      if (before !== undefined && DAMAGE.test(before) && stamp === this.#stamp) return false;
      this.close();
      this.#identity = identity;
      this.#stamp = stamp;
      this.#file = new AddressBookFile(this.#path);
      this.#version = this.#file.version();
      this.#failure = undefined;
      return true;
    } catch (error) {
      this.fail(error);
      return this.#failure !== before;
    }
  }

  fail(error: unknown): void {
    this.close();
    this.#failure = failureOf(error);
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #hasCommits(): boolean {
    const version = this.#file?.version() ?? 0;
    if (version === this.#version) return false;
    this.#version = version;
    return true;
  }
}

/** The Address Book files of all accounts, below one folder. */
export class AddressBookSources {
  readonly #folder: string;
  #sources: readonly ContactSource[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  get all(): readonly ContactSource[] {
    return this.#sources;
  }

  /**
   * Checks the folder and each file. Returns true if the contacts must be loaded again. Throws the file system's error
   * if the folder cannot be listed.
   */
  check(): boolean {
    const names = this.#names();
    const known = new Map(this.#sources.map((source) => [source.name, source]));
    const isListChanged = names.length !== known.size || names.some((name) => !known.has(name));
    this.#sources = names.map((name) => known.get(name) ?? new ContactSource(this.#folder, name));
    for (const [name, source] of known) if (!names.includes(name)) source.close();
    return this.#sources.map((source) => source.check()).includes(true) || isListChanged;
  }

  close(): void {
    for (const source of this.#sources) source.close();
    this.#sources = [];
  }

  /**
   * Returns the relative paths of the existing files: one in each account's folder, and one directly in the folder
   * `AddressBook`. The latter often contains no contacts.
   */
  #names(): readonly string[] {
    const accounts = listed(join(this.#folder, 'Sources')).slice(0, MAX_SOURCES);
    const paths = [FILE, ...accounts.sort().map((account) => join('Sources', account, FILE))];
    return paths.filter((path) => isThere(join(this.#folder, path)));
  }
}

/** Returns the names in a folder; empty if the folder does not exist. */
function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return [];
    throw error;
  }
}

/** Reports whether a path exists. Also returns true if the path cannot be examined, so that opening it reports why. */
function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '');
  }
}

/**
 * Returns the file's status. Throws unless the path leads to a regular file, because opening a named pipe would wait
 * forever.
 */
function statFile(path: string) {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error('not a file');
  return stat;
}
