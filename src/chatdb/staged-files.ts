import { basename, dirname } from 'node:path';
import type { Log } from '../domain/ports/host.ts';
import { T } from './bound.ts';
import { Connection } from './connection.ts';
import { toText } from './rows.ts';

export interface StagedFilesQuestion {
  readonly chatDbPath: string;
  readonly homeFolder: string;
  /** The folder that holds one folder for each staged attachment. */
  readonly stagingFolder: string;
}

/** For a program that is not the service, such as the uninstaller. Throws AppError `unavailable` when chat.db cannot be read. */
export function readStagedFoldersInUse(question: StagedFilesQuestion): ReadonlySet<string> {
  const connection = new Connection({ path: question.chatDbPath, home: question.homeFolder, log: SILENT });
  try {
    return stagedFoldersInUse(connection, question.stagingFolder);
  } finally {
    connection.close();
  }
}

/**
 * Names of the folders in `stagingFolder` that hold a file some attachment in chat.db refers to, as `~/…`, as an
 * absolute path or through a link: what counts is the end of the path, so that no spelling is missed.
 */
export function stagedFoldersInUse(connection: Connection, stagingFolder: string): ReadonlySet<string> {
  const marker = `/${basename(dirname(stagingFolder))}/${basename(stagingFolder)}/`;
  return connection.read(({ database }) => {
    if (!database.shape.hasColumn('attachment', 'filename')) return new Set<string>();
    const rows = database.all(`SELECT filename FROM attachment WHERE instr(filename, ${T}) > 0`, marker);
    return new Set(rows.map(([filename]) => folderAfter(toText(filename), marker)).filter((name) => name !== ''));
  });
}

function folderAfter(path: string, marker: string): string {
  return path.slice(path.lastIndexOf(marker) + marker.length).split('/')[0] ?? '';
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };
