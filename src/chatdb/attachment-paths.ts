import { dirname, isAbsolute, join, sep } from 'node:path';

/** Turns stored attachment names into absolute paths (B5). */
export class AttachmentPaths {
  readonly #folder: string;
  readonly #home: string;

  /** `~` means the folder above `Library/Messages` when the database lies in one, else `home`. */
  constructor(databasePath: string, home: string) {
    this.#folder = dirname(databasePath);
    this.#home = this.#folder.endsWith(join(sep, 'Library', 'Messages')) ? dirname(dirname(this.#folder)) : home;
  }

  /** undefined for a name that is not there yet. */
  absolute(stored: string): string | undefined {
    if (stored.trim() === '') return undefined;
    if (stored === '~' || stored.startsWith('~/')) return join(this.#home, stored.slice(1));
    return isAbsolute(stored) ? stored : join(this.#folder, stored);
  }
}
