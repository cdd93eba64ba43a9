import type { BigIntStats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { errorCode, type Mistake } from '../domain/errors.ts';

/** Decision D7. */
const MOST_ATTACHMENTS = 10;
const MOST_BYTES = 100_000_000n;

export interface AttachmentRules {
  /** `send.attachment_roots`; empty means any path. */
  readonly roots: readonly string[];
  readonly chatDbPath: string;
  readonly configDir: string;
}

/** What forbids sending these files (decision D7). Files are only asked about, never opened. */
export async function attachmentMistakes(
  paths: readonly string[],
  rules: AttachmentRules,
): Promise<readonly Mistake[]> {
  if (paths.length > MOST_ATTACHMENTS) {
    return [{ pointer: '/attachments', message: `At most ${MOST_ATTACHMENTS} attachments can be sent at once.` }];
  }
  const messages = await Promise.all(paths.map((path) => mistake(path, rules)));
  return messages.flatMap((message, index) =>
    message === undefined ? [] : [{ pointer: `/attachments/${index}`, message }],
  );
}

async function mistake(path: string, rules: AttachmentRules): Promise<string | undefined> {
  if (!isAbsolute(path)) return 'The path must be absolute.';
  let real: string;
  let file: BigIntStats;
  try {
    real = await realpath(path);
    file = await stat(real, { bigint: true });
  } catch (error) {
    const isForbidden = ['EACCES', 'EPERM'].includes(errorCode(error) ?? '');
    return isForbidden ? 'Permission denied.' : 'There is no such file.';
  }
  if (!file.isFile()) return 'This is not a regular file.';
  if (file.size > MOST_BYTES) return 'The file is larger than 100 MB.';
  const folders = await foldersAbove(real);
  if (rules.roots.length > 0 && !(await includesAny(folders, rules.roots))) {
    return 'The file is outside the folders in send.attachment_roots.';
  }
  // SQLite follows links, and keeps its side files beside the file itself.
  const database = await realpath(rules.chatDbPath).catch(() => rules.chatDbPath);
  if (await includesAny(new Set([identity(file)]), withSideFiles(database)))
    return 'The Messages database cannot be sent.';
  if (await includesAny(folders, [rules.configDir])) return "Postern's own files cannot be sent.";
  // A file with one name only, and that one elsewhere, is not one of ours.
  if (file.nlink > 1n && (await includesAny(new Set([identity(file)]), await filesIn(rules.configDir)))) {
    return "Postern's own files cannot be sent.";
  }
  return undefined;
}

function withSideFiles(database: string): readonly string[] {
  return ['', '-wal', '-shm'].map((suffix) => `${database}${suffix}`);
}

/** Device and inode: the same file under any spelling. */
function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
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
