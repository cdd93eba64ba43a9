import type { IncomingMessage } from 'node:http';
import { AppError, isAppError } from '../model/errors.ts';
import { problem } from '../model/problems.ts';

/** Maximum size of a JSON body (decision E2). */
const MAX_BYTES = 1024 * 1024;
/** Maximum size of a body at an endpoint that needs no key. */
export const MAX_FORM_BYTES = 64 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the JSON in a request. Throws an AppError if the body is missing, of another type, too large, incomplete or
 * malformed.
 */
export async function readJson(request: IncomingMessage, limit = MAX_BYTES): Promise<unknown> {
  checkMediaType(request);
  const bytes = await readBytes(request, limit);
  if (bytes.length === 0) throw problem('missing_body');
  return parse(decode(bytes));
}

/** Reads the fields of a form. Throws like `readJson`. */
export async function readUrlEncoded(request: IncomingMessage): Promise<URLSearchParams> {
  const { 'content-type': type = '' } = request.headers;
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    const message = 'The body must be a form, with the header Content-Type: application/x-www-form-urlencoded.';
    throw new AppError('unsupported_media_type', message, { status: 415 });
  }
  return new URLSearchParams(decode(await readBytes(request, MAX_FORM_BYTES)));
}

function checkMediaType({ headers }: IncomingMessage): void {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = headers;
  if ((type === undefined || isJsonInUtf8(type)) && encoding === 'identity') return;
  throw problem('unsupported_media_type', {}, { headers: { Accept: 'application/json' } });
}

/** Reports whether a Content-Type is JSON in UTF-8. Parameters other than the charset mean nothing (RFC 8259, 11). */
function isJsonInUtf8(type: string): boolean {
  const [name = '', ...parameters] = type.split(';');
  const charsets = parameters.filter((parameter) => /^\s*charset\s*=/i.test(parameter));
  return (
    /^\s*application\/(?:[\w.-]+\+)?json\s*$/i.test(name) &&
    charsets.every((charset) => /=\s*"?utf-?8"?\s*$/i.test(charset))
  );
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = Number(request.headers['content-length'] ?? 0);
  try {
    if (bytes > limit) throw tooLarge(limit);
    bytes = 0;
    // The connection must outlive the body.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > limit) throw tooLarge(limit);
    }
    return Buffer.concat(chunks, bytes);
  } catch (error) {
    // Discards the rest of the body. Closing a connection with unread input resets it, so the client might lose the
    // answer.
    request.resume();
    throw isAppError(error) ? error : problem('incomplete_body', {}, { cause: error });
  }
}

function tooLarge(limit: number): AppError {
  return problem('body_too_large', { limit: limit === MAX_BYTES ? '1 MiB' : `${limit / 1024} KiB` });
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw problem('invalid_utf8', {}, { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The message of `JSON.parse` quotes the body, which must not get into a log or an answer. Takes only the position
    // from that message.
    const position = /position (\d+)/.exec(String(cause))?.[1];
    const where = position === undefined ? '' : ` at position ${position}`;
    throw problem('invalid_json', { where }, { cause });
  }
}
