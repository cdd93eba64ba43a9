import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Answer } from '../answer.ts';
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
  return made.set(
    '/openapi.json',
    cached(() => makeDocument(version)),
  );
}

interface Content {
  readonly type: string;
  readonly bytes: Buffer;
}

/** Made at the first request and shared by all answers (decision O2). A failure is not kept. */
function cached(make: () => Promise<Content>): Page {
  let made: Promise<Content & { readonly etag: string }> | undefined;
  return async (exchange) => {
    made ??= make().then((content) => ({ ...content, etag: `"${hash('sha256', content.bytes, 'base64url')}"` }));
    try {
      const { type, bytes, etag } = await made;
      const headers = { ...HEADERS, ETag: etag, 'Cache-Control': 'no-cache' };
      if (isAmong(exchange.header('if-none-match'), etag)) return { status: 304, headers };
      return { status: 200, content: { type, text: bytes }, headers };
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
}

/** `If-None-Match` (RFC 9110, 13.1.2): a list of tags, compared weakly, or `*`. */
function isAmong(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
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

/** The generator is loaded at the first request: it is not needed for anything else. */
async function makeDocument(version: string): Promise<Content> {
  const { openApi } = await import('../../wire/openapi.ts');
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(openApi(version))) };
}
