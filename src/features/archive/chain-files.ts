import { closeSync, fstatSync, fsyncSync, openSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { damaged } from './archive-errors.ts';
import type { ArchiveIndex, ChainRecord } from './archive-index.ts';
import { type Head, nextLine } from './chain.ts';
import { makeFolderOf, openToAppend, syncFile, writeAll } from './private-files.ts';

const SYNCED_AT_ONCE = 32;
const MAX_CHAINS = 2000;
const WAITING_BYTES = 8_388_608;

interface Chain {
  readonly record: ChainRecord;
  readonly path: string;
  /** The end of that part of the chain which is in the file. */
  written: Head;
  /** The end of the chain, including lines that are still in memory. */
  head: Head;
  /** Offsets in `ChainFiles.#bytes`: for each waiting line, its beginning and then its end. */
  waiting: number[];
}

/** The position of a line: the id of its file in the index, its number, and the byte offset at which it begins. */
export interface LinePosition {
  readonly file: number;
  readonly n: number;
  readonly start: number;
}

/**
 * Appends lines to the chains of an archive. Rows arrive in order of their ids, so consecutive lines mostly belong to
 * different files. Lines stay in memory until `flush`, so that each file is written only rarely. `sync` forces them to
 * disk.
 */
export class ChainFiles {
  readonly #folder: string;
  readonly #index: ArchiveIndex;
  readonly #chains = new Map<string, Chain>();
  /** Paths that `sync` forces to disk: the files that were written, and the folders of new files. */
  readonly #touched = new Set<string>();
  #waiting = new Set<Chain>();
  /** The waiting lines of all chains, as bytes: strings would slow down garbage collection. */
  readonly #bytes: Buffer;
  #used = 0;

  constructor(folder: string, index: ArchiveIndex, waitingBytes = WAITING_BYTES) {
    this.#folder = folder;
    this.#index = index;
    this.#bytes = Buffer.allocUnsafe(waitingBytes);
  }

  append(path: string, key: string, members: string): LinePosition {
    const chain = this.#chain(path, key);
    const { text, head } = nextLine(chain.head, members);
    const start = chain.head.bytes;
    const size = head.bytes - start;
    if (this.#used > 0 && this.#used + size > this.#bytes.length) {
      this.flush();
      return this.append(path, key, members);
    }
    chain.head = head;
    if (size > this.#bytes.length) this.#write(chain, Buffer.from(text));
    else {
      chain.waiting.push(this.#used, this.#used + this.#bytes.write(text, this.#used));
      this.#used += size;
      this.#waiting.add(chain);
    }
    return { file: chain.record.id, n: head.lines, start };
  }

  /** Returns the number of lines of a file. */
  lines(path: string, key: string): number {
    return this.#chain(path, key).head.lines;
  }

  /**
   * Writes the waiting lines. Call this before each commit of the index, because the index must never be ahead of the
   * files.
   */
  flush(): void {
    for (const chain of this.#waiting) {
      const lines: Buffer[] = [];
      for (let at = 0; at < chain.waiting.length; at += 2) {
        lines.push(this.#bytes.subarray(chain.waiting[at], chain.waiting[at + 1]));
      }
      this.#write(chain, lines.length === 1 ? (lines[0] ?? Buffer.alloc(0)) : Buffer.concat(lines));
      chain.waiting = [];
    }
    this.#waiting = new Set();
    this.#used = 0;
    // Limits memory: ten years of a thousand conversations are ten thousand chains. The index still has the chains
    // dropped here, so `#chain` finds them again.
    if (this.#chains.size > MAX_CHAINS) this.#chains.clear();
  }

  /**
   * Writes the waiting lines. Resolves once all written files are durably on disk, so that the manifest may record
   * their ends.
   */
  async sync(): Promise<void> {
    this.flush();
    const left = [...this.#touched];
    const syncNext = async (): Promise<void> => {
      for (let path = left.pop(); path !== undefined; path = left.pop()) await syncFile(join(this.#folder, path));
    };
    // Syncs many files at once, because the file system combines them into one commit.
    await Promise.all(Array.from({ length: SYNCED_AT_ONCE }, syncNext));
  }

  #chain(path: string, key: string): Chain {
    const known = this.#chains.get(path);
    if (known !== undefined) return known;
    const record = this.#index.file(path, key);
    const chain = { record, path, written: record.head, head: record.head, waiting: [] };
    this.#chains.set(path, chain);
    return chain;
  }

  #write(chain: Chain, lines: Buffer): void {
    const path = join(this.#folder, chain.path);
    const isOwn = this.#touched.has(chain.path);
    if (!isOwn) {
      if (!this.#touched.has(dirname(chain.path))) makeFolderOf(this.#folder, chain.path);
      assertEndsWith(path, chain.written);
    }
    const file = openToAppend(path, isOwn);
    this.#touched.add(chain.path);
    if (chain.written.lines === 0) this.#touched.add(dirname(chain.path));
    try {
      // A full disk may accept a part of the lines. The next run cuts off the last one unless it is whole.
      writeAll(file, lines);
    } finally {
      closeSync(file);
    }
    chain.written = chain.head;
    this.#index.setHead(chain.record.id, chain.head);
  }
}

/** Appends a single line to a chain, durably. */
export function appendLine(path: string, head: Head, members: string): Head {
  const file = openToAppend(path);
  try {
    const line = nextLine(head, members);
    writeAll(file, Buffer.from(line.text));
    fsyncSync(file);
    return line.head;
  } finally {
    closeSync(file);
  }
}

/** Throws `archive_damaged` unless the file's length and the hash of its last line match `head`. */
function assertEndsWith(path: string, head: Head): void {
  if (head.lines === 0) return;
  const file = openSync(path, 'r');
  try {
    const ending = Buffer.from(`"hash":"${head.hash}"}\n`);
    const found = Buffer.alloc(ending.length);
    const isSame = fstatSync(file).size === head.bytes;
    if (isSame) readSync(file, found, 0, ending.length, head.bytes - ending.length);
    if (!isSame || !found.equals(ending)) throw damaged(`The end of ${path} was changed after the last run.`);
  } finally {
    closeSync(file);
  }
}
