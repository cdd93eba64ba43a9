import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../domain/errors.ts';
import { AddressBookFile } from './address-book-file.ts';

const FILE = 'AddressBook-v22.abcddb';
/** Accounts of a person; more are not read. */
const MAX_SOURCES = 50;
const PERMISSION: readonly string[] = ['EPERM', 'EACCES', 'SQLITE_PERM', 'SQLITE_AUTH', 'SQLITE_CANTOPEN'];
const DAMAGE = /^SQLITE_(?:NOTADB|CORRUPT)|^not a file$/;

export function isPermission(failure: string | undefined): boolean {
  return failure !== undefined && PERMISSION.includes(failure);
}

/** A code, such as `SQLITE_NOTADB`, or else the words of the error. */
export function failureOf(error: unknown): string {
  return errorCode(error) ?? (error as Error).message;
}

/** One file, and why it cannot be read if so. */
export class ContactSource {
  /** Its path below the folder. */
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

  /** Looks whether it changed, opening it if need be. True when it must be loaded again. */
  check(): boolean {
    const before = this.#failure;
    try {
      const { dev, ino, size, mtimeMs } = statFile(this.#path);
      const identity = `${dev} ${ino}`;
      const stamp = `${identity} ${size} ${mtimeMs}`;
      if (this.#file !== undefined && identity === this.#identity) return this.#hasCommits();
      // Damage that nobody has touched is still there.
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

/** The files of all accounts below one folder. */
export class Sources {
  readonly #folder: string;
  #sources: readonly ContactSource[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  get all(): readonly ContactSource[] {
    return this.#sources;
  }

  /** Looks at the folder and at each file. True when something must be loaded again. Throws what listing it throws. */
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

  /** Those of the accounts, and the one beside them, which is often empty. */
  #names(): readonly string[] {
    const accounts = listed(join(this.#folder, 'Sources')).slice(0, MAX_SOURCES);
    const paths = [FILE, ...accounts.sort().map((account) => join('Sources', account, FILE))];
    return paths.filter((path) => isThere(join(this.#folder, path)));
  }
}

/** Empty for a folder that is not there. */
function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return [];
    throw error;
  }
}

/** What cannot be looked at may be there. */
function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '');
  }
}

/** Throws for what is no file: opening a named pipe would wait without end. */
function statFile(path: string) {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error('not a file');
  return stat;
}
