import { splitId } from '../../../core/model/fleet.ts';
import type { AttachmentFile, AttachmentReader, ConvertedForm } from '../../../core/model/ports/reading-ports.ts';
import { problem } from '../../../core/model/problems.ts';
import { CHUNK_BYTES } from '../protocol/fleet-reads-schema.ts';
import type { MacReads } from './mac-reads.ts';

/** Reads attachments from their Macs, one chunk at a time. */
export class HubAttachments implements AttachmentReader {
  readonly #reads: MacReads;

  constructor(reads: MacReads) {
    this.#reads = reads;
  }

  async open(id: string, n: number, form?: ConvertedForm): Promise<AttachmentFile | undefined> {
    const of = splitId(id);
    if (of === undefined || !this.#reads.isKnown(of.mac)) return undefined;
    const found = await this.#reads.first(this.#reads.placesOf(of), async ({ mac, id: own }) => {
      const asked = { id: own, n, form };
      const file = await this.#reads.ask(mac, 'attachment', { ...asked, at: 0, bytes: 0 });
      return file && { mac, asked, file };
    });
    if (found === undefined) return undefined;
    // All chunks come from one Mac, because the two Macs of a pair may have different files.
    const { mac, asked } = found;
    const { name, mimeType, bytes, version } = found.file;
    const reads = this.#reads;
    return {
      name,
      mimeType,
      bytes,
      version,
      async *read(start, end) {
        for (let at = start; at <= end; ) {
          const wanted = Math.min(CHUNK_BYTES, end + 1 - at);
          const chunk = await reads.ask(mac, 'attachment', { ...asked, at, bytes: wanted });
          const data = Buffer.from(chunk?.data ?? '', 'base64');
          // The file was changed or removed, so the chunks sent so far do not belong to it.
          if (chunk?.version !== version || data.length !== wanted) throw problem('mac_answer_invalid');
          yield data;
          at += wanted;
        }
      },
      close: () => Promise.resolve(),
    };
  }
}
