import { afterAll, beforeAll, expect } from '@jest/globals';
import { BrowserStage, inBrowser, resize } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
let stage: BrowserStage | undefined;
beforeAll(async () => {
  stage = await BrowserStage.open(folder);
});
afterAll(() => stage?.close());

inBrowser(
  'the first operation of the reference is in the upper half, and an open one is short enough to read',
  async () => {
    const { page, url, complaints } = stage as BrowserStage;
    await page.goto(`${url}/docs`);
    const first = page.locator('.opblock').first();
    await first.waitFor();
    expect((await first.boundingBox())?.y).toBeLessThan(400);
    const send = page.locator('#operations-Messages-sendMessage, .opblock-post').first();
    await send.locator('.opblock-summary').first().click();
    await send.locator('.refusals').waitFor();
    expect((await send.boundingBox())?.height).toBeLessThan(2500);
    // Only the word of a method has a colour.
    const grounds = `['.opblock', '.opblock-summary-method'].map(
      (each) => getComputedStyle(document.querySelector(each)).backgroundColor,
    )`;
    expect(await page.evaluate(grounds)).toEqual(['rgba(0, 0, 0, 0)', 'rgba(0, 0, 0, 0)']);
    // What comes back stands beside what one sends.
    const left = async (part: string): Promise<number> => (await send.locator(part).boundingBox())?.x ?? 0;
    expect(await left('.responses-wrapper')).toBeGreaterThan((await left('.execute')) + 50);
    // Nothing is loaded from another host.
    expect(complaints).toEqual([]);
  },
);

inBrowser('the parts of the reference are listed above it, and each leads to its operations', async () => {
  const { page, url } = stage as BrowserStage;
  await page.goto(`${url}/docs`);
  const links = page.locator('#parts a');
  await links.first().waitFor();
  const names = await page.locator('.opblock-tag > a, .opblock-tag > :first-child').allTextContents();
  expect(await links.allTextContents()).toEqual(names);
  await links.last().click();
  const height = page.viewportSize()?.height ?? 0;
  await eventually(async () =>
    expect((await page.locator('.opblock-tag').last().boundingBox())?.y).toBeLessThan(height),
  );
  expect((await page.locator('#parts').boundingBox())?.y).toBe(0);
});

inBrowser('on a phone a row of the reference says what it does, and an example has the width of the page', async () => {
  const { page, url } = stage as BrowserStage;
  await resize(page, 390, 844);
  await page.goto(`${url}/docs`);
  const send = page.locator('.opblock-post').first();
  await send.waitFor();
  expect(await send.locator('.opblock-summary-description').isVisible()).toBe(true);
  await send.locator('.opblock-summary').first().click();
  await send.locator('.refusals').waitFor();
  expect((await send.locator('.responses-inner .microlight').first().boundingBox())?.width).toBeGreaterThan(300);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
});
