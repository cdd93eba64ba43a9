import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { errorCode } from '../../core/model/errors.ts';
import type { ArchiveIndex, StoredPath } from './archive-index.ts';
import { FILES } from './archive-layout.ts';
import type { ArchiveSource } from './archive-source.ts';
import type { StoredFiles } from './stored-files.ts';

export interface LostFilesParts {
  readonly folder: string;
  readonly index: ArchiveIndex;
  readonly source: ArchiveSource;
  readonly stored: StoredFiles;
  readonly signal: AbortSignal;
}

const FOLDERS = 256;
const MAX_NAMED = 3;

/**
 * Copies an attachment again if its stored file is missing from the archive. Returns warnings for the report. Checks
 * only that the stored files exist, because reading them all would take as long as a verification.
 */
export async function restoreLostFiles(parts: LostFilesParts): Promise<readonly string[]> {
  const lost = new Set<string>();
  let restored = 0;
  for (let number = 0; number < FOLDERS && !parts.signal.aborted; number += 1) {
    const folder = `${FILES}/${number.toString(16).padStart(2, '0')}`;
    const there = namesIn(join(parts.folder, folder));
    for (const copy of parts.index.storedIn(folder)) {
      const name = basename(copy.path);
      if (there.has(name)) continue;
      if (await restore(copy, parts)) {
        restored += 1;
        there.add(name);
        lost.delete(copy.path);
      } else lost.add(copy.path);
    }
  }
  const named = [...lost].slice(0, MAX_NAMED).join(', ') + (lost.size > MAX_NAMED ? ', …' : '');
  return [
    ...(restored === 0 ? [] : [`Stored files that were missing and have been copied again: ${restored}.`]),
    ...(lost.size === 0
      ? []
      : [
          `Stored files that are missing, and whose originals are gone or have changed: ${lost.size} (${named}). Put them back from a copy of the archive.`,
        ]),
  ];
}

async function restore({ path, guid, n }: StoredPath, { source, stored }: LostFilesParts): Promise<boolean> {
  for (const entries of source.entries([...source.listed([guid]).values()])) {
    for (const { event } of entries) {
      if (!('message_guid' in event.data) && (await stored.restore(event.data, n, path))) return true;
    }
  }
  return false;
}

function namesIn(folder: string): Set<string> {
  try {
    return new Set(readdirSync(folder));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return new Set();
    throw error;
  }
}
