import { accessSync, constants, existsSync, lstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, isAbsolute, join, sep } from 'node:path';

/** The folders beside chat.db in which Messages keeps the files of messages. */
const FOLDERS = ['Attachments', 'StickerCache', join('Caches', 'Previews')];
/**
 * A stored path in one of these folders. It begins with the home folder that the Mac or the iPhone had when it wrote
 * the row: `~/Library/Messages`, `/Users/old/Library/Messages`, `~/Library/SMS`, `/var/mobile/Library/SMS`.
 */
const KEPT = new RegExp(`^[~/].*?/(?:Messages|SMS)/((?:${FOLDERS.join('|')})/.+)$`, 's');
/**
 * Names between one of these folders and a folder that was sent. Above them, a folder holds files of other messages.
 */
const MIN_DEPTH = 2;

/**
 * Returns the absolute path for a stored file name; null for a file that has no name yet (decision B5). A file of
 * Messages is in the `messagesFolder` of this chat.db, wherever chat.db was when its row was written.
 */
export function pathOfStored(stored: string, folder: string, home: string): string | null {
  if (stored.trim() === '') return null;
  const kept = KEPT.exec(stored)?.[1];
  if (kept !== undefined && !climbs(stored)) return join(folder, kept);
  if (stored === '~' || stored.startsWith('~/')) {
    const base = folder.endsWith(join(sep, 'Library', 'Messages')) ? dirname(dirname(folder)) : home;
    return below(base, stored.slice(1));
  }
  return isAbsolute(stored) ? stored : below(folder, stored);
}

/** Joins two paths. Keeps every `..`, by which `located` refuses the path. */
function below(folder: string, rest: string): string {
  return climbs(rest) ? `${folder}/${rest}` : join(folder, rest);
}

/** A file of a message, or a folder that was sent as one. `path` has no symbolic links. */
export interface Located {
  readonly path: string;
  readonly stats: Stats;
}

/**
 * Returns the file or folder at a path from `pathOfStored`. Returns undefined unless it is readable, below one of the
 * folders of Messages beside chat.db, and none of chat.db's own files (decision H). Does not open it.
 */
export function located(databasePath: string, path: string | null): Located | undefined {
  if (path === null || climbs(path)) return undefined;
  try {
    const real = realpathSync.native(path);
    const root = rootsOf(databasePath).find((one) => real.startsWith(one + sep));
    if (root === undefined) return undefined;
    const stats = statSync(real);
    const isFolder = stats.isDirectory() && real.slice(root.length + 1).split(sep).length >= MIN_DEPTH;
    if (!isFolder && !(stats.isFile() && !isDatabase(databasePath, stats))) return undefined;
    accessSync(real, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK);
    return { path: real, stats };
  } catch {
    return undefined;
  }
}

function climbs(path: string): boolean {
  return path.split('/').includes('..');
}

/** Returns the folder of chat.db. If the path is a link to chat.db, that is the folder with the attachments. */
export function messagesFolder(databasePath: string): string {
  const beside = dirname(databasePath);
  try {
    if (!lstatSync(databasePath).isSymbolicLink() || existsSync(join(beside, 'Attachments'))) return beside;
    return dirname(realpathSync(databasePath));
  } catch {
    return beside;
  }
}

function rootsOf(databasePath: string): readonly string[] {
  const folder = messagesFolder(databasePath);
  return FOLDERS.flatMap((name) => {
    const path = join(folder, name);
    return existsSync(path) ? [realpathSync.native(path)] : [];
  });
}

/** Reports whether a file is a hard link to chat.db. Opening and closing it would drop SQLite's locks on chat.db. */
function isDatabase(databasePath: string, { dev, ino }: Stats): boolean {
  const real = realpathSync.native(databasePath);
  return ['', '-wal', '-shm'].some((ending) => {
    const own = statSync(real + ending, { throwIfNoEntry: false });
    return own?.dev === dev && own.ino === ino;
  });
}
