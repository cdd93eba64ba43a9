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
    // What comes back stands beside what one sends, below a sample in a language that somebody chooses.
    const left = async (part: string): Promise<number> => (await send.locator(part).boundingBox())?.x ?? 0;
    expect(await left('.responses-wrapper')).toBeGreaterThan((await left('.opblock-section-request-body')) + 50);
    expect(await left('.sample')).toBe(await left('.responses-wrapper'));
    for (const [language, call] of [
      ['curl', 'curl -X POST'],
      ['JavaScript', 'await fetch('],
      ['Python', 'requests.post('],
    ] as const) {
      await send.getByRole('button', { name: language, exact: true }).click();
      expect(await send.locator('.sample pre').textContent()).toContain(call);
    }
    // Nothing is loaded from another host.
    expect(complaints).toEqual([]);
  },
);

inBrowser('the parts of the reference are listed beside it, and each leads to its operations', async () => {
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

inBrowser('the reference sends a request with a pasted key once somebody has switched that on', async () => {
  const { page, url, key } = stage as BrowserStage;
  await page.evaluate('sessionStorage.clear()');
  await page.goto(`${url}/docs`);
  await page.locator('.opblock').first().waitFor();
  // Until somebody switches requests on, nothing of the page sends one.
  await page.locator('#operations-Service-getStatus .opblock-summary-control').click();
  await page.locator('#operations-Service-getStatus .sample pre', { hasText: `curl "${url}/api/v1/status"` }).waitFor();
  expect(await page.locator('.execute, .try-out__btn').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Authorize' }).isVisible()).toBe(false);
  await page.getByLabel('Send requests').check();
  await page.locator('#trying', { hasText: 'Execute sends a real request with the key that you enter.' }).waitFor();
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  await page.locator('.auth-container input').fill(key);
  await page.locator('.auth-btn-wrapper .authorize').click();
  await page.locator('.btn-done').click();
  const status = page.locator('#operations-Service-getStatus');
  expect(await status.locator('.refusals summary').innerText()).toBe('Refusals: 400, 401, 403, 429, Other');
  expect(await status.locator('.responses-table .response').count()).toBe(1);
  await page.locator('#operations-Service-getStatus .execute').click();
  await page
    .locator('#operations-Service-getStatus .live-responses-table .response-col_status', { hasText: '200' })
    .waitFor();
  expect((stage as BrowserStage).complaints).toEqual([]);
});

inBrowser('the reference fits a dark room and a phone', async () => {
  const { page } = stage as BrowserStage;
  await resize(page, 390, 844);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  const ground = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  const light = await ground();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.locator('html.dark-mode').waitFor();
  expect(await ground()).not.toBe(light);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.locator('html:not(.dark-mode)').waitFor();
});
