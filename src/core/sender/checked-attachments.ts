import { type BigIntStats, constants, createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AppError, errorCode, type Mistake } from '../model/errors.ts';
import type { SendRequest } from '../model/ports/sending-ports.ts';
import { invalidRequest, PROBLEMS, problem } from '../model/problems.ts';
import { MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS } from '../model/upload.ts';

export interface AttachmentRules {
  /** The folders from which files may be sent (`send.attachment_roots`). If empty, files may have any path. */
  readonly roots: readonly string[];
  readonly chatDbPath: string;
  readonly configDir: string;
}

/**
 * Names of Postern's folders inside `configDir`: one for the copies made when a send is held or scheduled, one for
 * uploads.
 */
export const KEPT_FILES = 'held';
export const UPLOADS = 'uploads';

/** Returns rules that allow only files in this folder inside `configDir`. */
function within(folder: string, rules: AttachmentRules): AttachmentRules {
  return { ...rules, roots: [join(rules.configDir, folder)], configDir: '' };
}

/** A file that may be sent, with the identity that it had when the request arrived (decision O3). */
export interface CheckedFile {
  /** JSON pointer of the file in the request. */
  readonly pointer: string;
  /** The path in the request. The receiver sees this path's file name, which may differ from that of `realPath`. */
  readonly path: string;
  readonly realPath: string;
  /** Device, inode and creation time of the file. The time is included because inodes are reused. */
  readonly identity: string;
}

export interface CheckedFiles {
  readonly mistakes: readonly Mistake[];
  /** The files without mistakes. Send them only if `mistakes` is empty. */
  readonly files: readonly CheckedFile[];
}

/**
 * Checks whether a request's files may be sent (decision D7). Returns the mistakes, and the identity of each file that
 * has no mistake. Never opens the files.
 */
export async function checkAttachments(
  { attachments, uploads = [], areCopies = false }: Pick<SendRequest, 'attachments' | 'uploads' | 'areCopies'>,
  rules: AttachmentRules,
): Promise<CheckedFiles> {
  if (attachments.length + uploads.length > MAX_ATTACHMENTS) {
    const message = `At most ${MAX_ATTACHMENTS} attachments can be sent at once.`;
    return { mistakes: [{ pointer: '/attachments', message }], files: [] };
  }
  const ofPaths = areCopies ? within(KEPT_FILES, rules) : rules;
  const given = [
    ...attachments.map((path, index) => ({ path, pointer: `/attachments/${index}`, rules: ofPaths })),
    ...uploads.map(({ path }, index) => ({
      path,
      pointer: `/attachment_ids/${index}`,
      rules: within(UPLOADS, rules),
    })),
  ];
  const checked = await Promise.all(
    given.map(async ({ path, pointer, rules }) => ({ pointer, result: await check(path, rules) })),
  );
  return {
    mistakes: checked.flatMap(({ result, pointer }) =>
      typeof result === 'string' ? [{ pointer, message: result }] : [],
    ),
    files: checked.flatMap(({ result, pointer }) => (typeof result === 'string' ? [] : [{ ...result, pointer }])),
  };
}

/**
 * Opens exactly the file that was checked. If that file or a folder above it was replaced since, the path leads to
 * another device or inode, or to a link. Throws `attachment_changed` then, or `invalid_request` if reading is not
 * permitted. Never waits at a named pipe.
 */
export async function openChecked(file: CheckedFile): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(file.realPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw isForbidden(error) ? invalidRequest([{ pointer: file.pointer, message: UNREADABLE }]) : changed(file, error);
  }
  const found = await handle.stat({ bigint: true });
  if (found.isFile() && identity(found) === file.identity && found.size <= MAX_ATTACHMENT_BYTES) return handle;
  await handle.close();
  throw changed(file);
}

/**
 * Copies a checked file, through these streams, into a new folder that only this user can read. Returns the path of the
 * copy, which has the file's name.
 */
export async function copyChecked(
  file: CheckedFile,
  folder: string,
  ...through: readonly Transform[]
): Promise<string> {
  const source = await openChecked(file);
  try {
    const copy = join(folder, basename(file.path));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const target = createWriteStream(copy, { flags: 'wx', mode: 0o600 });
    await pipeline([source.createReadStream({ autoClose: false }), ...through, target]);
    return copy;
  } finally {
    await source.close();
  }
}

function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(errorCode(error) ?? '');
}

function changed({ pointer }: CheckedFile, cause?: unknown): AppError {
  return problem('attachment_changed', {}, { mistakes: [{ pointer, message: CHANGED }], cause });
}

const CHANGED = PROBLEMS.attachment_changed.detail;
export const MISSING = 'There is no such file.';
export const OUTSIDE = 'The file is outside the folders in send.attachment_roots.';
const UNREADABLE =
  'Postern is not allowed to read the file. On a Mac, give Postern Full Disk Access in System Settings.';

type Checked = Omit<CheckedFile, 'pointer'>;

async function check(path: string, rules: AttachmentRules): Promise<Checked | string> {
  if (!isAbsolute(path)) return 'The path must be absolute.';
  let real: string;
  let file: BigIntStats;
  try {
    real = await realpath(path);
    file = await stat(real, { bigint: true });
  } catch (error) {
    return isForbidden(error) ? UNREADABLE : MISSING;
  }
  const folders = await foldersAbove(real);
  // Before anything else is said of the file, because a limited key must learn nothing of files outside.
  if (rules.roots.length > 0 && !(await includesAny(folders, rules.roots))) return OUTSIDE;
  if (!file.isFile()) return 'This is not a regular file.';
  if (file.size > MAX_ATTACHMENT_BYTES) return 'The file is larger than 100 MB.';
  // If `chatDbPath` is a link, SQLite keeps the side files beside the file that the link leads to.
  const database = await realpath(rules.chatDbPath).catch(() => rules.chatDbPath);
  if (await includesAny(new Set([identity(file)]), withSideFiles(database))) {
    return 'The Messages database cannot be sent.';
  }
  if (rules.configDir === '') return { path, realPath: real, identity: identity(file) };
  if (await includesAny(folders, [rules.configDir])) return "Postern's own files cannot be sent.";
  // Compares identities, not paths: macOS reaches a file through /dev/fd and /.vol as well, and a link in `configDir`
  // may lead to a file outside it.
  if (await includesAny(new Set([identity(file)]), await filesIn(rules.configDir))) {
    return "Postern's own files cannot be sent.";
  }
  return { path, realPath: real, identity: identity(file) };
}

function withSideFiles(database: string): readonly string[] {
  return ['', '-wal', '-shm'].map((suffix) => `${database}${suffix}`);
}

/** Returns device, inode and creation time of a file, which do not depend on the spelling of its path. */
function identity({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`;
}

async function identityOf(path: string): Promise<string | undefined> {
  try {
    return identity(await stat(path, { bigint: true }));
  } catch {
    return undefined;
  }
}

async function includesAny(identities: ReadonlySet<string>, paths: readonly string[]): Promise<boolean> {
  const found = await Promise.all(paths.map(identityOf));
  return found.some((one) => one !== undefined && identities.has(one));
}

async function foldersAbove(real: string): Promise<ReadonlySet<string>> {
  const paths: string[] = [];
  for (let folder = dirname(real); paths.at(-1) !== folder; folder = dirname(folder)) paths.push(folder);
  const identities = await Promise.all(paths.map(identityOf));
  return new Set(identities.filter((one) => one !== undefined));
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true });
    return entries.map((entry) => join(folder, entry));
  } catch {
    return [];
  }
}
