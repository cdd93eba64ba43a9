import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DAY_MS } from '../model/durations.ts';
import { errorCode, isAppError } from '../model/errors.ts';
import { safeFileName } from '../model/file-name.ts';
import { isoSecond } from '../model/iso-second.ts';
import type { KeptFile } from '../model/kept-file.ts';
import { mediaType } from '../model/media-types.ts';
import { OWNER } from '../model/owner.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { IncomingFile, UploadedFile, Uploads } from '../model/ports/uploads-ports.ts';
import { problem } from '../model/problems.ts';
import { MAX_ATTACHMENT_BYTES, type StoredBytes, type Upload } from '../model/upload.ts';

// Limits of uploads (decision R1).
const KEPT_MS = DAY_MS;
/** Maximum total size of all uploads and of the files of all held and deferred sends. */
const MAX_STORED_BYTES = 1_000_000_000;
const MAX_FILES = 1000;
/** Maximum number of concurrent uploads per key. */
const MAX_ARRIVING = 10;
/** Number of sent files whose records are kept, so that repeated sends are recognised. The oldest are removed first. */
const MAX_GONE = 2000;
/** Share of `MAX_STORED_BYTES` and `MAX_FILES` that all limited keys together may use. */
const LIMITED_SHARE = 0.5;

export interface UploadStoreParts {
  /** A folder that only this service uses. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the sizes of the files of held and deferred sends. */
  readonly keptBytes: () => readonly StoredBytes[];
}

interface ArrivingUpload extends StoredBytes {
  bytes: number;
}

/**
 * Stores uploaded files, each in a separate folder, so that they keep their names. A record is written once its file is
 * complete; `start` removes files without a record.
 */
export class UploadStore {
  readonly #parts: UploadStoreParts;
  readonly #records = new Map<string, UploadRecord>();
  readonly #arriving = new Set<ArrivingUpload>();
  #cancel: Cancel | undefined;
  #isClosed = false;

  constructor(parts: UploadStoreParts) {
    this.#parts = parts;
  }

  /** Adopts an earlier process's uploads, and removes unfinished ones. */
  async start(): Promise<void> {
    const { folder } = this.#parts;
    const names = new Set(await readdir(folder).catch(() => []));
    for (const name of names) {
      if (!name.endsWith('.json')) continue;
      const record = await readRecord(join(folder, name));
      if (record !== undefined && recordPath(folder, record.id) === join(folder, name)) {
        this.#records.set(record.id, { ...record, isGone: record.isGone || !names.has(record.id) });
      } else await this.#remove(join(folder, name));
    }
    for (const name of names) {
      const record = this.#records.get(name);
      if (!name.endsWith('.json') && (record === undefined || record.isGone)) await this.#remove(join(folder, name));
    }
    await this.#expire();
  }

  /** Stops expiring uploads. The remaining ones expire after the next start. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  /** Total size in bytes of all stored uploads, including those still arriving. */
  get bytes(): number {
    return total(this.#stored());
  }

  /**
   * Returns how many bytes the key may still store. Does not count these `uploads`, because copies are about to replace
   * them.
   */
  left(keyId: string, uploads: readonly UploadedFile[] = []): number {
    const all = [...this.#stored(uploads), ...this.#parts.keptBytes()];
    return leftOf(MAX_STORED_BYTES, keyId, all, total);
  }

  /** Throws `storage_full` if these copies, of `uploads` or other files, take more than the key may still store. */
  assertFit(copies: readonly KeptFile[], keyId: string, uploads?: readonly UploadedFile[]): void {
    // Nothing is left while the room is exceeded, as for a moment after copies have replaced uploads.
    if (total(copies) > Math.max(0, this.left(keyId, uploads))) throw problem('storage_full');
  }

  of(keyId: string): Uploads {
    return {
      add: (file) => this.#add(keyId, file),
      files: (ids) => this.#files(keyId, ids),
      rename: (id, name) => this.#rename(keyId, id, safeFileName(name)),
      discard: (ids) => this.#discard(this.#ownAmong(keyId, ids)),
      remove: async (ids) => {
        for (const { id } of this.#ownAmong(keyId, ids)) await this.#forget(id);
      },
    };
  }

  /** Removes the uploads of a revoked key. */
  async removeOf(keyId: string): Promise<void> {
    for (const { id } of [...this.#records.values()].filter((record) => record.keyId === keyId)) await this.#forget(id);
  }

  async #add(keyId: string, { name: given, mimeType, content }: IncomingFile): Promise<Upload> {
    const { folder, clock } = this.#parts;
    if ([...this.#arriving].filter((one) => one.keyId === keyId).length >= MAX_ARRIVING) {
      throw problem('too_many_uploads', { max: MAX_ARRIVING }, { headers: { 'Retry-After': '10' } });
    }
    const id = randomUUID();
    const name = safeFileName(given);
    const taken: ArrivingUpload = { keyId, bytes: 0 };
    this.#arriving.add(taken);
    try {
      this.#assertRoom(keyId);
      await mkdir(join(folder, id), { recursive: true, mode: 0o700 });
      const sha256 = await this.#receive(join(folder, id, name), content, taken);
      const type = mediaType(mimeType);
      const expiresMs = clock.now() + KEPT_MS;
      const record = { id, keyId, name, mimeType: type, bytes: taken.bytes, sha256, expiresMs, isGone: false };
      await writeRecord(folder, record);
      this.#records.set(id, record);
      this.#schedule();
      return { id, name, mime_type: type, bytes: taken.bytes, expires_at: isoSecond(expiresMs) };
    } catch (error) {
      await this.#forget(id);
      if (!isAppError(error) && ['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '')) {
        throw problem('storage_full', {}, { cause: error });
      }
      throw error;
    } finally {
      this.#arriving.delete(taken);
    }
  }

  /**
   * Writes the content as it arrives. Returns its SHA-256 in hexadecimal. Throws `upload_too_large` or
   * `storage_full`.
   */
  async #receive(path: string, content: AsyncIterable<Uint8Array>, taken: ArrivingUpload): Promise<string> {
    const hash = createHash('sha256');
    // The folder is new, so the path cannot be an existing file or a link.
    const file: FileHandle = await open(path, 'wx', 0o600);
    try {
      for await (const chunk of content) {
        taken.bytes += chunk.byteLength;
        if (taken.bytes > MAX_ATTACHMENT_BYTES) throw problem('upload_too_large');
        this.#assertRoom(taken.keyId);
        hash.update(chunk);
        await file.appendFile(chunk);
      }
    } finally {
      await file.close();
    }
    return hash.digest('hex');
  }

  #assertRoom(keyId: string): void {
    const filesLeft = leftOf(MAX_FILES, keyId, this.#stored(), (files) => files.length);
    if (this.left(keyId) < 0 || filesLeft < 0) throw problem('storage_full');
  }

  /** Returns all stored and arriving uploads but these. */
  #stored(uploads: readonly UploadedFile[] = []): readonly StoredBytes[] {
    const ids = new Set(uploads.map(({ id }) => id));
    return [...[...this.#records.values()].filter(({ id, isGone }) => !isGone && !ids.has(id)), ...this.#arriving];
  }

  #files(keyId: string, ids: readonly string[]): readonly UploadedFile[] {
    const found = ids.map((id) => this.#own(keyId, id));
    const mistakes = found.flatMap((record, index) =>
      record === undefined
        ? [{ pointer: `/attachment_ids/${index}`, message: 'There is no upload with this id.' }]
        : [],
    );
    if (mistakes.length > 0) throw problem('upload_not_found', {}, { mistakes });
    return found.flatMap((record) => (record === undefined ? [] : [uploadedFile(this.#parts.folder, record)]));
  }

  async #rename(keyId: string, id: string, name: string): Promise<UploadedFile> {
    const { folder } = this.#parts;
    const record = this.#own(keyId, id);
    if (record === undefined) throw problem('upload_not_found');
    await rename(join(folder, id, record.name), join(folder, id, name));
    const renamed = { ...record, name };
    await writeRecord(folder, renamed);
    this.#records.set(id, renamed);
    return uploadedFile(folder, renamed);
  }

  #own(keyId: string, id: string): UploadRecord | undefined {
    const record = this.#records.get(id);
    return record?.keyId === keyId && record.expiresMs > this.#parts.clock.now() ? record : undefined;
  }

  #ownAmong(keyId: string, ids: readonly string[]): readonly UploadRecord[] {
    return ids.flatMap((id) => this.#own(keyId, id) ?? []);
  }

  async #discard(records: readonly UploadRecord[]): Promise<void> {
    const { folder, clock } = this.#parts;
    for (const record of records) {
      if (record.isGone) continue;
      const gone = { ...record, isGone: true, expiresMs: clock.now() + KEPT_MS };
      // Moves the record to the end of the map, because the record of the file that was sent earliest is removed first.
      this.#records.delete(record.id);
      this.#records.set(record.id, gone);
      await writeRecord(folder, gone).catch((error: unknown) => this.#warn(error));
      await this.#remove(join(folder, record.id));
    }
    const old = [...this.#records.values()].filter(({ isGone }) => isGone).slice(0, -MAX_GONE);
    for (const { id } of old) await this.#forget(id);
  }

  async #expire(): Promise<void> {
    const nowMs = this.#parts.clock.now();
    const due = [...this.#records.values()].filter(
      ({ expiresMs }) => expiresMs <= nowMs || expiresMs > nowMs + KEPT_MS,
    );
    for (const { id } of due) await this.#forget(id);
    this.#schedule();
  }

  #schedule(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#isClosed || this.#records.size === 0) return;
    const { clock } = this.#parts;
    const dueMs = [...this.#records.values()].reduce(
      (soonest, { expiresMs }) => Math.min(soonest, expiresMs),
      Infinity,
    );
    this.#cancel = clock.after(Math.max(dueMs - clock.now(), 0), () => void this.#expire());
  }

  async #forget(id: string): Promise<void> {
    this.#records.delete(id);
    const { folder } = this.#parts;
    await this.#remove(join(folder, id));
    await removeRecord(folder, id).catch((error: unknown) => this.#warn(error));
  }

  async #remove(path: string): Promise<void> {
    await rm(path, { recursive: true, force: true }).catch((error: unknown) => this.#warn(error));
  }

  #warn(error: unknown): void {
    this.#parts.log.warn('could not remove an upload, or record it as sent', { code: errorCode(error) });
  }
}

/** The record of an upload, stored in a file beside the upload's folder. */
interface UploadRecord {
  readonly id: string;
  readonly keyId: string;
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly expiresMs: number;
  readonly isGone: boolean;
}

function uploadedFile(folder: string, { id, name, bytes, sha256, isGone }: UploadRecord): UploadedFile {
  return { id, name, bytes, sha256, isGone, path: join(folder, id, name) };
}

function total(files: readonly { readonly bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Returns what is left of `max` for a key: of all of it, and for a limited key also of the share of limited keys. */
function leftOf(
  max: number,
  keyId: string,
  files: readonly StoredBytes[],
  amount: (files: readonly StoredBytes[]) => number,
): number {
  const left = max - amount(files);
  const ofLimited = files.filter((file) => file.keyId !== OWNER);
  return keyId === OWNER ? left : Math.min(left, max * LIMITED_SHARE - amount(ofLimited));
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function recordPath(folder: string, id: string): string {
  return join(folder, `${id}.json`);
}

/** Writes a record atomically. */
async function writeRecord(folder: string, record: UploadRecord): Promise<void> {
  const path = recordPath(folder, record.id);
  await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function removeRecord(folder: string, id: string): Promise<void> {
  await rm(recordPath(folder, id), { force: true });
}

/** Returns undefined for anything that `writeRecord` did not write. */
async function readRecord(path: string): Promise<UploadRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(path, 'utf8')) as UploadRecord;
    const { id, keyId, name, mimeType, bytes, sha256, expiresMs, isGone } = record;
    const texts = [id, keyId, name, mimeType, sha256].every((text) => typeof text === 'string' && text !== '');
    const numbers = [bytes, expiresMs].every((value) => Number.isSafeInteger(value));
    return texts && numbers && typeof isGone === 'boolean' && ID.test(id) && !/[/\0]/.test(name) ? record : undefined;
  } catch {
    return undefined;
  }
}
