import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { axeFaults, CHROMIUM, inBrowser, openPage, resize } from '../support/browser.ts';
import { ISSUER, OAuthProgram, REDIRECT, tunnelTo } from '../support/oauth.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

let mac: Awaited<ReturnType<typeof simulatedMac>> | undefined;
let service: Service | undefined;
let browser: Browser | undefined;
let page: Page;
let tunnel: typeof fetch;
/** URLs that the page's answers redirected to, newest last. */
const led: URL[] = [];

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: '+15550100', text: 'before' });
  service = await Service.start({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { oauth: { issuer: ISSUER } },
  });
  tunnel = tunnelTo(service.port);
  ({ browser, page } = await openPage(CHROMIUM));
  // The issuer's https address is on the internet: requests to it are passed to the tunnel, and redirects are only
  // noted.
  await page.route(`${ISSUER}/**`, async (route) => {
    const asked = route.request();
    const answer = await tunnel(asked.url(), {
      method: asked.method(),
      headers: { ...(await asked.allHeaders()), origin: ISSUER },
      ...(asked.postData() !== null && { body: asked.postData() }),
      redirect: 'manual',
    });
    const to = answer.headers.get('location');
    if (to !== null) led.push(new URL(to));
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => name !== 'location'));
    await route.fulfill({ status: to === null ? answer.status : 200, headers, body: await answer.text() });
  });
});
afterAll(async () => {
  await browser?.close();
  await service?.dispose();
  await mac?.dispose();
});

/** Opens the consent page in the browser, as a program does. */
async function asked(): Promise<void> {
  const program = await OAuthProgram.registered(tunnel, { client_name: 'Agent', redirect_uris: [REDIRECT] });
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: program.clientId,
    redirect_uri: REDIRECT,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    state: 'a state',
    resource: `${ISSUER}/mcp`,
  });
  await page.goto(`${ISSUER}/oauth/authorize?${query.toString()}`);
  await page.getByRole('heading', { name: 'Allow a program to use Messages' }).waitFor();
}

const keys = async () => ((await service?.get('/keys'))?.json ?? []) as readonly { readonly name: string }[];

describe('the page on which the owner lets a hosted agent in', () => {
  inBrowser('has the form of the console, for light and dark and a phone, without a fault that axe knows', async () => {
    await asked();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1280, 390]) {
        await resize(page, width, 844);
        expect(await axeFaults(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      }
    }
    const primary = `getComputedStyle(document.querySelector('.btn.first')).backgroundColor`;
    expect(await page.evaluate(primary)).toBe('rgb(139, 189, 246)');
  });

  inBrowser('keeps what was entered when the key is wrong, and then makes a key for the people named', async () => {
    await asked();
    await page.getByLabel('An assistant').check();
    await page.getByLabel('Whose conversations?').fill('+15550100');
    await page.getByLabel('Your key').fill('guess');
    await page.getByRole('button', { name: 'Allow for 90 days' }).click();
    await page.getByRole('alert').getByText('This is not your key.').waitFor();
    expect(await page.getByLabel('Whose conversations?').inputValue()).toBe('+15550100');
    expect(await page.getByLabel('An assistant').isChecked()).toBe(true);
    expect(await page.getByLabel('Your key').inputValue()).toBe('');
    await page.getByLabel('Your key').fill(KEY);
    const answered = page.waitForResponse(`${ISSUER}/oauth/authorize`);
    await page.getByRole('button', { name: 'Allow for 90 days' }).click();
    await answered;
    expect(led.at(-1)?.origin).toBe(new URL(REDIRECT).origin);
    expect(led.at(-1)?.searchParams.get('code')).toMatch(/./);
    expect(await keys()).toMatchObject([
      { name: 'Agent', read: ['+15550100'], send: ['+15550100'], approval: 'always' },
    ]);
  });

  inBrowser('makes no key when the owner refuses', async () => {
    const before = (await keys()).length;
    await asked();
    const answered = page.waitForResponse(`${ISSUER}/oauth/authorize`);
    await page.getByRole('button', { name: 'Refuse' }).click();
    await answered;
    expect(led.at(-1)?.searchParams.get('error')).toBe('access_denied');
    expect((await keys()).length).toBe(before);
  });
});
