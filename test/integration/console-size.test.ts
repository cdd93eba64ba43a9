import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';

const FOLDER = join(import.meta.dirname, '../../src/api/console');
/** The build leaves out comments, spaces and long names. */
const SERVED = join(import.meta.dirname, '../../dist/src/api/console');
const KB = 1000;
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
/** As it crosses the wire: each file for itself. */
const compressed = (names: Iterable<string>): number =>
  [...names].reduce((sum, name) => sum + gzipSync(readFileSync(join(SERVED, name)), { level: 9 }).length, 0);

/** A module and everything it imports at once; what it imports on demand is left out. */
function withImports(name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, imported = ''] of read(name).matchAll(/^(?:import|export)\s[^;]*?from '\.\/([\w-]+\.js)';$/gm)) {
    withImports(imported, found);
  }
  return found;
}

const PAGE = [
  'console.html',
  ...[...read('console.html').matchAll(/href="console\/([\w-]+\.(?:css|svg))"/g)].map(([, name = '']) => name),
];
const ALL = readdirSync(FOLDER).filter((name) => /\.(?:js|css|html|svg)$/.test(name) && !name.startsWith('docs'));

test('the console has at most 100 kB compressed in all', () => {
  expect(compressed(ALL)).toBeLessThan(100 * KB);
});

test('the first view has at most 45 kB compressed: the others load when somebody opens them', () => {
  const first = new Set([...PAGE, ...withImports('console.js'), ...withImports('view-overview.js'), 'held-watch.js']);
  expect(compressed(first)).toBeLessThan(45 * KB);
  // The other views are not among them.
  expect([...first].filter((name) => name.startsWith('view-'))).toEqual(['view-overview.js']);
});

test('no text can become markup: nothing in the console writes HTML', () => {
  const writing = /\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|eval)\b/;
  expect(ALL.filter((name) => name.endsWith('.js') && writing.test(read(name)))).toEqual([]);
  expect(ALL.filter((name) => name.endsWith('.html') && /\son\w+=|\sstyle=|<script>/.test(read(name)))).toEqual([]);
});
