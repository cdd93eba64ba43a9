import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { type AppError, isAppError } from '../../model/errors.ts';
import type { IncomingFile } from '../../model/ports/uploads-ports.ts';
import { problem } from '../../model/problems.ts';
import { dispositionParameters, fileNameIn, inCharset } from './disposition.ts';

/** Limits of one form. No form for an upload or a send needs this much. */
const LIMITS = { fieldNameLength: 100, fieldBytes: 1024 * 1024, fields: 40, files: 10, parts: 50 };
const HEADER_LIMITS = { maxHeaderPairs: 20, maxHeaderSize: 16 * 1024 };
const IS_FORM_DATA = /^\s*form-data\s*(?:;|$)/i;

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
  readonly #fields: Promise<readonly (readonly [string, string])[]>[] = [];
  readonly #files: Promise<readonly File[]>[] = [];
  readonly #parts: Readable[] = [];
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
      // Ignores everything after the last boundary.
      const isTaken = !parser.writable || parser.write(chunk);
      if (!isTaken) await Promise.race([once(parser, 'drain', { signal }), finished]);
    }
    parser.end();
    await finished;
  }

  /** Keeps only the first failure, because later ones are its consequences. */
  fail(error: unknown): void {
    if (this.#failed.signal.aborted) return;
    this.#failure = isAppError(error) ? error : problem('invalid_form', {}, { cause: error });
    this.#failed.abort();
    for (const part of this.#parts) part.destroy(new Error('the form failed'));
  }

  async result(): Promise<Form<File>> {
    const files = (await Promise.all(this.#files)).flat();
    const fields = (await Promise.all(this.#fields)).flat();
    const failure = this.#failure;
    return { fields, files, ...(failure !== undefined && { failure }) };
  }

  /** Returns a parser that splits the body into parts. It passes on their headers as they are. */
  #parser(): Dicer {
    const boundary = dispositionParameters(this.#headers['content-type'] ?? '').get('boundary');
    if (boundary === undefined || boundary === '') throw problem('invalid_form');
    const parser = new Dicer({ boundary, ...HEADER_LIMITS });
    parser.on('error', (error) => this.fail(error));
    parser.on('part', (part) => {
      // Without a listener, an error before the part is read would end the process.
      part.on('error', () => {});
      this.#parts.push(part);
      if (this.#parts.length > LIMITS.parts) this.fail(problem('form_too_large'));
      part.on('header', (header) => this.#take(part, header as PartHeader));
    });
    return parser;
  }

  #take(part: Readable, header: PartHeader): void {
    const [disposition = ''] = header['content-disposition'] ?? [];
    const [type = ''] = header['content-type'] ?? [];
    const mimeType = type.split(';', 1)[0]?.trim().toLowerCase() || 'text/plain';
    const fileName = fileNameIn(disposition);
    const isFile = fileName !== undefined || mimeType === 'application/octet-stream';
    if (this.#failed.signal.aborted || !IS_FORM_DATA.test(disposition)) {
      part.resume();
    } else if ((isFile ? this.#files : this.#fields).length === (isFile ? LIMITS.files : LIMITS.fields)) {
      this.fail(problem('form_too_large'));
    } else if (isFile) {
      this.#files.push(this.#read(this.#keep({ name: fileName ?? '', mimeType, content: part })));
    } else {
      const name = dispositionParameters(disposition).get('name') ?? '';
      this.#fields.push(this.#read(fieldOf(part, name, dispositionParameters(type).get('charset'))));
    }
  }

  async #read<Item>(item: Promise<Item>): Promise<readonly Item[]> {
    try {
      return [await item];
    } catch (error) {
      this.fail(error);
      return [];
    }
  }
}

/** Key: the name of a header in lower case. Value: its values, in Latin-1. */
type PartHeader = Readonly<Record<string, readonly string[] | undefined>>;

async function fieldOf(part: Readable, name: string, charset = 'utf-8'): Promise<readonly [string, string]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of part as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= LIMITS.fieldBytes) chunks.push(chunk);
  }
  if (bytes > LIMITS.fieldBytes || name.length > LIMITS.fieldNameLength) {
    throw problem('body_too_large', { limit: '1 MiB' });
  }
  const value = Buffer.concat(chunks);
  return [name, inCharset(charset, value) ?? value.toString('utf8')];
}
