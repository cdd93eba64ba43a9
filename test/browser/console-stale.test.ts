import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary.ts';

const BEN = '+15550101';
const MINUTE_MS = 60_000;

const folder = temporaryFolder();
let stage: BrowserStage | undefined;
/** True while the way to the service passes no WebSocket, as some proxies. */
let isWithoutStreams = false;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

async function ask(path: string, body: unknown): Promise<Record<string, string>> {
  const response = await fetch(`${there().url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': there().key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, string>;
}

async function signIn(key: string, hash: string): Promise<void> {
  const { page, url } = there();
  if (page.url().startsWith(url)) await page.evaluate('sessionStorage.clear()');
  await page.goto('about:blank');
  await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
  await page.locator('#views a').first().waitFor();
  await page.evaluate(`location.hash = '${hash}'`);
}

/** Lets the page do what it does by itself in this time. */
const pass = (ms: number): Promise<void> => there().page.clock.runFor(ms);

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  await stage.page.clock.install();
  await stage.page.routeWebSocket(/\/api\/v1\/ws\?/, (stream) => {
    if (isWithoutStreams) void stream.close();
    else stream.connectToServer();
  });
});
afterAll(async () => {
  await stage?.close();
});

describe('the console', () => {
  inBrowser('claims no health below a banner that says that nothing answers', async () => {
    const { page, complaints } = there();
    await signIn(there().key, '#/overview');
    await page.locator('#verdict', { hasText: 'Everything works' }).waitFor();
    await page.locator('#overview .checks .good').first().waitFor();
    await there().stopService();
    await page.locator('#outage', { hasText: 'Postern does not answer.' }).waitFor();
    await page.locator('#verdict', { hasText: /^Not known since \d/ }).waitFor();
    expect(await page.locator('#overview').getByText('Everything works').count()).toBe(0);
    expect(await page.locator('#overview :is(.verdict, .checks) .good').count()).toBe(0);
    expect(await there().faults()).toEqual([]);
    await there().startService();
    await pass(MINUTE_MS);
    await page.locator('#verdict', { hasText: 'Everything works' }).waitFor();
    await page.locator('#health', { hasText: 'Live' }).waitFor();
    complaints.splice(0);
  });

  inBrowser('says what the status says in the banner, and withdraws both together', async () => {
    const { page } = there();
    const message = 'chat.db is away';
    await page.route('**/api/v1/overview', async (route) => {
      const response = await route.fetch();
      const answer = (await response.json()) as { readonly status: object };
      const status = { ...answer.status, backend: { connected: false, message } };
      await route.fulfill({ response, json: { ...answer, status } });
    });
    await pass(MINUTE_MS / 2);
    await page.locator('#outage', { hasText: `cannot read your messages: ${message}` }).waitFor();
    expect(await page.textContent('#verdict')).toBe('Postern cannot read your messages');
    await page.unroute('**/api/v1/overview');
    await pass(MINUTE_MS / 2);
    await page.locator('#verdict', { hasText: 'Everything works' }).waitFor();
    await page.locator('#outage').waitFor({ state: 'hidden' });
  });

  inBrowser('says that events do not arrive, and not that Postern is silent, where no WebSocket leads', async () => {
    const { page, complaints } = there();
    isWithoutStreams = true;
    await signIn(there().key, '#/events');
    await page.locator('#outage', { hasText: 'New events do not arrive here' }).waitFor();
    await page.locator('#live-state', { hasText: 'Not listening' }).waitFor();
    expect(await page.textContent('#health')).toBe('Needs attention');
    isWithoutStreams = false;
    await pass(MINUTE_MS / 2);
    await page.locator('#live-state', { hasText: 'Live' }).waitFor();
    await page.locator('#outage').waitFor({ state: 'hidden' });
    complaints.splice(0);
  });

  inBrowser('is not live with a key that hears no events, and notices by itself that nothing answers', async () => {
    const { page, complaints } = there();
    const { key = '' } = await ask('keys', { name: 'writer', scopes: ['read', 'send'], read: '*', send: [BEN] });
    await signIn(key, '#/settings');
    await page.locator('#s-about').waitFor();
    await page.locator('#health', { hasText: 'Connected' }).waitFor();
    await there().stopService();
    await pass(MINUTE_MS);
    await page.locator('#outage', { hasText: 'Postern does not answer.' }).waitFor();
    await there().startService();
    await pass(MINUTE_MS);
    await page.locator('#outage').waitFor({ state: 'hidden' });
    complaints.splice(0);
  });
});
