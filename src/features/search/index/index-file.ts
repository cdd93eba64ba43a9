import { existsSync, statSync, unlinkSync } from 'node:fs';

/** Keeps an index open. Opens it again if its file was deleted and created again. */
export class IndexFile<Index extends { close(): void }> {
  readonly #openIndex: (path: string) => Index;
  #open: { readonly path: string; readonly file: string; readonly index: Index } | undefined;

  constructor(openIndex: (path: string) => Index) {
    this.#openIndex = openIndex;
  }

  /**
   * Returns the open index. Throws an error with code `ENOENT` if the file does not exist, and SQLite's error if it
   * cannot be opened.
   */
  open(path: string): Index {
    const { ino, birthtimeNs } = statSync(path, { bigint: true });
    const file = `${ino}:${birthtimeNs}`;
    if (this.#open?.path !== path || this.#open.file !== file) {
      this.close();
      this.#open = { path, file, index: this.#openIndex(path) };
    }
    return this.#open.index;
  }

  close(): void {
    this.#open?.index.close();
    this.#open = undefined;
  }
}

/** Removes the index and the files that SQLite keeps beside it. */
export function deleteIndex(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) {
    // Usually none of these files exists, and loading rmSync only to find that out is slow.
    if (existsSync(path + end)) unlinkSync(path + end);
  }
}
