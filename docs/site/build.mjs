// Makes the guide out of the Markdown of docs/: dist/guide/, which the service serves at /guide.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from '../../tools/packages.mjs';
import { readPage } from './markdown.mjs';
import { NAVIGATION, outputOf } from './pages.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const target = `${root}dist/guide/`;
/** What pages show or link to, beside pages. */
const ASSETS = /^docs\/(?:img|recipes)\/[\w-]+\.(?:png|svg|py|mjs|mts|go|sh|json)$/;

rmSync(target, { recursive: true, force: true });
const sections = navigation();
const pages = sections.flatMap(({ pages }) => pages);
const known = new Map(pages.map(({ file, output }) => [file, `${output}.html`]));
const copied = new Set();
const read = pages.map((page) => ({ page, ...readPage(page.source, (href) => linkFrom(page, href)) }));
const files = { ...(await styleAndScript()), search: searchIndex(read) };
for (const { page, html, headings } of read) {
  write(`${page.output}.html`, layout(page, html, headings));
  write(page.twin, page.file.startsWith('docs/') ? page.source : page.source.replaceAll('](docs/', ']('));
}
write('llms.txt', llms());
for (const file of copied) copy(file);

/** Their names are of their content, so that browsers keep them. */
async function styleAndScript() {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['docs/site/guide.js', 'docs/site/guide.css'],
    outdir: 'dist/guide',
    nodePaths: ['tools/node_modules'],
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    legalComments: 'inline',
    metafile: true,
    logLevel: 'warning',
  });
  const made = Object.keys(metafile.outputs).map((path) => posix.basename(path));
  return {
    style: made.find((name) => name.endsWith('.css')),
    script: made.find((name) => name.endsWith('.js')),
  };
}

/** The text of all pages, for the search. Returns its name. */
function searchIndex(read) {
  const found = read.flatMap(({ page, parts }) =>
    parts.map(({ heading, id: part, text }) => ({
      page: page.title,
      url: `${page.output}.html`,
      heading,
      part,
      text,
    })),
  );
  const content = JSON.stringify(found);
  const name = `search-${createHash('sha256').update(content).digest('hex').slice(0, 8).toUpperCase()}.json`;
  write(name, content);
  return name;
}
/** A page that the navigation does not name is the last of the guides. */
function navigation() {
  const named = new Set(Object.values(NAVIGATION).flatMap((entries) => entries.map(([file]) => file)));
  const others = ['docs', 'docs/recipes']
    .flatMap((folder) => readdirSync(root + folder).map((name) => `${folder}/${name}`))
    .filter((file) => file.endsWith('.md') && !named.has(file));
  return Object.entries(NAVIGATION).map(([name, entries]) => ({
    name,
    pages: [...entries, ...(name === 'Guides' ? others.map((file) => [file]) : [])]
      .filter(([file]) => existsSync(root + file))
      .map(([file, short]) => readSource(file, short)),
  }));
}

function readSource(file, short) {
  const source = readFileSync(root + file, 'utf8');
  const heading = /^# (.+)$/m.exec(source)?.[1] ?? file;
  const inside = file.startsWith('docs/') ? file.slice('docs/'.length) : `${outputOf(file)}.md`;
  return { file, source, heading, title: short ?? heading, output: outputOf(file), twin: inside };
}

/** The address in the guide; undefined for a file of the project that is not in it. */
function linkFrom(page, href) {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [path, anchor] = href.split('#');
  const file = posix.normalize(posix.join(posix.dirname(page.file), path));
  const to = known.get(file) ?? asset(file);
  return to && relativeTo(page, to) + (anchor === undefined ? '' : `#${anchor}`);
}

function asset(file) {
  if (!ASSETS.test(file) || !existsSync(root + file)) return undefined;
  copied.add(file);
  return file.slice('docs/'.length);
}

/** Relative, so that the guide works below any folder. */
function relativeTo({ output }, to) {
  return posix.relative(posix.dirname(output), to);
}

function layout(page, html, headings) {
  const at = (to) => relativeTo(page, to) || './';
  const base = '../'.repeat(page.output.split('/').length - 1);
  const menu = sections.map(
    ({ name, pages }) =>
      `<h2>${name}</h2><ul>${pages
        .map(
          (other) =>
            `<li><a href="${at(`${other.output}.html`)}"${other === page ? ' aria-current="page"' : ''}>${text(other.title)}</a></li>`,
        )
        .join('')}</ul>`,
  );
  const outline = headings.map(({ id, html: words }) => `<li><a href="#${id}">${words}</a></li>`).join('');
  return `<!doctype html>
<html lang="en" data-base="${base}" data-search="${base}${files.search}">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="referrer" content="no-referrer">
  <title>${text(page.title)} · Postern</title>
  <link rel="icon" href="${base}../console/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="${base}${files.style}">
  <link rel="alternate" type="text/markdown" href="${at(page.twin)}">
  <script src="${base}${files.script}"></script>
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header>
  <button id="menu" aria-expanded="false" aria-controls="pages">Menu</button>
  <a class="name" href="${base}index.html">Postern</a>
  <div class="search" role="search"><input id="search" type="search" placeholder="Search ( / )" aria-label="Search the guide" autocomplete="off"><ol id="results" hidden></ol></div>
  <a href="${base}../console">Console</a>
  <a href="${base}../docs">API</a>
  <button id="scheme">Auto</button>
</header>
<div class="columns">
<nav id="pages" aria-label="Pages">${menu.join('')}</nav>
<main id="content">
${html}</main>
<aside>${outline && `<nav aria-label="On this page"><h2>On this page</h2><ul>${outline}</ul></nav>`}</aside>
</div>
</body>
</html>
`;
}

/** The map for language models (llmstxt.org): every page as Markdown, with its first sentence. */
function llms() {
  const list = sections.map(({ name, pages }) => {
    const entries = pages.map(({ twin, heading, source }) => {
      const prose = source.replaceAll(/```[\s\S]*?```|<!--[\s\S]*?-->/g, '');
      const first = /^(?![#|`\-<!\d\s])(.+)$/m.exec(prose)?.[1] ?? '';
      const sentence = (/^.*?[.:](?= |$)/.exec(first)?.[0] ?? first)
        .replace(/:$/, '.')
        .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1');
      return `- [${heading}](${twin})${sentence && `: ${sentence}`}`;
    });
    return `## ${name}\n\n${entries.join('\n')}\n`;
  });
  return `# Postern\n\n> A local gateway to Apple Messages: REST API, streams, WebSocket, signed webhooks and MCP from an agent on your own Mac.\n\nThe whole API as OpenAPI is at ../openapi.json of the service.\n\n${list.join('\n')}`;
}

function text(words) {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function write(name, content) {
  mkdirSync(dirname(target + name), { recursive: true });
  writeFileSync(target + name, content);
}

function copy(file) {
  const to = target + file.slice('docs/'.length);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(root + file, to);
}
