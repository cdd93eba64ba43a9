import { existsSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, errorCode } from '../../core/model/errors.ts';
import { lockFile } from '../../core/runtime/file-lock.ts';
import { claimPrivateFile } from '../../core/runtime/private-file.ts';
import { damaged } from './archive-errors.ts';
import { ArchiveIndex, type ChainRecord, NOT_COMPARED, REMOVED } from './archive-index.ts';
import { CONVERSATIONS, chainOf, INDEX, LOCK, LOG, MANIFEST, PART } from './archive-layout.ts';
import { type ArchivedLine, countMissing, keyOfLine, secondsOf } from './archived-line.ts';
import { type Head, isWrong, NO_LINES, type ReadLine, readChain } from './chain.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { makeFolder, sha256Of } from './private-files.ts';

/** An archive that only this process may write to. */
export interface OpenArchive {
  readonly folder: string;
  readonly index: ArchiveIndex;
  /** Undefined before the first run. */
  readonly manifest: Manifest | undefined;
  /** The end of log.ndjson. */
  readonly log: Head;
  close(): void;
}

/**
 * Files that the folder of a new archive may contain: those of a run that was killed before it wrote the manifest, and
 * the file that the Finder adds to every folder.
 */
const NOTHING_YET = new Set([
  ...[LOCK, INDEX].flatMap((name) => [name, `${name}-journal`, `${name}-wal`, `${name}-shm`]),
  ...[MANIFEST + PART, '.DS_Store'],
]);

/**
 * Opens an archive, or an empty or missing folder for a new one, and updates its index. Cuts off what an unfinished run
 * wrote after its last intact line. Throws `archive_damaged`, `archive_in_use`, `archive_foreign`.
 */
export function openArchive(folder: string): OpenArchive {
  makeFolder(folder);
  const manifest = readManifest(folder);
  if (manifest === undefined) assertEmpty(folder);
  const unlock = lockFile(join(folder, LOCK), inUse);
  let index: ArchiveIndex | undefined;
  try {
    discardChangedIndex(folder, manifest);
    claimPrivateFile(join(folder, INDEX));
    index = new ArchiveIndex(join(folder, INDEX));
    const log = synchronize(folder, index, manifest);
    const opened = index;
    return {
      folder,
      index,
      manifest,
      log,
      close() {
        opened.close();
        unlock();
      },
    };
  } catch (error) {
    index?.close();
    unlock();
    throw error;
  }
}

/** Removes an index that is not the one of the last run. It is made again from the lines. */
function discardChangedIndex(folder: string, manifest: Manifest | undefined): void {
  const sealed = manifest?.generated?.get(INDEX);
  if (sealed === undefined || !existsSync(join(folder, INDEX)) || sha256Of(folder, INDEX) === sealed) return;
  for (const side of ['', '-journal', '-wal', '-shm']) rmSync(join(folder, INDEX + side), { force: true });
}

function inUse(cause: unknown): AppError {
  return new AppError('archive_in_use', 'Another export is writing to this archive.', {
    hint: 'Wait until it has ended.',
    cause,
  });
}

function assertEmpty(folder: string): void {
  const found = readdirSync(folder).filter((name) => !NOTHING_YET.has(name));
  if (found.length === 0) return;
  if (found.includes(CONVERSATIONS)) throw damaged(`${join(folder, MANIFEST)} is missing.`);
  throw new AppError('archive_foreign', `${folder} is neither empty nor an archive.`, {
    hint: 'Name a new folder, or one that postern export has made.',
  });
}

/** Returns the paths of the conversations' NDJSON files, relative to the archive's folder and sorted. */
export function chainsIn(folder: string): readonly string[] {
  const names = (path: string): readonly string[] => {
    try {
      return readdirSync(join(folder, path));
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
      throw error;
    }
  };
  return names(CONVERSATIONS)
    .flatMap((key) => names(`${CONVERSATIONS}/${key}`).map((name) => `${CONVERSATIONS}/${key}/${name}`))
    .filter((path) => chainOf(path) !== undefined)
    .sort();
}

/** Updates the index from the NDJSON files. Returns the end of log.ndjson. */
function synchronize(folder: string, index: ArchiveIndex, manifest: Manifest | undefined): Head {
  const sealed = manifest?.files ?? new Map<string, Head>();
  const isUnfinished = manifest === undefined || manifest.unfinished !== undefined;
  const paths = chainsIn(folder);
  const there = new Set(paths);
  for (const path of sealed.keys()) {
    if (path !== LOG && !there.has(path)) throw damaged(`${join(folder, path)} is missing.`);
  }
  for (const record of index.files()) if (!there.has(record.path)) index.forget(record.id);
  const known = new Map(Array.from(index.files(), (record) => [record.path, record]));
  for (const path of paths) {
    const { size } = statSync(join(folder, path));
    const record = known.get(path);
    const seal = sealed.get(path) ?? NO_LINES;
    const end = isUnfinished ? size : Math.min(size, seal.bytes);
    if (record?.head.bytes === size && size === end && size >= seal.bytes) continue;
    const key = chainOf(path)?.key ?? '';
    if (record !== undefined && (record.head.bytes > end || record.head.bytes < seal.bytes)) index.forget(record.id);
    const from = index.file(path, key);
    const head = readOn(join(folder, path), from.head, seal, isUnfinished, (line) => learn(index, from, line));
    index.setHead(from.id, head);
  }
  index.commit();
  return synchronizedLog(folder, sealed.get(LOG) ?? NO_LINES, isUnfinished);
}

function synchronizedLog(folder: string, seal: Head, isUnfinished: boolean): Head {
  try {
    return readOn(join(folder, LOG), NO_LINES, seal, isUnfinished, () => {});
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    if (seal.lines > 0) throw damaged(`${join(folder, LOG)} is missing.`);
    return NO_LINES;
  }
}

/**
 * Reads the lines of a chain after `from`. `seal` is the end that the manifest records. If the last run did not finish,
 * cuts off the file at the first wrong line after `seal`; if it did, no line may follow `seal`. Throws
 * `archive_damaged` for any other wrong line, and if the file ends before `seal` or has another hash at `seal`.
 */
function readOn(path: string, from: Head, seal: Head, isUnfinished: boolean, use: (line: ReadLine) => void): Head {
  let head = from;
  for (const line of readChain(path, from)) {
    if (isWrong(line)) {
      if (line.n <= seal.lines || !isUnfinished) throw damaged(`Line ${line.n} of ${path} ${line.wrong}.`);
      truncateSync(path, line.start);
      break;
    }
    // Every run records the ends of its files, so no export wrote this line.
    if (!isUnfinished && line.n > seal.lines) throw damaged(`Line ${line.n} of ${path} was added after the last run.`);
    if (line.n === seal.lines && line.head.hash !== seal.hash) {
      throw damaged(`The hash of line ${line.n} of ${path} differs from the one in ${MANIFEST}.`);
    }
    use(line);
    head = line.head;
  }
  if (head.lines < seal.lines) throw damaged(`${path} ends before line ${seal.lines}.`);
  return head;
}

/** Adds a line that was read from an NDJSON file to the index. */
function learn(index: ArchiveIndex, { id: file, key }: ChainRecord, { n, start, bytes }: ReadLine): void {
  const line = JSON.parse(bytes.toString('utf8')) as ArchivedLine;
  if (line.conversation !== undefined) index.describe(key, JSON.stringify(line.conversation));
  const guid = keyOfLine(line);
  if (guid === undefined) return;
  const before = line.replaces === undefined ? undefined : index.entries([guid]).get(guid);
  index.put({
    id: before?.id,
    guid,
    file,
    n,
    first: before?.first ?? n,
    start,
    at: line.removed === true ? (before?.at ?? null) : secondsOf(line.message),
    print: line.removed === true ? REMOVED : NOT_COMPARED,
    run: 0,
    // Lines do not record the chat.db that they come from. The next run sets `database` when it compares the row.
    database: 0,
    missing: countMissing(line.files),
    earlier: before === undefined ? '' : [before.earlier, before.start].filter((part) => part !== '').join(),
    twinOf: before?.twinOf ?? line.twin_of ?? null,
  });
  index.putStored(guid, line.files);
}
