import { nameWithinLimit } from '../../model/file-name.ts';
import { mediaType } from '../../model/media-types.ts';
import { problem } from '../../model/problems.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import type { Answer } from '../answer.ts';
import { isKnown, vary } from '../conditions.ts';
import type { Handler } from '../router.ts';
import { attachmentQuery, formOf } from './schema.ts';
import { readUpload } from './uploads.ts';

/** Time for which browsers may cache a file. Files of messages hardly ever change. */
const MAX_AGE_S = 3600;

/** The handlers that stream a message's file (decision H), and accept files to send (decision R1). */
export const HANDLERS = {
  // A browser saves the file and never shows it.
  async getAttachment(exchange): Promise<Answer> {
    const [id, n] = [exchange.param('id'), exchange.param('n')];
    const form = formOf(readQuery(attachmentQuery, exchange.query));
    const isIndex = /^\d{1,4}$/.test(n);
    const file = isIndex ? await exchange.caller.attachments.open(id, Number(n), form) : undefined;
    if (file === undefined) throw problem('attachment_not_found');
    const etag = `"${file.version}"`;
    const caching = {
      ETag: etag,
      'Cache-Control': `private, max-age=${MAX_AGE_S}`,
      // Without these names, a browser could use the answer cached for one API key to serve a request with another
      // key.
      Vary: vary(exchange, 'X-API-Key', 'Authorization'),
    };
    if (isKnown(exchange, etag)) {
      await file.close();
      return { status: 304, headers: caching };
    }
    // If `If-Range` names another version of the file than `etag`, sends the whole file (RFC 9110, 13.1.5). Only GET
    // has ranges (14.2).
    const isSame = [undefined, etag].includes(exchange.header('if-range'));
    const asked = isSame && exchange.method === 'GET' ? exchange.header('range') : undefined;
    const range = rangeOf(asked, file.bytes);
    if (range === 'unsatisfiable') {
      await file.close();
      const headers = { 'Content-Range': `bytes */${file.bytes}` };
      throw problem('range_not_satisfiable', { bytes: file.bytes }, { headers });
    }
    const { start, end } = range ?? { start: 0, end: file.bytes - 1 };
    return {
      status: range === undefined ? 200 : 206,
      stream: { bytes: end - start + 1, read: () => file.read(start, end), close: () => file.close() },
      headers: {
        ...caching,
        'Content-Type': mediaType(file.mimeType),
        'Content-Disposition': disposition(file.name),
        'Accept-Ranges': 'bytes',
        ...(range !== undefined && { 'Content-Range': `bytes ${start}-${end}/${file.bytes}` }),
      },
    };
  },

  async uploadAttachment(exchange) {
    return { status: 201, body: await readUpload(exchange) };
  },
} satisfies Readonly<Record<string, Handler>>;

interface Range {
  readonly start: number;
  /** Offset of the last byte, inclusive. */
  readonly end: number;
}

/** Parses a single range (RFC 9110, 14.2). Invalid and multiple ranges are ignored, as the RFC permits. */
function rangeOf(header: string | undefined, bytes: number): Range | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  return start > end ? 'unsatisfiable' : { start, end };
}

/**
 * Returns the Content-Disposition of a download. It contains the name twice: in ASCII for old clients, and in UTF-8 as
 * RFC 5987 encodes it (RFC 6266).
 */
function disposition(given: string): string {
  // A client refuses an answer whose headers are longer than 16 kB.
  const name = nameWithinLimit(given);
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
