import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Answer } from '../../core/http/answer.ts';
import { vary } from '../../core/http/conditions.ts';
import type { Exchange } from '../../core/http/exchange.ts';
import { cachedPage, type OpenPages, type PageContent, type ServedPage } from '../../core/http/pages.ts';
import type { EventCaller } from '../../core/model/caller.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import { problem } from '../../core/model/problems.ts';
import { madeOnce } from '../../core/runtime/made-once.ts';
import { FOR_MODELS, GUIDE_NAME, guideContent, guideFile } from './guide-pack.ts';
import { isForPerson, missingPage } from './missing-page.ts';

const TYPES: Readonly<Record<string, string>> = lookupTable({
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  json: 'application/json',
});
/** The type for Markdown and sample programs. Browsers show a file of this type instead of running it. */
const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** The folder of the bundled console. Run from its source, this module finds it in dist/. */
const OWN = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/src/features/console/static/' : 'static/',
  import.meta.url,
);
/**
 * Pairs of URL path and file name. Files whose names begin with `docs`, such as `docs-operation.js`, are served below
 * /docs, all others below /console.
 */
const OWN_FILES: readonly (readonly [string, string])[] = readdirSync(OWN)
  .filter((name) => /\.(?:css|js|svg)$/.test(name))
  .map((name) => [`/${name.startsWith('docs') ? 'docs' : 'console'}/${name}`, name]);

/**
 * Key: a URL path. Value: the file served there (decision E9). Contains every served file except the guide's. No other
 * file on the disk can be requested.
 */
const FILES: Readonly<Record<string, string>> = lookupTable({
  ...Object.fromEntries(OWN_FILES),
  '/console': 'console.html',
  // Browsers request this path although no page refers to it.
  '/favicon.ico': 'icon.svg',
  '/docs': 'docs.html',
  '/docs/swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
  '/docs/swagger-ui-bundle.js': 'swagger-ui-dist/swagger-ui-bundle.js',
});

/**
 * Matches `/static/<version>/<path>`, where `<path>` is a key of `FILES`. Browsers keep such a file for a year
 * (decision S3).
 */
const VERSIONED = /^\/static\/([\w-]{16})(\/.+\.(?:css|js|svg))$/;
/** Matches the name of a guide file that contains a hash of the content. Browsers keep such a file for a year. */
const VERSIONED_GUIDE = /-[A-Z0-9]{8}\.(?:css|js|json)$/;
const REFERENCE = /(href|src)="((?:console|docs)\/[^"]+)"/g;
const KEPT_FOR_A_YEAR = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** Returns the console, the reference of the API, and the guide (decision E9). */
export function consolePages(isHub = false): OpenPages {
  const made = new Map<string, ServedPage>();
  for (const [path, file] of Object.entries(FILES)) {
    made.set(
      path,
      cachedPage(() => (file.endsWith('.html') ? readHtml(file, isHub) : readPage(file))),
    );
  }
  made.set('/guide', () => ({ status: 308, headers: { Location: './guide/' } }));
  for (const [path, file] of Object.entries(FOR_MODELS)) made.set(path, guide(file));
  for (const path of ['/console', '/docs']) made.set(`${path}/`, () => toPage(path));
  made.set('/', toConsole);
  return new Pages(made);
}

/** Serves the pages in `listed`, their versioned paths, and the guide. Reads each file when it is first requested. */
class Pages implements OpenPages {
  readonly #listed: ReadonlyMap<string, ServedPage>;
  readonly #guide = new Map<string, ServedPage>();

  constructor(listed: ReadonlyMap<string, ServedPage>) {
    this.#listed = listed;
  }

  has(path: string): boolean {
    const isGuide = guideFile(path) !== undefined || GUIDE_NAME.test(path);
    return this.#listed.has(path) || versionedPath(path) !== undefined || isGuide;
  }

  get(path: string): ServedPage | undefined {
    const [, name] = GUIDE_NAME.exec(path) ?? [];
    if (name !== undefined) return () => ({ status: 308, headers: { Location: `./${name}.html` } });
    const file = guideFile(path);
    if (file === undefined) return this.#listed.get(path) ?? this.#versioned(path);
    const known = this.#guide.get(file);
    if (known !== undefined) return known;
    const page = guide(file);
    return async (exchange) => {
      const answer = await page(exchange);
      // Only existing files are cached, so that wrong paths take no memory.
      this.#guide.set(file, page);
      return answer;
    };
  }

  missing(exchange: Exchange<EventCaller>): Answer | undefined {
    return isForPerson(exchange) ? missingPage(exchange) : undefined;
  }

  #versioned(path: string): ServedPage | undefined {
    const file = versionedPath(path);
    const page = file === undefined ? undefined : this.#listed.get(file);
    if (page === undefined) return undefined;
    return async (exchange) => {
      // A page that was opened before an update still requests the older version. The current file must not be cached
      // under that version's path.
      if (VERSIONED.exec(path)?.[1] !== (await version())) throw problem('not_found');
      return keptForAYear(await page(exchange));
    };
  }
}

/**
 * Returns the path without `/static/<version>`. Returns undefined if the path has no version or the file is not in
 * `FILES`.
 */
function versionedPath(path: string): string | undefined {
  const [, , file = ''] = VERSIONED.exec(path) ?? [];
  return Object.hasOwn(FILES, file) ? file : undefined;
}

function guide(file: string): ServedPage {
  const page = cachedPage(async () => {
    const bytes = await guideContent(file);
    if (bytes === undefined) throw problem('not_found');
    return { type: typeOf(file) ?? PLAIN_TEXT, bytes };
  });
  return VERSIONED_GUIDE.test(file) ? async (exchange) => keptForAYear(await page(exchange)) : page;
}

function keptForAYear(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, ...KEPT_FOR_A_YEAR } };
}

/** Redirects a browser from `/` to the console. Answers programs with 404. */
function toConsole(exchange: Exchange): Answer {
  if (!isForPerson(exchange)) throw problem('not_found');
  return { status: 302, headers: { Location: './console', Vary: vary(exchange, 'Accept') } };
}

async function readPage(file: string): Promise<PageContent> {
  const type = typeOf(file) ?? 'application/octet-stream';
  if (file.includes('/')) return { type, bytes: await readFile(createRequire(import.meta.url).resolve(file)) };
  return { type, bytes: await readFile(new URL(file, OWN)) };
}

/**
 * A hash of all served files except the HTML pages. The files share one version: modules import each other by relative
 * paths, so all of them must be below the same versioned path.
 */
const version = madeOnce(async () => {
  const files = [...new Set(Object.values(FILES))].filter((file) => !file.endsWith('.html'));
  const contents = await Promise.all(files.map(async (file) => (await readPage(file)).bytes));
  return hash('sha256', Buffer.concat(contents), 'base64url').slice(0, 16);
});

/** Reads an HTML page, adds the version to the paths of the files that it loads, and says if a hub serves it. */
async function readHtml(file: string, isHub: boolean): Promise<PageContent> {
  const { type, bytes } = await readPage(file);
  const folder = `static/${await version()}`;
  const html = bytes.toString().replaceAll(REFERENCE, `$1="${folder}/$2"`);
  return { type, bytes: Buffer.from(isHub ? html.replace('<html', '<html data-hub') : html) };
}

function typeOf(file: string): string | undefined {
  return TYPES[file.slice(file.lastIndexOf('.') + 1)];
}

/**
 * Redirects from a path with a trailing slash, such as `/console/`, to `path`. The Location is relative, so that it
 * also works behind a proxy that adds a folder to the path.
 */
function toPage(path: string): Answer {
  return { status: 308, headers: { Location: `..${path}` } };
}
