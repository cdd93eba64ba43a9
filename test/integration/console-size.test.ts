import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import ts from 'typescript';
import { forBrowser } from '../../src/api/http/routes/static-files.ts';
import { HttpGateway } from '../support/http-gateway.ts';

const FOLDER = join(import.meta.dirname, '../../src/api/console');
const KB = 1000;
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const HTML = 'console.html';
/** Without the separate style sheets, which are served as one. */
const ALL = readdirSync(FOLDER).filter((name) => /^(?!docs).*\.(?:js|html|svg)$|^console\.css$/.test(name));
const SCRIPTS = readdirSync(FOLDER).filter((name) => name.endsWith('.js'));

let gateway: HttpGateway;
beforeAll(async () => {
  gateway = await HttpGateway.start();
});
afterAll(() => gateway.close());

/** Returns the bytes of the bodies that a browser receives. */
async function received(names: Iterable<string>): Promise<number> {
  let bytes = 0;
  for (const name of names) {
    const path = name === HTML ? '/console' : `/console/${name}`;
    const headers = { 'accept-encoding': 'gzip, deflate, br' };
    bytes += Number((await gateway.call('HEAD', path, { key: false, headers })).headers['content-length']);
  }
  return bytes;
}

/** Returns a module and all its static imports; dynamic imports are left out. */
function withImports(name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, imported = ''] of read(name).matchAll(/^(?:import|export)\s[^;]*?from '\.\/([\w-]+\.js)';$/gm)) {
    withImports(imported, found);
  }
  return found;
}

test('the console has at most 100 kB compressed in all', async () => {
  expect(await received(ALL)).toBeLessThan(100 * KB);
});

test('the first view has at most 45 kB compressed: the others load when somebody opens them', async () => {
  const files = [...read(HTML).matchAll(/href="console\/([\w-]+\.(?:css|svg))"/g)].map(([, name = '']) => name);
  const modules = ['console.js', 'view-overview.js', 'held-watch.js'].flatMap((name) => [...withImports(name)]);
  const first = new Set([HTML, ...files, ...modules]);
  expect(await received(first)).toBeLessThan(45 * KB);
  // The other views are not loaded at first.
  expect([...first].filter((name) => name.startsWith('view-'))).toEqual(['view-overview.js']);
});

/** Returns what a script means: its syntax tree, without comments, line feeds and commas after a last item. */
function meaning(text: string): string {
  const described = (node: ts.Node): unknown => {
    const children: unknown[] = [];
    ts.forEachChild(node, (child) => void children.push(described(child)));
    return [node.kind, children.length === 0 ? (node as Partial<ts.LiteralLikeNode>).text : undefined, children];
  };
  return JSON.stringify(described(ts.createSourceFile('a.js', text, ts.ScriptTarget.ESNext)));
}

test('a script loses its comments and indentation on the way to the browser, and nothing else', async () => {
  for (const name of SCRIPTS) {
    expect([name, meaning(forBrowser(read(name))) === meaning(read(name))]).toEqual([name, true]);
  }
  const { text } = await gateway.get('/console/console.js', { key: false });
  expect(text).toBe(forBrowser(read('console.js')));
  expect(text).not.toMatch(/^\s*(?:\/\/|\/\*\*$)/m);
});

test('the style sheet that is served has all the others in it, in their order', async () => {
  const names = [...read('console.css').matchAll(/"([\w-]+\.css)"/g)].map(([, name = '']) => name);
  const others = readdirSync(FOLDER).filter((name) => /^(?!docs|console\.).*\.css$/.test(name));
  expect([...names].sort()).toEqual(others.sort());
  const { text } = await gateway.get('/console/console.css', { key: false });
  expect(text).toBe(forBrowser(names.map(read).join('')));
});

test('no text can become markup: nothing in the console writes HTML', () => {
  const writing = /\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|eval)\b/;
  expect(SCRIPTS.filter((name) => writing.test(read(name)))).toEqual([]);
  expect(ALL.filter((name) => name.endsWith('.html') && /\son\w+=|\sstyle=|<script>/.test(read(name)))).toEqual([]);
});
