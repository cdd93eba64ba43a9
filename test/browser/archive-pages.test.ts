import { join } from 'node:path';
import { expect } from '@jest/globals';
import { archived } from '../support/archive-fixture.ts';
import { CHROMIUM, inBrowser, openPage, resize } from '../support/browser.ts';
import { hostileChat } from '../support/hostile-archive.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();

inBrowser(
  'a browser opens the pages of an archive from the file system without a script, a request or a complaint',
  async () => {
    const { chatDb } = hostileChat(root);
    const folder = join(root, 'archive');
    await archived(chatDb, folder, { html: true });
    const { browser, page } = await openPage(CHROMIUM ?? '');
    try {
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      page.on('dialog', (dialog) => complaints.push(dialog.message()));
      page.on('request', (request) => {
        if (!request.url().startsWith(`file://${folder}/`)) complaints.push(`asked ${request.url()}`);
      });
      await resize(page, 390, 800);
      await page.goto(`file://${join(folder, 'index.html')}`);
      await page.click('td a');
      await page.waitForURL((address) => !address.pathname.endsWith('/index.html'));
      expect(await page.locator('article').count()).toBe(3);
      expect(await page.locator('h2').allTextContents()).toEqual(['Friday, 1 May 2026', 'Saturday, 2 May 2026']);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      expect(await page.evaluate('getComputedStyle(document.querySelector(".bubble")).borderRadius')).toBe('18px');
      // A section cuts what reaches over its edge, such as the tail of a bubble.
      const room = `Math.min(...[...document.querySelectorAll('section > article')].map(
        (each) => each.getBoundingClientRect().left - each.parentElement.getBoundingClientRect().left,
      ))`;
      expect(await page.evaluate(room)).toBeGreaterThanOrEqual(6);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  },
);
