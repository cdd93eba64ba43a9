import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Script that records every text of the error of the form: some are shown for only a second. */
const RECORD_ERRORS = `{
  globalThis.keyErrors = [];
  const error = document.getElementById('key-error');
  new MutationObserver(() => keyErrors.push(error.textContent)).observe(error, { childList: true });
}`;

const folder = temporaryFolder();
let stage: BrowserStage | undefined;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
});
afterAll(async () => {
  await stage?.close();
});
afterEach(async () => {
  if (stage === undefined) return;
  const { page, complaints } = stage;
  await page.locator('#foot-links a', { hasText: 'Settings' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.locator('#key').waitFor();
  expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
  expect(complaints).toEqual([]);
});

const kept = (): Promise<unknown> =>
  there().page.evaluate('[Object.values(sessionStorage).join(), Object.values(localStorage).join()]');

/** Opens an address of the console, as a link of any page does. */
async function follow(fragment: string): Promise<void> {
  const { page, url } = there();
  await page.goto('about:blank');
  await page.goto(`${url}/console#${fragment}`);
}

/** Signs in with the form. */
async function signIn(key: string, isRemembered = false): Promise<void> {
  const { page } = there();
  await page.fill('#key', key);
  await page.getByLabel('Keep me signed in on this device').setChecked(isRemembered);
  await page.keyboard.press('Enter');
  await page.locator('#views a').first().waitFor();
}

async function agentsKey(name: string): Promise<string> {
  return (await there().client.keys.add({ name, preset: 'reader', read: '*' })).key;
}

/** What Chromium says of an answer above 399, which these tests expect. */
function expectRefusal(status: number): void {
  const { complaints } = there();
  expect(complaints.splice(0)).toEqual([expect.stringContaining(`status of ${status}`)]);
}

inBrowser('the address that postern open leads to signs in, and holds neither code nor key any longer', async () => {
  const { page, url, key, client } = there();
  const visited = Number(await page.evaluate('history.length'));
  await page.goto((await client.keys.signInCode()).url);
  await page.locator('#verdict').waitFor();
  expect(page.url()).toBe(`${url}/console`);
  expect(await page.evaluate('history.length')).toBe(visited + 1);
  expect(await kept()).toEqual([key, '']);
});

inBrowser('postern open signs in in a tab that works under another key', async () => {
  const { page, key, client } = there();
  await signIn(await agentsKey('earlier'));
  await page.goto((await client.keys.signInCode()).url);
  await eventually(async () => expect(await kept()).toEqual([key, '']));
  await page.locator('#verdict').waitFor();
});

inBrowser('a key in the address is taken at once while none is kept', async () => {
  const { page, url, key } = there();
  await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
  await page.locator('#verdict').waitFor();
  expect(page.url()).toBe(`${url}/console`);
});

inBrowser('a link with a wrong key or code signs nobody out, and forgets no remembered key', async () => {
  const { page, key } = there();
  await signIn(key, true);
  for (const [fragment, status, words] of [
    ['key=wrong', 401, 'The key in the link is wrong. Your stored key was not changed.'],
    ['code=wrong', 403, 'This sign-in code is wrong, was used already, or is older than 60 seconds.'],
  ] as const) {
    await follow(fragment);
    await page.locator('#offer-text', { hasText: words }).waitFor();
    await page.locator('#verdict').waitFor();
    expect(await kept()).toEqual([key, key]);
    expectRefusal(status);
  }
});

inBrowser('a link with a wrong key keeps nothing while nobody is signed in', async () => {
  const { page } = there();
  await follow('key=wrong');
  await page.locator('#key-error', { hasText: 'This key is not known here.' }).waitFor();
  expect(await kept()).toEqual(['', '']);
  expectRefusal(401);
  await signIn(there().key);
});

inBrowser('a link with the key of an agent puts nobody under it without a click', async () => {
  const { page, key } = there();
  const agent = await agentsKey('an agent');
  await signIn(key, true);
  await follow(`key=${encodeURIComponent(agent)}`);
  const take = page.getByRole('button', { name: 'Sign in with “an agent”' });
  await take.waitFor();
  await page.locator('#verdict').waitFor();
  expect(await kept()).toEqual([key, key]);
  expect(await there().faults()).toEqual([]);
  await page.getByRole('button', { name: 'Close' }).click();
  expect(await take.isVisible()).toBe(false);

  // In an open tab nothing is loaded again.
  await page.evaluate(`location.hash = ${JSON.stringify(`#key=${encodeURIComponent(agent)}`)}`);
  await take.waitFor();
  expect(page.url()).not.toContain('key=');
  await take.click();
  await eventually(async () => expect(await kept()).toEqual([agent, agent]));
  await page.locator('#views a').first().waitFor();
  // A key that only reads has no pen.
  await page.locator('#message-none', { hasText: /newest messages appear here\.$/ }).waitFor();
});

inBrowser('a key of the address is not taken by the reference', async () => {
  const { page, url, key } = there();
  await page.goto(`${url}/docs#key=${encodeURIComponent(key)}`);
  await page.locator('#operations-Service-getStatus').waitFor();
  expect(await kept()).toEqual(['', '']);
  await page.goto(`${url}/console`);
  await signIn(key);
});

inBrowser('the key is remembered on this device when that was asked for', async () => {
  const { page, key } = there();
  await page.fill('#key', key);
  await page.getByLabel('Keep me signed in on this device').check();
  await page.keyboard.press('Enter');
  await page.locator('#views a').first().waitFor();
  expect(await page.evaluate('Object.values(localStorage)')).toEqual([key]);
  // Like a new tab.
  await page.evaluate('sessionStorage.clear()');
  await page.reload();
  await page.locator('#views a').first().waitFor();
});

inBrowser('the reference asks with the key of the console', async () => {
  const { page, url, key } = there();
  await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
  await page.locator('#verdict').waitFor();
  await page.goto(`${url}/docs`);
  const status = page.locator('#operations-Service-getStatus');
  await page.locator('#trying', { hasText: 'This is the demo.' }).waitFor();
  await page.getByLabel('Send requests').check();
  await page.locator('#trying', { hasText: 'Execute sends a real request to the demo.' }).waitFor();
  await status.locator('.opblock-summary-control').click();
  await status.locator('.execute').click();
  await status.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
  await page.goto(`${url}/console`);
});

inBrowser('a key is kept while too much was asked, and signs in by itself once it may', async () => {
  const { page, url, key } = there();
  await page.evaluate('{ sessionStorage.clear(); localStorage.clear(); }');
  await page.goto(`${url}/console`);
  const refusal = { status: 429, headers: { 'retry-after': '1' }, json: { code: 'rate_limited', detail: 'Too many.' } };
  await page.route('**/api/v1/status', (route) => route.fulfill(refusal), { times: 1 });
  await page.fill('#key', key);
  await page.evaluate(RECORD_ERRORS);
  await page.keyboard.press('Enter');
  await page.locator('#verdict').waitFor();
  expect(await page.evaluate<string[]>('keyErrors')).toContain(
    'The request limit for this minute is reached. Signing in automatically in 1 s.',
  );
  expect(await kept()).toEqual([key, '']);
  expectRefusal(429);
});

inBrowser('shows nothing of an earlier key to the key that signs in after it', async () => {
  const { page, key, client } = there();
  const { id, key: agents } = await client.keys.add({ name: 'for Ana', preset: 'reader', read: ['+15550100'] });
  await signIn(agents);
  await page.locator('#views a', { hasText: 'Messages' }).click();
  await page.locator('#conversation-list a').first().waitFor();
  await page.locator('#message-none').waitFor();
  await client.keys.revoke(id);
  await page.locator('#key').waitFor();
  there().complaints.splice(0);
  await signIn(key);
  await page.locator('#conversation-list', { hasText: 'Garden' }).waitFor();
});

inBrowser('a kept key signs in by itself once Postern has started', async () => {
  const { page, key } = there();
  await signIn(key);
  await page.route('**/api/v1/**', (route) => route.abort());
  await page.reload();
  await page.locator('#key-error', { hasText: 'Postern does not answer.' }).waitFor();
  await page.unroute('**/api/v1/**');
  there().complaints.splice(0);
  await page.locator('#views a').first().waitFor();
  there().complaints.splice(0);
});
