import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const BUILT = join(import.meta.dirname, '../../dist/src/features/console/static');
const KB = 1000;
const HTML = 'console.html';
/** Without the style sheet of the colours, which only the reference loads apart. */
const ALL = readdirSync(BUILT).filter((name) => /^(?!docs|colours)/.test(name));

const root = temporaryFolder();
let service: Service;
/** The page and the files that it names, which a browser loads for the first view. */
let first: ReadonlySet<string>;
beforeAll(async () => {
  service = await Service.here({ chatDbPath: join(root, 'none'), osascriptPath: join(root, 'none') });
  const page = await textOf(HTML);
  const named = [...page.matchAll(/(?:href|src)="static\/[^"]+\/([\w-]+\.(?:css|svg|js))"/g)];
  first = new Set([HTML, ...named.map(([, name = '']) => name)]);
});

const pageOf = (name: string): string =>
  service.url.replace('/api/v1', name === HTML ? '/console' : `/console/${name}`);
const textOf = async (name: string): Promise<string> => (await fetch(pageOf(name))).text();

/** Returns the bytes of the bodies that a browser receives. */
async function received(names: Iterable<string>): Promise<number> {
  let bytes = 0;
  for (const name of names) {
    const { headers } = await fetch(pageOf(name), { method: 'HEAD', headers: { 'Accept-Encoding': 'br' } });
    bytes += Number(headers.get('content-length'));
  }
  return bytes;
}

test('the console has at most 100 kB compressed in all', async () => {
  expect(await received(ALL)).toBeLessThan(100 * KB);
});

test('the first view has at most 45 kB compressed, in 16 files: the others load when somebody opens them', async () => {
  expect(await received(first)).toBeLessThan(45 * KB);
  expect(first.size).toBeLessThanOrEqual(16);
  const views = (names: Iterable<string>): string[] =>
    [...names].filter((name) => /^(?!chunk)[a-z]+-[A-Z0-9]{8}\.js$/.test(name));
  expect(views(first)).toEqual([]);
  expect(views(ALL).length).toBeGreaterThan(1);
});

test('each style sheet that is served has others in it, and only that of the first view loads with it', async () => {
  for (const name of ['console.css', 'views.css']) expect(await textOf(name)).not.toMatch(/@import|\/\*/);
  expect([...first].filter((name) => name.endsWith('.css'))).toEqual(['console.css']);
});

test('no page has scripts or styles inside', async () => {
  const pages = [await textOf(HTML), await (await fetch(service.url.replace('/api/v1', '/docs'))).text()];
  expect(pages.filter((text) => /\son\w+=|\sstyle=|<script>|<style/.test(text))).toEqual([]);
});
