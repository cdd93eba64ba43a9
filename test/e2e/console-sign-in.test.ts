import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
let stage: BrowserStage | undefined;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

beforeAll(async () => {
  stage = await BrowserStage.open(folder);
});
afterAll(async () => {
  await stage?.close();
});
afterEach(async () => {
  if (stage === undefined) return;
  const { page, complaints } = stage;
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.locator('#key').waitFor();
  expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
  expect(complaints).toEqual([]);
});

inBrowser('the address that postern open leads to signs in, and holds the key no longer', async () => {
  const { page, url, key } = there();
  const visited = Number(await page.evaluate('history.length'));
  await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
  await page.locator('#conversation-list button').first().waitFor();
  expect(page.url()).toBe(`${url}/console`);
  expect(await page.evaluate('history.length')).toBe(visited + 1);
  expect(await page.evaluate('localStorage.length')).toBe(0);
});

inBrowser('the key is remembered on this device when that was asked for', async () => {
  const { page, key } = there();
  await page.fill('#key', key);
  await page.getByLabel('Remember on this device').check();
  await page.keyboard.press('Enter');
  await page.locator('#views').waitFor();
  expect(await page.evaluate('Object.values(localStorage)')).toEqual([key]);
  // As in a new tab.
  await page.evaluate('sessionStorage.clear()');
  await page.reload();
  await page.locator('#views').waitFor();
});

inBrowser('the reference asks with the key of the console', async () => {
  const { page, url, key } = there();
  await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
  await page.locator('#conversation-list button').first().waitFor();
  await page.goto(`${url}/docs`);
  const status = page.locator('#operations-Service-getStatus');
  await status.locator('.opblock-summary-control').click();
  await status.locator('.execute').click();
  await status.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
  await page.goto(`${url}/console`);
});
