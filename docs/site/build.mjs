// Makes the guide out of the Markdown of docs/: dist/guide/, and dist/guide.pack with the same files in one, which the
// service serves at /guide. npm takes a millisecond or more for each file of a package.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from '../../tools/packages.mjs';
import { readPage } from './markdown.mjs';
import { CARDS, NAVIGATION, outputOf } from './pages.mjs';

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
  write(`${page.output}.html`, layout(page, page.output === 'index' ? withCards(html) : html, headings));
  write(page.twin, page.file.startsWith('docs/') ? page.source : page.source.replaceAll('](docs/', ']('));
}
write('llms.txt', llms(''));
write('llms-root.txt', llms('guide/'));
write('llms-full.txt', pages.map(({ source }) => source.trimEnd()).join('\n\n---\n\n'));
for (const file of copied) copy(file);
pack();

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
      .map(([file, short, about]) => readSource(file, short, about)),
  }));
}

function readSource(file, short, about) {
  const source = readFileSync(root + file, 'utf8');
  const heading = /^# (.+)$/m.exec(source)?.[1] ?? file;
  const inside = file.startsWith('docs/') ? file.slice('docs/'.length) : `${outputOf(file)}.md`;
  return { file, source, heading, title: short || heading, about, output: outputOf(file), twin: inside };
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

/** Puts the cards after the first paragraph. */
function withCards(html) {
  const cards = CARDS.map(
    ([file, title, reason]) =>
      `<li><a href="${known.get(file)}"><strong>${text(title)}</strong><span>${text(reason)}</span></a></li>`,
  );
  return html.replace('</p>', () => `</p><ul class="cards">${cards.join('')}</ul>`);
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
  <a class="name" href="${base}index.html"><img src="${base}../console/icon.svg" alt="" width="22" height="22">Postern</a>
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

/** The map for language models (llmstxt.org): every page as Markdown, below `folder`, with a sentence from pages.mjs. */
function llms(folder) {
  const list = sections.map(({ name, pages }) => {
    const entries = pages.map(
      ({ twin, heading, about }) => `- [${heading}](${folder}${twin})${about === undefined ? '' : `: ${about}`}`,
    );
    return `## ${name}\n\n${entries.join('\n')}\n`;
  });
  const root = folder === '' ? '../' : '';
  return `# Postern

> A local gateway to Apple Messages: REST API, streams, WebSocket, signed webhooks and MCP from an agent on your own Mac.

- [OpenAPI](${root}openapi.json): Every operation of the REST API, with schemas and examples.
- [All pages in one file](${folder}llms-full.txt): The whole guide as Markdown.

${list.join('\n')}`;
}

/** One file: a line of JSON with place and size of each, then their bytes. */
function pack() {
  const names = readdirSync(target, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(entry.parentPath, entry.name).slice(target.length))
    .sort();
  const contents = names.map((name) => readFileSync(target + name));
  let offset = 0;
  const places = contents.map(({ length }, at) => {
    offset += length;
    return [names[at], [offset - length, length]];
  });
  const index = `${JSON.stringify(Object.fromEntries(places))}\n`;
  writeFileSync(`${root}dist/guide.pack`, Buffer.concat([Buffer.from(index), ...contents]));
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
