import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BrowserStage, inBrowser, resize } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const GUIDE = join(ROOT, 'dist/guide');
const ids = (html: string): string[] => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);

/** Returns every link of a page to a place in the guide, as `file#anchor`. */
function links(html: string): string[] {
  return [...html.matchAll(/ (?:href|src|srcset)="([^"]*)"/g)]
    .map(([, to = '']) => to)
    .filter((to) => !/^[a-z]+:|^(?:\.\.\/)+(?:console|docs)\b/.test(to));
}

test('every link of the guide leads to a file, and to a heading that is there', () => {
  const pages = readdirSync(GUIDE, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'));
  expect(pages.length).toBeGreaterThan(20);
  const wrong = pages.flatMap((page) =>
    links(readFileSync(join(GUIDE, page), 'utf8')).filter((to) => {
      const [path = '', anchor] = to.split('#');
      const file = join(GUIDE, path === '' ? page : normalize(join(dirname(page), path)));
      if (path === '' && to === '') return true;
      if (!existsSync(file)) return true;
      return anchor !== undefined && !ids(readFileSync(file, 'utf8')).includes(anchor);
    }),
  );
  expect(wrong).toEqual([]);
});

test('every link between Markdown files leads to a file of the project', () => {
  const folders = ['', 'docs/', 'docs/recipes/'];
  const pages = folders.flatMap((folder) => readdirSync(ROOT + folder).map((name) => folder + name));
  const wrong = pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) =>
      [...readFileSync(ROOT + page, 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, to = '']) => to)
        .filter((to) => !/^[a-z]+:/.test(to) && !existsSync(join(ROOT, dirname(page), to)))
        .map((to) => `${page}: ${to}`),
    );
  expect(wrong).toEqual([]);
});

describe('in a browser', () => {
  const folder = temporaryFolder();
  let stage: BrowserStage | undefined;
  beforeAll(async () => {
    stage = await BrowserStage.open(folder);
  });
  afterAll(() => stage?.close());

  inBrowser('the guide opens without a key, and finds a setting by its name', async () => {
    const { page, url, complaints } = stage as BrowserStage;
    await page.goto(`${url}/guide`);
    await page.keyboard.press('/');
    await page.keyboard.insertText('allowed_hosts');
    await page.locator('#results a', { hasText: 'Configuration' }).first().waitFor();
    await page.keyboard.press('Enter');
    await eventually(() => expect(page.url()).toMatch(/\/guide\/[a-z-]+\.html#?/));
    const names = readdirSync(GUIDE).filter((name) => /\.(?:css|js|json)$/.test(name));
    expect(names).toHaveLength(3);
    for (const name of names) {
      expect((await fetch(`${url}/guide/${name}`)).headers.get('cache-control')).toContain('immutable');
    }
    expect((await fetch(page.url())).headers.get('cache-control')).toBe('no-cache');
    expect(complaints).toEqual([]);
  });

  for (const [words, found] of [
    ['webhooks listen', 'Command line › webhooks listen'],
    ['demo say', 'Command line › demo say'],
    ['poll_interval_ms', 'Configuration › backend.poll_interval_ms'],
    ['rate limit per minute', 'Configuration › server.rate_limit_per_minute'],
  ] as const) {
    inBrowser(`the first thing that the guide finds for "${words}" is its own row`, async () => {
      const { page, url } = stage as BrowserStage;
      await page.goto(`${url}/guide/`);
      await page.keyboard.press('/');
      await page.keyboard.type(words);
      await eventually(async () => expect(await page.locator('#results a strong').first().innerText()).toBe(found));
      await page.keyboard.press('Enter');
      await eventually(async () => expect(await page.locator('tr:target').count()).toBe(1));
    });
  }

  inBrowser('the guide has no fault that axe finds, in light, and in dark on a phone', async () => {
    const { page, url, complaints } = stage as BrowserStage;
    await page.goto(`${url}/guide/search.html`);
    expect(await (stage as BrowserStage).faults()).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await resize(page, 390, 844);
    expect(await (stage as BrowserStage).faults()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Search', exact: true }).click();
    await eventually(() => expect(page.url()).toBe(`${url}/guide/search.html`));
    expect(complaints).toEqual([]);
  });
});
