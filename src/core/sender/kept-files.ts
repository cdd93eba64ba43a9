import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorCode, isAppError } from '../model/errors.ts';
import type { KeptFile } from '../model/kept-file.ts';
import type { Log } from '../model/ports/host-ports.ts';
import type { GivenFiles } from '../model/ports/sending-ports.ts';
import { invalidRequest, problem } from '../model/problems.ts';
import { type AttachmentRules, checkAttachments, copyChecked, KEPT_FILES } from './checked-attachments.ts';

export interface KeptCopiesParts {
  readonly rules: AttachmentRules;
  readonly log: Log;
}

/** Stores copies of the attachments of held and deferred sends, so that exactly these files are sent later. */
export class KeptCopies {
  readonly #parts: KeptCopiesParts;
  readonly #folder: string;
  /** Ids of the sends whose files were copied in this process. Their records may not be stored yet. */
  readonly #copied = new Set<string>();

  constructor(parts: KeptCopiesParts) {
    this.#parts = parts;
    this.#folder = join(parts.rules.configDir, KEPT_FILES);
  }

  /**
   * Copies the files of the held send `id`. Throws `invalid_request` if a file may not be sent, `storage_full` if the
   * copies exceed `maxBytes` in total, and `send_failed` if copying fails.
   */
  async copy(id: string, given: GivenFiles, maxBytes: number): Promise<readonly KeptFile[]> {
    const { mistakes, files } = await checkAttachments(given, this.#parts.rules);
    if (mistakes.length > 0) {
      throw invalidRequest(mistakes);
    }
    this.#copied.add(id);
    const kept: KeptFile[] = [];
    try {
      for (const [index, file] of files.entries()) {
        const left = maxBytes - kept.reduce((sum, { bytes }) => sum + bytes, 0);
        const { bytes, sha256, count } = counting(left);
        const copy = await copyChecked(file, this.#folderOf(id, index), count);
        kept.push({ name: basename(copy), bytes: bytes(), sha256: sha256() });
      }
      return kept;
    } catch (error) {
      await this.remove(id);
      throw isAppError(error) ? error : problem('attachment_not_copied', { reason: errorCode(error) ?? 'error' });
    }
  }

  /**
   * Returns the paths of the copies. Throws `attachment_changed` if a copy is missing or its hash differs from the one
   * in `files`.
   */
  async paths(id: string, files: readonly KeptFile[]): Promise<readonly string[]> {
    const paths = files.map(({ name }, index) => this.#pathOf(id, index, name));
    const hashes = await Promise.all(paths.map((path) => hashOf(path).catch(() => undefined)));
    if (hashes.every((found, index) => found === files[index]?.sha256)) return paths;
    throw problem('attachment_changed');
  }

  async remove(id: string): Promise<void> {
    this.#copied.delete(id);
    const folder = join(this.#folder, id);
    await rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
      this.#parts.log.warn('the copies of a send could not be removed', { folder, code: errorCode(error) });
    });
  }

  /** Removes the copies that an earlier process made for sends whose ids are not in `ids`. */
  async keepOnly(ids: ReadonlySet<string>): Promise<void> {
    const found = await readdir(this.#folder).catch(() => []);
    await Promise.all(found.filter((id) => !ids.has(id) && !this.#copied.has(id)).map((id) => this.remove(id)));
  }

  #folderOf(id: string, index: number): string {
    return join(this.#folder, id, String(index));
  }

  #pathOf(id: string, index: number, name: string): string {
    return join(this.#folderOf(id, index), name);
  }
}

/** Returns a stream that passes bytes on, counts and hashes them. It fails with `storage_full` after `maxBytes`. */
function counting(maxBytes: number) {
  const hash = createHash('sha256');
  let total = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      total += chunk.length;
      hash.update(chunk);
      if (total > maxBytes) done(problem('storage_full'));
      else done(null, chunk);
    },
  });
  return { count, bytes: () => total, sha256: () => hash.digest('hex') };
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
