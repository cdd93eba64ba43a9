import type { Uploads } from '../../model/ports/uploads-ports.ts';
import { invalidRequest, problem } from '../../model/problems.ts';
import { MAX_ATTACHMENT_BYTES, type Upload } from '../../model/upload.ts';
import type { Exchange } from '../exchange.ts';
import { fileNameIn } from './disposition.ts';
import type { Form } from './multipart.ts';

/** Reads the one file of a request, which is its body or in a form, and stores it as an upload. */
export function readUpload(exchange: Exchange): Promise<Upload> {
  return isForm(exchange) ? oneOfForm(exchange) : raw(exchange);
}

/** Reports whether the body is a form, which may contain files. */
export function isForm(exchange: Exchange): boolean {
  return /^\s*multipart\/form-data\s*(?:;|$)/i.test(exchange.header('content-type') ?? '');
}

/** Reads a form and stores its files as uploads. On failure, throws the reason and leaves nothing behind. */
export async function readUploads(exchange: Exchange): Promise<Form<Upload>> {
  const { uploads } = exchange.caller;
  // Loads the form reader on first use, because most services never receive a form.
  const { readForm } = await import('./multipart.ts');
  const form = await readForm(exchange.request.headers, exchange.arrivingBody(), (file) => uploads.add(file));
  await removedOnFailure(uploads, form.files, () => {
    if (form.failure !== undefined) throw form.failure;
    exchange.caller.assertAlive?.();
  });
  return form;
}

async function oneOfForm(exchange: Exchange): Promise<Upload> {
  const { uploads } = exchange.caller;
  const { fields, files } = await readUploads(exchange);
  const [upload, second] = files;
  await removedOnFailure(uploads, files, () => {
    const message = 'The form must have one file, and nothing else.';
    if (upload === undefined || second !== undefined || fields.length > 0) {
      throw invalidRequest([{ pointer: '', message }]);
    }
  });
  return upload as Upload;
}

async function raw(exchange: Exchange): Promise<Upload> {
  const { uploads } = exchange.caller;
  if (Number(exchange.header('content-length') ?? 0) > MAX_ATTACHMENT_BYTES) throw problem('upload_too_large');
  const name = fileNameIn(exchange.header('content-disposition') ?? '');
  if (name === undefined || name === '') {
    const message =
      'The name of the file is missing. Send it in a header: `Content-Disposition: attachment; filename="photo.jpg"`.';
    throw invalidRequest([{ pointer: 'Content-Disposition', message }]);
  }
  const mimeType = exchange.header('content-type')?.split(';')[0]?.trim();
  const upload = await uploads.add({ name, mimeType, content: exchange.arrivingBody() });
  await removedOnFailure(uploads, [upload], () => exchange.caller.assertAlive?.());
  return upload;
}

async function removedOnFailure(uploads: Uploads, files: readonly Upload[], check: () => void): Promise<void> {
  try {
    check();
  } catch (error) {
    await uploads.remove(files.map(({ id }) => id));
    throw error;
  }
}
