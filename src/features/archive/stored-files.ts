import { createHash, hash } from 'node:crypto';
import { lstatSync, utimesSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import type { AttachmentDetails } from '../../core/model/details.ts';
import { errorCode, isAppError } from '../../core/model/errors.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import type { Message } from '../../core/model/message.ts';
import type { AttachmentFile, AttachmentReader, ConvertedForm } from '../../core/model/ports/reading-ports.ts';
import { explained } from './archive-errors.ts';
import { FILES, storedPath } from './archive-layout.ts';
import { type ArchivedFile, type ArchivedLine, isStored, type StoredFile } from './archived-line.ts';
import { Draft, makeFolderOf, syncFile } from './private-files.ts';

/** Extensions that stored files may have. Opening a file with one of these executes nothing. */
const EXTENSIONS: ReadonlySet<string> = new Set([
  ...['jpg', 'jpeg', 'png', 'gif', 'heic', 'heif', 'webp', 'tif', 'tiff', 'bmp'],
  ...['m4a', 'mp3', 'caf', 'amr', 'wav', 'aif', 'aiff', 'aac'],
  ...['mov', 'mp4', 'm4v', '3gp'],
  ...['pdf', 'vcf', 'txt', 'tar'],
]);
/** The extensions of files whose name has none. Key: the MIME type. */
const BY_TYPE: Readonly<Record<string, string>> = lookupTable({
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/gif': 'gif',
  'image/heic': 'heic',
  'image/webp': 'webp',
  'image/tiff': 'tiff',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/x-caf': 'caf',
  'audio/amr': 'amr',
  'video/quicktime': 'mov',
  'video/mp4': 'mp4',
  'application/pdf': 'pdf',
  'text/vcard': 'vcf',
});
/**
 * Formats that some browsers cannot show or play. Key: the file's extension. Value: the form to which such a file is
 * converted.
 */
const CONVERTED: Readonly<Record<string, ConvertedForm>> = lookupTable({
  ...Object.fromEntries(['heic', 'heif', 'tif', 'tiff'].map((name) => [name, { as: 'jpeg', max: undefined }] as const)),
  ...Object.fromEntries(['caf', 'amr', 'aif', 'aiff'].map((name) => [name, { as: 'm4a' }] as const)),
});

/** `none` copies no file. `copy` copies each file. `convert` also stores a form that every browser can show or play. */
export type AttachmentMode = 'none' | 'copy' | 'convert';

export interface StoredFilesParts {
  readonly folder: string;
  readonly mode: AttachmentMode;
  readonly files: AttachmentReader;
  /** Called with the size of each file whose content was not in the archive before. */
  readonly onStored: (bytes: number) => void;
  /** Called for each file that could not be converted. */
  readonly onNotConverted: () => void;
}

/** Returns the extension under which a file is stored: one of a fixed list, else `bin`. */
export function storedExtension({ name, mime_type: type }: Pick<AttachmentDetails, 'name' | 'mime_type'>): string {
  const own = extname(name).slice(1).toLowerCase();
  if (own === '') return BY_TYPE[type ?? ''] ?? 'bin';
  return EXTENSIONS.has(own) ? own : 'bin';
}

/**
 * Returns the record of a stored attachment in the message's previous line, with the attachment's present number. The
 * number may have changed since: archives of earlier versions did not count attachments without a path.
 */
function storedBefore(before: ArchivedLine, { guid }: AttachmentDetails, n: number): StoredFile | undefined {
  const known = (before.message?.details?.attachments ?? []).map((one, at) => ({ guid: one.guid, n: one.n ?? at }));
  const same =
    known.find((one) => guid !== undefined && one.guid === guid) ??
    known.find((one) => one.n === n && (one.guid === undefined || guid === undefined));
  const file = before.files?.filter(isStored).find((one) => one.n === same?.n);
  return file && { ...file, n };
}

/** Copies attachments into an archive, each content only once, under its SHA-256. */
export class StoredFiles {
  readonly #parts: StoredFilesParts;

  constructor(parts: StoredFilesParts) {
    this.#parts = parts;
  }

  /**
   * Returns one record for each attachment. If `before`, the message's previous line, says that the file of the same
   * attachment is stored, does not copy the file again.
   */
  async store(message: Message, before?: ArchivedLine): Promise<readonly ArchivedFile[]> {
    const stored: ArchivedFile[] = [];
    for (const [index, attachment] of (message.details?.attachments ?? []).entries()) {
      const n = attachment.n ?? index;
      const earlier = before && storedBefore(before, attachment, n);
      stored.push(earlier ?? (await this.#storeOne(message, n, attachment)));
    }
    return stored;
  }

  /**
   * Copies an attachment again, because its stored file `path` is missing. Returns false if the attachment is gone or
   * its content has changed.
   */
  async restore(message: Message, wanted: number, path: string): Promise<boolean> {
    const found = message.details?.attachments.find(({ n }, index) => (n ?? index) === wanted);
    if (found === undefined || this.#parts.mode === 'none') return false;
    const extension = storedExtension(found);
    const form = path.endsWith(`.${extension}`) ? undefined : CONVERTED[extension];
    const copied =
      form === undefined
        ? await this.#copied(message, extension, () => this.#parts.files.open(message.id, wanted), path)
        : await this.#converted(message, wanted, form, path);
    return typeof copied === 'object';
  }

  async #storeOne(message: Message, n: number, attachment: AttachmentDetails): Promise<ArchivedFile> {
    const { mode, files } = this.#parts;
    if (mode === 'none') return { n, missing: 'not_asked' };
    const extension = storedExtension(attachment);
    const original = await this.#copied(message, extension, () => files.open(message.id, n));
    if (original === 'absent') {
      return { n, missing: attachment.state === 'available' ? 'not_readable' : attachment.state };
    }
    if (original === 'changed') return { n, missing: 'changed' };
    const form = mode === 'convert' ? CONVERTED[extension] : undefined;
    if (form === undefined) return { n, ...original };
    const converted = await this.#converted(message, n, form);
    return { n, ...original, ...(converted !== undefined && { converted }) };
  }

  /** Stores a converted copy. Returns undefined if there is no converter, or if the converter refuses the file. */
  async #converted(message: Message, n: number, form: ConvertedForm, only?: string) {
    try {
      const extension = form.as === 'jpeg' ? 'jpg' : 'm4a';
      const made = await this.#copied(message, extension, () => this.#parts.files.open(message.id, n, form), only);
      return made === 'absent' || made === 'changed' ? undefined : made;
    } catch (error) {
      if (!isAppError(error) || error.code.startsWith('archive_')) throw error;
      this.#parts.onNotConverted();
      return undefined;
    }
  }

  /**
   * Calls `open`, and copies the opened file into the archive. The path of a copy contains its SHA-256. If `only` is
   * set and differs from that path, stores nothing and resolves to `changed`.
   */
  async #copied(
    message: Message,
    extension: string,
    open: () => Promise<AttachmentFile | undefined>,
    only?: string,
  ): Promise<Omit<StoredFile, 'n'> | 'absent' | 'changed'> {
    const { folder, onStored } = this.#parts;
    const file = await open();
    if (file === undefined) return 'absent';
    makeFolderOf(folder, `${FILES}/incoming`);
    const draft = new Draft(join(folder, FILES, 'incoming'));
    try {
      const sha256 = file.bytes === 0 ? hash('sha256', '', 'hex') : await copy(file, draft, folder);
      if (sha256 === undefined) return 'changed';
      const path = storedPath(sha256, extension);
      if (only !== undefined && path !== only) return 'changed';
      const target = join(folder, path);
      // Never replaces an existing file. If that file was damaged, a verification reports it.
      if (lstatSync(target, { throwIfNoEntry: false }) === undefined) {
        makeFolderOf(folder, path);
        draft.keep(target);
        await syncFile(dirname(target));
        setTime(target, message.timestamp);
        onStored(file.bytes);
      }
      return { sha256, file: path, bytes: file.bytes };
    } finally {
      draft.discard();
      await file.close().catch(() => {});
    }
  }
}

/**
 * Copies `file` to the draft. Returns the SHA-256 of the copy; undefined if the copy differs in length from the file,
 * or if the file can no longer be read.
 */
async function copy(file: AttachmentFile, draft: Draft, folder: string): Promise<string | undefined> {
  const sum = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of file.read(0, file.bytes - 1)) {
      sum.update(chunk);
      bytes += chunk.length;
      write(draft, chunk, folder);
    }
  } catch (error) {
    if (isAppError(error)) throw error;
    // Reading failed, for example because the file or its disk is gone.
    if (/^E[A-Z]+$/.test(errorCode(error) ?? '')) return undefined;
    throw error;
  }
  return bytes === file.bytes ? sum.digest('hex') : undefined;
}

/**
 * Writes a chunk to the draft. Throws only AppErrors about the archive, so that `copy` does not mistake a failed write
 * for a failed read.
 */
function write(draft: Draft, chunk: Uint8Array, folder: string): void {
  try {
    draft.write(chunk);
  } catch (error) {
    const cause = explained(error, folder);
    throw isAppError(cause) ? cause : explained(Object.assign(new Error(), { code: 'EIO', cause }), folder);
  }
}

function setTime(path: string, timestamp: string): void {
  const seconds = Date.parse(timestamp) / 1000;
  try {
    utimesSync(path, seconds, seconds);
  } catch {
    // The disk does not keep such dates.
  }
}
