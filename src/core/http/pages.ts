import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { EventCaller } from '../model/caller.ts';
import { madeOnce } from '../runtime/made-once.ts';
import { acceptedRanges } from './accepted-ranges.ts';
import type { Answer } from './answer.ts';
import { isKnown, vary } from './conditions.ts';
import type { Exchange } from './exchange.ts';

/** Serves one page. */
export type ServedPage = (exchange: Exchange) => Answer | Promise<Answer>;

/**
 * Pages that contain no data of the owner, by path. Requests for them need no key and do not count towards the rate
 * limit (decision E9).
 */
export interface OpenPages {
  has(path: string): boolean;
  get(path: string): ServedPage | undefined;
  /** Returns what a person's browser gets at a path that nothing serves; undefined for other clients. */
  missing?(exchange: Exchange<EventCaller>): Answer | undefined;
}

/** Forbids content from other hosts, inline content and framing, so that a message's text can never become a script. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  'media-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

type Encoding = 'br' | 'gzip' | 'identity';

/** From this size on, compression saves more than its additional header costs. */
const MIN_BYTES = 512;
/** Brotli quality for large files: nearly as small as the best quality, in a twentieth of the time. */
const FAST = 9;
/**
 * Files up to this size are compressed with Brotli's best quality, on another thread. A file takes at most 80 ms, and
 * is compressed only once.
 */
const MAX_FOR_BEST = 96 * 1024;

/** The bytes of a page, with their media type. */
export interface PageContent {
  readonly type: string;
  readonly bytes: Buffer;
}

interface Sent {
  readonly bytes: Buffer;
  readonly etag: string;
}

/**
 * Returns a page that calls `make` at the first request and caches the content in each encoding. All answers share the
 * cached bytes (decision O2). A failure of `make` is not cached.
 */
export function cachedPage(make: () => Promise<PageContent>): ServedPage {
  const content = madeOnce(make);
  const sent = {
    identity: madeOnce(async () => sentAs(await content(), 'identity')),
    gzip: madeOnce(async () => sentAs(await content(), 'gzip')),
    br: madeOnce(async () => sentAs(await content(), 'br')),
  };
  return async (exchange) => {
    const { type, bytes } = await content();
    const encoding = bytes.length >= MIN_BYTES ? encodingFor(exchange.header('accept-encoding')) : 'identity';
    const { bytes: text, etag } = await sent[encoding]();
    const headers = {
      ...HEADERS,
      ETag: etag,
      'Cache-Control': 'no-cache',
      Vary: vary(exchange, 'Accept-Encoding'),
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
    };
    if (isKnown(exchange, etag)) return { status: 304, headers };
    return { status: 200, content: { type, text }, headers };
  };
}

/** Each encoding has its own ETag, because the bytes differ. */
async function sentAs({ bytes }: PageContent, encoding: Encoding): Promise<Sent> {
  const ending = encoding === 'identity' ? '' : `-${encoding}`;
  const etag = `"${hash('sha256', bytes, 'base64url')}${ending}"`;
  return { bytes: await encoded(bytes, encoding), etag };
}

/**
 * Returns the pages of a service: its own, and those of its features. `document` makes what `/openapi.json` answers.
 */
export function servicePages(
  notReady: () => readonly string[],
  document: () => Promise<object>,
  ofFeatures: readonly OpenPages[],
): OpenPages {
  const own = new Map<string, ServedPage>([
    ['/ready', () => readyAnswer(notReady())],
    ['/openapi.json', cachedPage(async () => documentOf(await document()))],
  ]);
  const all: readonly OpenPages[] = [own, ...ofFeatures];
  return {
    has: (path) => all.some((one) => one.has(path)),
    get: (path) => all.find((one) => one.has(path))?.get(path),
    missing: (exchange) => all.map((one) => one.missing?.(exchange)).find((answer) => answer !== undefined),
  };
}

/** Returns the answer of `/ready`. Load balancers request it often and without a key. */
function readyAnswer(reasons: readonly string[]): Answer {
  const headers = { 'Cache-Control': 'no-store' };
  if (reasons.length === 0) return { status: 200, body: { ready: true }, headers };
  return { status: 503, body: { ready: false, reasons }, headers };
}

function documentOf(made: object): PageContent {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(made)) };
}

/**
 * Returns the encoding with the smallest result that an `Accept-Encoding` header allows; its other weights do not count
 * (RFC 9110, 12.5.3).
 */
function encodingFor(header: string | undefined): Encoding {
  const ranges = acceptedRanges(header ?? '');
  const isAllowed = (name: string): boolean => ranges.some(({ range, isAccepted }) => range === name && isAccepted);
  return (['br', 'gzip'] as const).find(isAllowed) ?? 'identity';
}

/** Returns the bytes in this encoding. Compresses them on another thread. */
function encoded(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'br') {
    const quality = bytes.length <= MAX_FOR_BEST ? constants.BROTLI_MAX_QUALITY : FAST;
    return promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
  }
  return encoding === 'gzip' ? promisify(gzip)(bytes, { level: 9 }) : Promise.resolve(bytes);
}
