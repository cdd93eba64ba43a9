import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** A folder as one tar file, which is made while it is read. */
export interface FolderTar {
  readonly bytes: number;
  /** Changes when a file in the folder is added, removed, replaced or modified. */
  readonly version: string;
  /** Yields the bytes from `start` to `end`, both inclusive. Throws `ESTALE` if a file has changed since. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

interface FoundFile {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
}

/** Consecutive bytes of the tar: those of a header, or the content of a file. */
type Piece = Buffer | FoundFile;

const BLOCK = 512;
/** A folder with more entries is refused. Its list would take more memory than a file is worth. */
const MAX_ENTRIES = 20_000;
/** Size that a header of the format `ustar` cannot express. */
const MAX_FILE_BYTES = 8 ** 11;
const READ_PLAINLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Lays out the tar of a folder: its files and folders, sorted by name, all with the same owner, mode and date, so that
 * the same content always gives the same bytes. Leaves out links, pipes and the `.DS_Store` that the Finder adds.
 * Resolves to undefined for a folder with too many or too large files.
 */
export async function folderTar(folder: string): Promise<FolderTar | undefined> {
  const pieces: Piece[] = [];
  const waiting = [{ path: folder, name: basename(folder) }];
  let entries = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { path, name } = next;
    const stats = await lstat(path);
    const { dev, ino, size, mtimeMs } = stats;
    entries += 1;
    if (entries > MAX_ENTRIES || size >= MAX_FILE_BYTES) return undefined;
    if (stats.isDirectory()) {
      pieces.push(...headersOf(`${name}/`, '5', 0));
      const names = (await readdir(path)).filter((one) => one !== '.DS_Store').sort();
      waiting.push(...names.reverse().map((one) => ({ path: join(path, one), name: `${name}/${one}` })));
    } else if (stats.isFile()) {
      pieces.push(...headersOf(name, '0', size), { path, dev, ino, size, mtimeMs }, Buffer.alloc(padding(size)));
    }
  }
  pieces.push(Buffer.alloc(2 * BLOCK));
  const marks = pieces.map((piece) =>
    Buffer.isBuffer(piece) ? piece.toString('base64') : Object.values(piece).join(),
  );
  return {
    bytes: pieces.reduce((sum, piece) => sum + lengthOf(piece), 0),
    version: hash('sha256', marks.join('\n'), 'base64url').slice(0, 22),
    read: (start, end) => readPieces(pieces, start, end),
  };
}

async function* readPieces(pieces: readonly Piece[], start: number, end: number): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const piece of pieces) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at + 1, lengthOf(piece));
    at += lengthOf(piece);
    if (from >= to) continue;
    if (Buffer.isBuffer(piece)) yield piece.subarray(from, to);
    else yield* readFile(piece, from, to);
  }
}

async function* readFile(file: FoundFile, from: number, to: number): AsyncGenerator<Uint8Array> {
  const handle = await open(file.path, READ_PLAINLY);
  try {
    const { dev, ino, size, mtimeMs } = await handle.stat();
    if (dev !== file.dev || ino !== file.ino || size !== file.size || mtimeMs !== file.mtimeMs) throw changed(file);
    let left = to - from;
    for await (const chunk of handle.createReadStream({ start: from, end: to - 1, autoClose: false })) {
      left -= (chunk as Uint8Array).length;
      yield chunk as Uint8Array;
    }
    if (left > 0) throw changed(file);
  } finally {
    await handle.close();
  }
}

function changed({ path }: FoundFile): Error {
  return Object.assign(new Error(`${path} has changed`), { code: 'ESTALE' });
}

function lengthOf(piece: Piece): number {
  return Buffer.isBuffer(piece) ? piece.length : piece.size;
}

function padding(bytes: number): number {
  return (BLOCK - (bytes % BLOCK)) % BLOCK;
}

/** Returns the header of an entry. A header of the format pax before it has a name that `ustar` cannot express. */
function headersOf(name: string, type: '0' | '5', size: number): readonly Buffer[] {
  const own = header(name, type, size);
  if (Buffer.byteLength(name) <= 100 && /^[\x20-\x7e]*$/.test(name)) return [own];
  const record = Buffer.from(paxRecord(` path=${name}\n`));
  return [header('pax', 'x', record.length), record, Buffer.alloc(padding(record.length)), own];
}

/** Puts the length of a record, which counts its own digits, before the record. */
function paxRecord(rest: string): string {
  const bytes = Buffer.byteLength(rest);
  const length = bytes + String(bytes).length;
  return `${bytes + String(length).length}${rest}`;
}

function header(name: string, type: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number, at: number): void => {
    block.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'latin1');
  };
  block.write(name, 0, 100);
  octal(type === '5' ? 0o755 : 0o644, 7, 100);
  octal(0, 7, 108);
  octal(0, 7, 116);
  octal(size, 11, 124);
  octal(0, 11, 136);
  block.write('        ', 148, 'latin1');
  block.write(type, 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  octal(sum, 6, 148);
  return block;
}
