import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { AttachmentFile, AttachmentReader } from '../domain/ports/reading.ts';
import type { Connection } from './connection.ts';
import { attachmentsOf } from './details.ts';

/** Opens the files of messages: only from beneath the Attachments folder beside chat.db (section H). */
export class AttachmentFiles implements AttachmentReader {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async open(rowId: number, n: number): Promise<AttachmentFile | undefined> {
    const attachment = this.#connection.read((edition) => attachmentsOf(edition, rowId)[n]);
    if (attachment === undefined) return undefined;
    const handle = await this.#open(attachment.path);
    if (handle === undefined) return undefined;
    const { size } = await handle.stat();
    return {
      name: attachment.name,
      mimeType: attachment.mime_type,
      bytes: size,
      read: (start, end) => handle.createReadStream({ start, end: Math.max(start, end) }),
      close: () => handle.close(),
    };
  }

  /** undefined for what is not there, no regular file, or lies elsewhere. */
  async #open(path: string): Promise<FileHandle | undefined> {
    try {
      const folder = await realpath(join(dirname(this.#connection.path), 'Attachments'));
      const real = await realpath(path);
      if (!real.startsWith(folder + sep)) return undefined;
      const file = await stat(real);
      // Closing chat.db would drop SQLite's locks on it (B1), and a hard link to it may lie anywhere.
      if (!file.isFile() || (await this.#isDatabase(file))) return undefined;
      return await open(real, 'r');
    } catch {
      return undefined;
    }
  }

  async #isDatabase({ dev, ino }: { readonly dev: number; readonly ino: number }): Promise<boolean> {
    for (const ending of ['', '-wal', '-shm']) {
      const own = await stat(this.#connection.filePath + ending).catch(() => undefined);
      if (own?.dev === dev && own.ino === ino) return true;
    }
    return false;
  }
}
