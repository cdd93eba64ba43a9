import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { extname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AttachmentDetails, AttachmentForm, Message, PosternClient } from '../../client/postern-client.ts';
import { DAY_MS } from '../../core/model/durations.ts';
import { utiOf } from '../../core/model/media-types.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { MediaCache } from '../media/port.ts';
import type { ImsgAttachment } from './imsg-message.ts';

/** How long a file is kept for the client after its last use. */
const KEPT_MS = 7 * DAY_MS;
const MAX_FILE_BYTES = 100_000_000;
const EXTENSION = /^\.[a-z\d]{1,8}$/i;

export interface ImsgFilesParts {
  readonly client: PosternClient;
  readonly folder: string;
  /** The service's address. It is part of the hash that names a file, because two services must not share a file. */
  readonly address: string;
  readonly clock: Clock;
  readonly warn: (sentence: string) => void;
}

/**
 * Downloads messages' files into a folder that the client may read. Keeps at most 500 MB there, and each file until 7
 * days after its last use (decision Y1).
 */
export class ImsgFiles {
  readonly #parts: ImsgFilesParts;
  readonly #cache: MediaCache;

  constructor(parts: ImsgFilesParts) {
    this.#parts = parts;
    this.#cache = new MediaCache(parts.folder, parts.clock, KEPT_MS);
  }

  /** Returns the attachments of a message. An attachment that cannot be downloaded has no path and is `missing`. */
  async of(message: Message, isConverted: boolean): Promise<readonly ImsgAttachment[]> {
    const made: ImsgAttachment[] = [];
    for (const [index, attachment] of (message.details?.attachments ?? []).entries()) {
      const form = isConverted ? formFor(attachment.mime_type) : {};
      const path = await this.#fetched(message, attachment, attachment.n ?? index, form);
      const type = form.as === 'jpeg' ? 'image/jpeg' : form.as === 'm4a' ? 'audio/mp4' : attachment.mime_type;
      made.push({
        original_path: path ?? null,
        path: path ?? null,
        filename: attachment.name,
        transfer_name: attachment.name,
        mime_type: type,
        uti: utiOf(type),
        byte_size: attachment.bytes,
        is_sticker: attachment.sticker !== undefined,
        missing: path === undefined,
      });
    }
    return made;
  }

  async #fetched(
    { id, guid }: Message,
    { name, bytes, state }: AttachmentDetails,
    n: number,
    form: AttachmentForm,
  ): Promise<string | undefined> {
    const { client, folder, address, warn } = this.#parts;
    if (state !== 'available' || (bytes ?? 0) > MAX_FILE_BYTES) return undefined;
    const given = form.as === 'jpeg' ? '.jpg' : form.as === 'm4a' ? '.m4a' : extname(name);
    // Somebody else chose the name, so only a plain extension is taken from it.
    const extension = EXTENSION.test(given) ? given.toLowerCase() : '';
    const file = createHash('sha256')
      .update(JSON.stringify([address, guid, n, bytes, form]))
      .digest('hex');
    const kept = `${file.slice(0, 32)}${extension}`;
    const path = join(folder, kept);
    try {
      const known = await this.#cache.open(kept);
      await known?.handle.close();
      if (known !== undefined) return path;
      const { content } = await client.attachments.get(id, n, form);
      await this.#cache.within(randomUUID(), async (work) => {
        const partial = join(work, kept);
        const target = createWriteStream(partial, { flags: 'wx', mode: 0o600 });
        await pipeline(Readable.from(content), atMost(MAX_FILE_BYTES), target);
        await this.#cache.keep(partial, kept);
      });
      return path;
    } catch (error) {
      warn(`A file of message ${id} could not be fetched: ${(error as Error).message}`);
      return undefined;
    }
  }
}

function formFor(type: string | null): AttachmentForm {
  if (/^image\/hei[cf]/.test(type ?? '')) return { as: 'jpeg' };
  return /^audio\/(?:x-)?(?:caf|amr)/.test(type ?? '') ? { as: 'm4a' } : {};
}

function atMost(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new Error(`it has more than ${maxBytes} bytes`));
      else done(null, chunk);
    },
  });
}
