import { type BigIntStats, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { AppError, errorCode } from '../../core/model/errors.ts';
import { explained } from './archive-errors.ts';

/** A folder that must not contain an archive. */
export interface ForbiddenFolder {
  readonly path: string;
  /** The folder's content, such as "Postern's configuration". */
  readonly holds: string;
}

/**
 * Returns the folders of Messages that must not contain an archive: `Library/Messages` of this user, and that of
 * chat.db. Beside a copy of chat.db that is elsewhere, such as on the Desktop, only the folders of attachments are
 * forbidden.
 */
export function foldersOfMessages(homeFolder: string, chatDbPath: string): readonly ForbiddenFolder[] {
  const beside = [chatDbPath, realFile(chatDbPath)].map((path) => dirname(path));
  const paths = beside.flatMap((folder) =>
    /\/Library\/Messages$/i.test(folder)
      ? [folder]
      : ['Attachments', 'StickerCache', 'Caches/Previews'].map((name) => join(folder, name)),
  );
  return [join(homeFolder, 'Library/Messages'), ...paths].map((path) => ({ path, holds: 'files of Messages' }));
}

function realFile(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/**
 * Returns the archive's folder with symbolic links resolved. Throws `archive_misplaced` if it is in or below a
 * forbidden folder. Compares device and inode, so that every spelling of a forbidden path is recognised.
 */
export function destination(out: string, forbidden: readonly ForbiddenFolder[]): string {
  const folder = realFolder(resolve(out));
  const found = forbidden.map((one) => ({ ...one, stat: statOf(one.path) }));
  for (let at = folder; ; at = dirname(at)) {
    const stat = statOf(at);
    const match = found.find((one) => one.stat !== undefined && isSame(one.stat, stat));
    if (match !== undefined) {
      throw new AppError('archive_misplaced', `${resolve(out)} is in ${match.path}, which holds ${match.holds}.`, {
        hint: 'Name a folder somewhere else, such as ~/Documents/Messages.',
      });
    }
    if (dirname(at) === at) return folder;
  }
}

/** Resolves the symbolic links in the existing part of a path. */
function realFolder(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw explained(error, path);
    return join(realFolder(dirname(path)), basename(path));
  }
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isSame(a: BigIntStats, b: BigIntStats | undefined): boolean {
  return b !== undefined && a.dev === b.dev && a.ino === b.ino;
}
