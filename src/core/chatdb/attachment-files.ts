import { hash } from 'node:crypto';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import type { AttachmentDetails, AttachmentState } from '../model/details.ts';
import type { AttachmentFile, AttachmentReader } from '../model/ports/reading-ports.ts';
import { attachmentAt, READ_PLAINLY } from './attachment-details.ts';
import { INT_PARAM, TEXT_PARAM, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { type ChatDbLocation, readOnce } from './read-once.ts';
import { rowIdOf } from './row-id.ts';

interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly bytes: number;
  readonly version: string;
}

/** Opens the files of attachments. Opens only files below the Attachments folder beside chat.db (decision H). */
export class AttachmentFiles implements AttachmentReader {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async open(id: string, n: number): Promise<AttachmentFile | undefined> {
    const attachment = this.#attachment(id, n);
    if (attachment === undefined) return undefined;
    const file = await this.#open(attachment.path);
    if (file === undefined) return undefined;
    const { handle, bytes, version } = file;
    return {
      name: attachment.name,
      mimeType: attachment.mime_type,
      bytes,
      version,
      read: (start, end) => handle.createReadStream({ start, end: Math.max(start, end) }),
      close: () => handle.close(),
    };
  }

  /** Returns the state of an attachment's file; undefined if the message has no such attachment. */
  state(id: string, n: number): AttachmentState | undefined {
    return this.#attachment(id, n)?.state;
  }

  #attachment(id: string, n: number): AttachmentDetails | undefined {
    const rowId = rowIdOf(id);
    return rowId === undefined ? undefined : this.#connection.read((snapshot) => attachmentAt(snapshot, rowId, n));
  }

  /** Returns undefined for a file that is missing, not a regular file, or outside the Attachments folder. */
  async #open(path: string): Promise<OpenFile | undefined> {
    try {
      const folder = await realpath(join(dirname(this.#connection.path), 'Attachments'));
      const real = await realpath(path);
      if (!real.startsWith(folder + sep)) return undefined;
      const file = await stat(real);
      // The path may be a hard link to chat.db. Opening and closing it here would drop SQLite's locks on chat.db
      // (decision B1).
      if (!file.isFile() || (await this.#isDatabase(file))) return undefined;
      return await openSame(real, file);
    } catch {
      return undefined;
    }
  }

  async #isDatabase({ dev, ino }: FileIdentity): Promise<boolean> {
    for (const ending of ['', '-wal', '-shm']) {
      const own = await stat(this.#connection.filePath + ending).catch(() => undefined);
      if (own?.dev === dev && own.ino === ino) return true;
    }
    return false;
  }
}

/** Opens the file that the caller has checked. Returns undefined if another file has replaced it since. */
async function openSame(path: string, { dev, ino }: FileIdentity): Promise<OpenFile | undefined> {
  const handle = await open(path, READ_PLAINLY);
  const opened = await handle.stat();
  if (opened.dev === dev && opened.ino === ino) {
    const { size, mtimeMs, ctimeMs } = opened;
    const version = hash('sha256', [dev, ino, size, mtimeMs, ctimeMs].join(), 'base64url').slice(0, 22);
    return { handle, bytes: size, version };
  }
  await handle.close();
  return undefined;
}

/** Number of attachment row ids searched per slice: about 10 ms of work. */
const SLICE_ROWS = 5000;

/**
 * Yields, in slices, the names of the folders in `stagingFolder` that hold a file of an attachment in chat.db.
 * Recognizes `stagingFolder` in a stored path by its last two names only, because the path may begin with `~`, be
 * absolute or lead through a link.
 */
export function* stagedFoldersInUse(connection: Connection, stagingFolder: string): Generator<readonly string[]> {
  const marker = `/${basename(dirname(stagingFolder))}/${basename(stagingFolder)}/`;
  const lastRow = connection.read(({ database }) =>
    database.schema.hasColumn('attachment', 'filename')
      ? Number(database.get('SELECT ifnull(max(ROWID), 0) FROM attachment')?.[0])
      : 0,
  );
  const query = `SELECT filename FROM attachment
    WHERE ROWID > ${INT_PARAM} AND ROWID <= ${INT_PARAM} AND instr(filename, ${TEXT_PARAM}) > 0`;
  for (let row = 0; row < lastRow; row += SLICE_ROWS) {
    const rows = connection.read(({ database }) => database.all(query, row, row + SLICE_ROWS, marker));
    yield rows.map(([filename]) => folderAfter(toText(filename), marker)).filter((name) => name !== '');
  }
}

function folderAfter(path: string, marker: string): string {
  return path.slice(path.lastIndexOf(marker) + marker.length).split('/')[0] ?? '';
}

/** Returns all results of `stagedFoldersInUse`, for programs other than the service. Throws `chat_db_unavailable`. */
export function readStagedFoldersInUse(
  location: ChatDbLocation & { readonly stagingFolder: string },
): ReadonlySet<string> {
  const { stagingFolder } = location;
  return readOnce(location, (connection) => new Set([...stagedFoldersInUse(connection, stagingFolder)].flat()));
}
