import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const FOLDER = join(import.meta.dirname, '../../src/features/console');
const KB = 1000;
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const HTML = 'console.html';
/** Without the separate style sheets, which are served as one. */
const ALL = readdirSync(FOLDER).filter((name) => /^(?!docs).*\.(?:js|html|svg)$|^console\.css$/.test(name));
const SCRIPTS = readdirSync(FOLDER).filter((name) => name.endsWith('.js'));

const root = temporaryFolder();
let service: Service;
beforeAll(async () => {
  service = await Service.start({ chatDbPath: join(root, 'none'), osascriptPath: join(root, 'none') });
});

const pageOf = (name: string): string =>
  service.url.replace('/api/v1', name === HTML ? '/console' : `/console/${name}`);

/** Returns the bytes of the bodies that a browser receives. */
async function received(names: Iterable<string>): Promise<number> {
  let bytes = 0;
  for (const name of names) {
    const { headers } = await fetch(pageOf(name), { method: 'HEAD', headers: { 'Accept-Encoding': 'br' } });
    bytes += Number(headers.get('content-length'));
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

test('the style sheet that is served has all the others in it', async () => {
  const names = [...read('console.css').matchAll(/"([\w-]+\.css)"/g)].map(([, name = '']) => name);
  const others = readdirSync(FOLDER).filter((name) => /^(?!docs|console\.).*\.css$/.test(name));
  expect(names.toSorted()).toEqual(others.toSorted());
  const text = await (await fetch(pageOf('console.css'))).text();
  expect(text).not.toContain('@import');
  expect(text).not.toContain('/*');
});

test('no text can become markup: nothing in the console writes HTML', () => {
  const writing = /\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|eval)\b/;
  expect(SCRIPTS.filter((name) => writing.test(read(name)))).toEqual([]);
  expect(ALL.filter((name) => name.endsWith('.html') && /\son\w+=|\sstyle=|<script>/.test(read(name)))).toEqual([]);
});
