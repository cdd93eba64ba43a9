import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { problem } from '../../domain/problems.ts';
import type { Answer } from '../answer.ts';
import { isKnown, vary } from '../conditions.ts';
import { type Encoding, encoded, encodingFor, isWorthEncoding } from '../encodings.ts';
import type { Exchange } from '../exchange.ts';

/** Serves one page. */
export type Page = (exchange: Exchange) => Answer | Promise<Answer>;

/** Nothing from elsewhere, nothing inline, in nobody's frame: a message's text can never become a script. */
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

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const OWN = new URL('../pages/', import.meta.url);

/** Modules of the console: one a noun. */
const CONSOLE_MODULES = [
  'console',
  'access',
  'api',
  'approvals',
  'attachments',
  'audit',
  'budget',
  'conversations',
  'elements',
  'health',
  'kept-key',
  'keys',
  'line',
  'live',
  'message-item',
  'messages-view',
  'route',
  'search',
  'send',
  'settings',
  'shortcuts',
  'thread',
  'visible',
  'webhook-form',
  'webhooks',
];

/** Every file that is served, by its path (decision E9): nothing else on the disk can be had. */
const FILES: Readonly<Record<string, string>> = {
  '/console': 'console.html',
  '/console/console.css': 'console.css',
  '/console/base.css': 'base.css',
  '/console/messages.css': 'messages.css',
  '/console/search.css': 'search.css',
  '/console/access.css': 'access.css',
  '/console/icon.svg': 'icon.svg',
  // Where browsers look for it by themselves.
  '/favicon.ico': 'icon.svg',
  ...Object.fromEntries(CONSOLE_MODULES.map((name) => [`/console/${name}.js`, `${name}.js`])),
  '/docs': 'docs.html',
  '/docs/docs.css': 'docs.css',
  '/docs/docs.js': 'docs.js',
  '/docs/swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
  '/docs/swagger-ui-bundle.js': 'swagger-ui-dist/swagger-ui-bundle.js',
};

/** The pages without data, which need no key and are not counted (decision E9). */
export function staticFiles(version: string): ReadonlyMap<string, Page> {
  const made = new Map<string, Page>();
  for (const [path, file] of Object.entries(FILES))
    made.set(
      path,
      cached(() => readPage(file)),
    );
  for (const path of ['/console', '/docs']) made.set(`${path}/`, () => toPage(path));
  made.set('/', toConsole);
  made.set(
    '/openapi.json',
    cached(async () => documentOf((await import('../../wire/openapi.ts')).openApi(version))),
  );
  return made.set(
    '/asyncapi.json',
    cached(async () => documentOf((await import('../../wire/asyncapi.ts')).asyncApi(version))),
  );
}

interface Content {
  readonly type: string;
  readonly bytes: Buffer;
}

interface Sent {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Made at the first request, in each encoding, and shared by all answers (decision O2). A failure is not kept. */
function cached(make: () => Promise<Content>): Page {
  const content = once(make);
  const sent = {
    identity: once(async () => sentAs(await content(), 'identity')),
    gzip: once(async () => sentAs(await content(), 'gzip')),
    br: once(async () => sentAs(await content(), 'br')),
  };
  return async (exchange) => {
    const { type, bytes } = await content();
    const encoding = isWorthEncoding(bytes) ? encodingFor(exchange.header('accept-encoding')) : 'identity';
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

/** Each encoding has a tag of its own, because its bytes are others. */
async function sentAs({ bytes }: Content, encoding: Encoding): Promise<Sent> {
  const ending = encoding === 'identity' ? '' : `-${encoding}`;
  const etag = `"${hash('sha256', bytes, 'base64url')}${ending}"`;
  return { bytes: await encoded(bytes, encoding), etag };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return async () => {
    made ??= make();
    try {
      return await made;
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
}

/** A browser that knows only the address is sent to the console; programs find nothing there. */
function toConsole(exchange: Exchange): Answer {
  if (!/\btext\/html\b/i.test(exchange.header('accept') ?? '')) throw problem('not_found');
  return { status: 302, headers: { Location: './console', Vary: vary(exchange, 'Accept') } };
}

async function readPage(file: string): Promise<Content> {
  const place = file.includes('/') ? createRequire(import.meta.url).resolve(file) : new URL(file, OWN);
  const type = TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  return { type, bytes: await readFile(place) };
}

/** Relative, so that it also holds behind a proxy that adds a folder. */
function toPage(path: string): Answer {
  return { status: 308, headers: { Location: `..${path}` } };
}

/** Their generators are loaded at the first request: they are not needed for anything else. */
function documentOf(made: object): Content {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(made)) };
}
