import { afterAll, beforeAll, expect } from '@jest/globals';
import { BrowserStage, inBrowser } from '../support/browser.ts';
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
    // Nothing is loaded from another host.
    expect(complaints).toEqual([]);
  },
);
