import type { AttachmentFile, AttachmentReader, ConvertedForm } from '../model/ports/reading-ports.ts';
import { problem } from '../model/problems.ts';
import type { AttachmentFiles } from './attachment-files.ts';

/** Opens the files of attachments. A feature may convert them; without it, only the originals are available. */
export class ConvertedFiles implements AttachmentReader {
  readonly originals: AttachmentFiles;
  #converter: AttachmentReader | undefined;

  constructor(originals: AttachmentFiles) {
    this.originals = originals;
  }

  /** Makes a feature open the files that are asked for in another form. */
  convertedBy(converter: AttachmentReader): void {
    this.#converter = converter;
  }

  async open(id: string, n: number, form?: ConvertedForm): Promise<AttachmentFile | undefined> {
    if (form === undefined) return this.originals.open(id, n);
    if (this.#converter === undefined) throw problem('conversion_unavailable');
    return this.#converter.open(id, n, form);
  }
}
