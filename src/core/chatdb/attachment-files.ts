import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { AttachmentDetails, AttachmentState } from '../model/details.ts';
import type { AttachmentFile, AttachmentReader } from '../model/ports/reading-ports.ts';
import { folderTar } from '../runtime/folder-tar.ts';
import { attachmentAt, READ_PLAINLY } from './attachment-details.ts';
import { type Located, located } from './attachment-place.ts';
import { INT_PARAM, TEXT_PARAM, toText } from './columns.ts';
import type { Connection } from './connection.ts';
import { type ChatDbLocation, readOnce } from './read-once.ts';
import { rowIdOf } from './row-id.ts';

/** The part of an `AttachmentFile` that an opened file or a folder provides. */
type Content = Pick<AttachmentFile, 'bytes' | 'version' | 'read' | 'close'>;

/** Opens the files of attachments, and makes a tar of a folder. Opens nothing that `located` does not return. */
export class AttachmentFiles implements AttachmentReader {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async open(id: string, n: number): Promise<AttachmentFile | undefined> {
    const attachment = this.#attachment(id, n);
    if (attachment === undefined) return undefined;
    const found = located(this.#connection.path, attachment.path);
    const content = found && (await contentOf(found).catch(() => undefined));
    return content && { name: attachment.name, mimeType: attachment.mime_type, ...content };
  }

  /** Returns the state of an attachment's file; undefined if the message has no such attachment. */
  state(id: string, n: number): AttachmentState | undefined {
    return this.#attachment(id, n)?.state;
  }

  #attachment(id: string, n: number): AttachmentDetails | undefined {
    return this.#connection.read((snapshot) => {
      const rowId = rowIdOf(id, snapshot);
      return rowId === undefined ? undefined : attachmentAt(snapshot, rowId, n);
    });
  }
}

/** Opens what the caller has located. Returns undefined if another file has replaced it since. */
async function contentOf({ path, stats }: Located): Promise<Content | undefined> {
  if (stats.isDirectory()) {
    const tar = await folderTar(path);
    return tar && { ...tar, close: async () => {} };
  }
  const handle = await open(path, READ_PLAINLY);
  const { dev, ino, size, mtimeMs, ctimeMs } = await handle.stat();
  if (dev === stats.dev && ino === stats.ino) {
    return {
      bytes: size,
      version: hash('sha256', [dev, ino, size, mtimeMs, ctimeMs].join(), 'base64url').slice(0, 22),
      read: (start, end) => handle.createReadStream({ start, end: Math.max(start, end) }),
      close: () => handle.close(),
    };
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
