import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { type AppError, isAppError } from '../model/errors.ts';
import type { IncomingFile } from '../model/ports/uploads-ports.ts';
import { problem } from '../model/problems.ts';

/** Limits of one form. No form for an upload or a send needs this much. */
const LIMITS = {
  fieldNameSize: 100,
  fieldSize: 1024 * 1024,
  fields: 40,
  files: 10,
  parts: 50,
  headerPairs: 20,
  headerSize: 16 * 1024,
};

export interface Form<File> {
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The stored files, including those stored before a failure. */
  readonly files: readonly File[];
  /** Why the form could not be read. */
  readonly failure?: AppError;
}

/**
 * Reads a `multipart/form-data` body. Keeps fields in memory, and passes each file to `keep` as it arrives. Returns a
 * failure instead of throwing it, so that the caller can remove the stored files.
 */
export async function readForm<File>(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Uint8Array>,
  keep: (file: IncomingFile) => Promise<File>,
): Promise<Form<File>> {
  const reading = new FormReading(headers, keep);
  try {
    await reading.read(body);
  } catch (error) {
    reading.fail(error);
  }
  return reading.result();
}

class FormReading<File> {
  readonly #headers: IncomingHttpHeaders;
  readonly #keep: (file: IncomingFile) => Promise<File>;
  readonly #fields: (readonly [string, string])[] = [];
  readonly #streams: BusboyFileStream[] = [];
  readonly #keeping: Promise<readonly File[]>[] = [];
  readonly #failed = new AbortController();
  #failure: AppError | undefined;

  constructor(headers: IncomingHttpHeaders, keep: (file: IncomingFile) => Promise<File>) {
    this.#headers = headers;
    this.#keep = keep;
  }

  async read(body: AsyncIterable<Uint8Array>): Promise<void> {
    const { signal } = this.#failed;
    const parser = this.#parser();
    const finished = once(parser, 'finish', { signal });
    finished.catch(() => {});
    for await (const chunk of body) {
      if (signal.aborted) return;
      if (!parser.write(chunk)) await once(parser, 'drain', { signal });
    }
    parser.end();
    await finished;
  }

  /** Keeps only the first failure, because later ones are its consequences. */
  fail(error: unknown): void {
    if (this.#failed.signal.aborted) return;
    this.#failure = isAppError(error) ? error : problem('invalid_form', {}, { cause: error });
    this.#failed.abort();
    for (const stream of this.#streams) stream.destroy(new Error('the form failed'));
  }

  async result(): Promise<Form<File>> {
    const files = (await Promise.all(this.#keeping)).flat();
    const failure = this.#failure;
    return { fields: this.#fields, files, ...(failure !== undefined && { failure }) };
  }

  #parser(): BusboyInstance {
    const type = this.#headers['content-type'] ?? '';
    const parser = new Busboy({ headers: { 'content-type': type }, limits: LIMITS });
    const tooMany = (): void => this.fail(problem('form_too_large'));
    parser.on('error', (error) => this.fail(error));
    parser.on('partsLimit', tooMany).on('filesLimit', tooMany).on('fieldsLimit', tooMany);
    parser.on('field', (name, value, isNameCut, isCut) => {
      if (isNameCut || isCut) this.fail(problem('body_too_large', { limit: '1 MiB' }));
      else this.#fields.push([name ?? '', value]);
    });
    parser.on('file', (_field, content, name, _encoding, mimeType) => {
      this.#streams.push(content);
      // Without a listener, an error before `keep` reads the content would end the process.
      content.on('error', () => {});
      this.#keeping.push(this.#kept({ name: name ?? '', mimeType, content }));
    });
    return parser;
  }

  async #kept(file: IncomingFile): Promise<readonly File[]> {
    try {
      return [await this.#keep(file)];
    } catch (error) {
      this.fail(error);
      return [];
    }
  }
}
