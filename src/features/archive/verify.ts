import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorCode, isAppError } from '../../core/model/errors.ts';
import { chainsIn } from './archive.ts';
import { noArchiveAt } from './archive-errors.ts';
import { CONVERSATIONS, FILES, LOG, MANIFEST, PART, PEOPLE_FILE, storedHash } from './archive-layout.ts';
import type { ArchivedLine } from './archived-line.ts';
import { isStored } from './archived-line.ts';
import { type Head, isWrong, NO_LINES, readChain } from './chain.ts';
import { type Manifest, readManifest, sealOf } from './manifest.ts';
import { openToRead } from './private-files.ts';

/** A fault in one file of an archive. `line` is present if the fault is in one line. */
export interface Fault {
  readonly file: string;
  readonly line?: number;
  /** The rest of a sentence that begins with the file's name. */
  readonly what: string;
}

export interface VerifyReport {
  /** At most one fault per file. */
  readonly faults: readonly Fault[];
  /** Number of NDJSON files. This and the other numbers are lower if the check was interrupted. */
  readonly files: number;
  readonly lines: number;
  readonly attachments: number;
  /**
   * Number of lines that the manifest does not cover yet. An unfinished run leaves such lines, and the next run
   * continues after them.
   */
  readonly unsealed: number;
  /** The archive's seal, which `sealOf` computes from the manifest; "" if no run has finished. */
  readonly seal: string;
}

export interface VerifyProgress {
  readonly bytes: number;
  readonly totalBytes: number;
}

export interface VerifyOptions {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: VerifyProgress) => void;
  /** Called with each line that is unchanged. */
  readonly onLine?: (line: ArchivedLine) => void;
}

/** Number of bytes to read before other work of this process gets a turn. */
const TURN_BYTES = 1 << 22;
/** Codes of errors of the system and of SQLite, unlike those of Node for an argument of the wrong type. */
const SYSTEM_ERROR = /^(E[A-Z]+|SQLITE_\w+)$/;
const FILES_MEMBER = '"files":[';

/**
 * Checks every line of every file against its hash, every file and page against the manifest, and every attachment.
 * Writes nothing. Throws `archive_absent`.
 */
export async function verifyArchive(options: VerifyOptions): Promise<VerifyReport> {
  return new Verification(options).run();
}

class Verification {
  readonly #options: VerifyOptions;
  readonly #faults: Fault[] = [];
  #files = 0;
  #lines = 0;
  #unsealed = 0;
  #attachments = 0;
  #bytes = 0;
  #totalBytes = 0;
  #turnAt = TURN_BYTES;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  async run(): Promise<VerifyReport> {
    const { folder, signal } = this.#options;
    if ([MANIFEST, LOG, CONVERSATIONS, FILES].every((name) => !existsSync(join(folder, name)))) {
      throw noArchiveAt(folder);
    }
    const manifest = this.#manifest();
    const sealed = manifest?.files ?? new Map<string, Head>();
    const paths = [...new Set([...chainsIn(folder), ...sealed.keys()])].sort();
    const stored = this.#storedFiles();
    const isUnfinished = manifest === undefined || manifest.unfinished !== undefined;
    // An unfinished run may have replaced some of these files.
    const generated = isUnfinished ? [] : [...(manifest.generated ?? [])];
    const others = generated.map(([path]) => path);
    this.#totalBytes = [...paths, ...stored, ...others].reduce((sum, path) => sum + this.#size(path), 0);
    for (const path of paths) if (!signal.aborted) await this.#chain(path, sealed.get(path) ?? NO_LINES, isUnfinished);
    for (const path of stored) if (!signal.aborted) await this.#storedFile(path);
    for (const [path, sum] of generated) if (!signal.aborted) await this.#generatedFile(path, sum);
    return {
      faults: this.#faults,
      files: this.#files,
      lines: this.#lines,
      attachments: this.#attachments,
      unsealed: this.#unsealed,
      seal: manifest === undefined ? '' : sealOf(manifest),
    };
  }

  #manifest(): Manifest | undefined {
    const { folder } = this.#options;
    try {
      const manifest = readManifest(folder);
      if (manifest === undefined) this.#faults.push({ file: MANIFEST, what: 'is missing' });
      return manifest;
    } catch (error) {
      if (!isAppError(error)) throw error;
      this.#faults.push({ file: MANIFEST, what: 'was changed, or a newer version of Postern wrote it' });
      return undefined;
    }
  }

  async #chain(path: string, seal: Head, isUnfinished: boolean): Promise<void> {
    const { folder, signal } = this.#options;
    let head = NO_LINES;
    this.#files += 1;
    try {
      for (const line of readChain(join(folder, path))) {
        if (isWrong(line)) {
          // Not a fault: the next run cuts off the incomplete last line of an unfinished run.
          if (line.n > seal.lines && isUnfinished && line.wrong === 'is not complete') break;
          this.#faults.push({ file: path, line: line.n, what: line.wrong });
          return;
        }
        head = line.head;
        this.#lines += 1;
        if (line.n === seal.lines && head.hash !== seal.hash) {
          this.#faults.push({ file: path, line: line.n, what: `has another hash than the one in ${MANIFEST}` });
          return;
        }
        const fault = path === LOG ? undefined : this.#contentFault(line.bytes);
        if (fault !== undefined) {
          this.#faults.push({ file: path, line: line.n, what: fault });
          return;
        }
        await this.#pass(line.bytes.length + 1);
        if (signal.aborted) return;
      }
    } catch (error) {
      this.#faults.push({ file: path, what: readingFault(error) });
      return;
    }
    if (head.lines < seal.lines) {
      this.#faults.push({
        file: path,
        line: head.lines + 1,
        what: `is missing (the file must have ${seal.lines} lines)`,
      });
    }
    const more = head.lines - Math.min(seal.lines, head.lines);
    this.#unsealed += more;
    if (more > 0 && !isUnfinished) {
      this.#faults.push({ file: path, line: seal.lines + 1, what: `was added after the last run` });
    }
  }

  /**
   * Returns a fault if the line names a stored file that is missing or has another size, or has content that no export
   * writes: whoever can change a file can also compute a hash.
   */
  #contentFault(bytes: Buffer): string | undefined {
    if (this.#options.onLine === undefined && !bytes.includes(FILES_MEMBER)) return undefined;
    try {
      return this.#filesFault(bytes);
    } catch (error) {
      if (SYSTEM_ERROR.test(errorCode(error) ?? '')) throw error;
      return 'has content that no export writes';
    }
  }

  #filesFault(bytes: Buffer): string | undefined {
    const { folder, onLine } = this.#options;
    const line = JSON.parse(bytes.toString('utf8')) as ArchivedLine;
    onLine?.(line);
    for (const file of (line.files ?? []).filter(isStored)) {
      for (const { file: path, bytes: size } of [file, ...(file.converted === undefined ? [] : [file.converted])]) {
        const found = statSync(join(folder, path), { throwIfNoEntry: false });
        if (found?.size !== size) {
          return `names ${path}, which ${found === undefined ? 'is missing' : 'has another size'}`;
        }
      }
    }
    return undefined;
  }

  /** Leaves out names like those that the Finder adds: .DS_Store, and ._* on a disk without extended attributes. */
  #storedFiles(): readonly string[] {
    const { folder } = this.#options;
    try {
      return readdirSync(join(folder, FILES))
        .flatMap((name) =>
          name.length === 2 ? readdirSync(join(folder, FILES, name)).map((file) => `${name}/${file}`) : [],
        )
        .map((name) => `${FILES}/${name}`)
        .filter((path) => !path.endsWith(PART) && !path.includes('/.'))
        .sort();
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') this.#faults.push({ file: FILES, what: readingFault(error) });
      return [];
    }
  }

  async #storedFile(path: string): Promise<void> {
    const sum = await this.#sumOf(path);
    if (sum === undefined) return;
    this.#attachments += 1;
    if (sum !== storedHash(path)) {
      this.#faults.push({ file: path, what: 'was changed (its name does not match its content)' });
    }
  }

  /** Checks a file that was made from the lines. Only people.json may not be deleted. */
  async #generatedFile(path: string, sealed: string): Promise<void> {
    if (path !== PEOPLE_FILE && !existsSync(join(this.#options.folder, path))) return;
    const sum = await this.#sumOf(path);
    if (sum === undefined || sum === sealed) return;
    this.#faults.push({ file: path, what: `was changed (its hash differs from the one in ${MANIFEST})` });
  }

  /** Returns the SHA-256 of a file. Notes a fault and returns undefined if the file cannot be read. */
  async #sumOf(path: string): Promise<string | undefined> {
    const sum = createHash('sha256');
    try {
      // A link would pass for what it leads to, and reading a pipe would never end.
      const file = await openToRead(join(this.#options.folder, path));
      for await (const chunk of file.createReadStream()) {
        sum.update(chunk as Uint8Array);
        await this.#pass((chunk as Uint8Array).length);
      }
      return sum.digest('hex');
    } catch (error) {
      this.#faults.push({ file: path, what: readingFault(error) });
      return undefined;
    }
  }

  async #pass(bytes: number): Promise<void> {
    this.#bytes += bytes;
    if (this.#bytes < this.#turnAt) return;
    this.#turnAt = this.#bytes + TURN_BYTES;
    this.#options.onProgress({ bytes: this.#bytes, totalBytes: this.#totalBytes });
    await nextTurn();
  }

  #size(path: string): number {
    return statSync(join(this.#options.folder, path), { throwIfNoEntry: false })?.size ?? 0;
  }
}

function readingFault(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return code === 'ENOENT' ? 'is missing' : `cannot be read (${code})`;
}
