import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { PosternClient } from '../../src/client/postern-client.ts';
import { FEATURES } from '../../src/features/list.ts';
import { axeFaults, CHROMIUM, inBrowser, openPage, unroute } from '../support/browser.ts';
import { FleetMac, KEY } from '../support/fleet-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { deletedWith } from '../support/without-features.ts';

/** Features with views or parts of views in the console; the list is without them, and without what needs them. */
const GONE: ReadonlySet<string> = new Set(
  ['access', 'overview', 'search', 'contacts', 'scheduled', 'changes'].flatMap(deletedWith),
);

describe('the console of a service without some features', () => {
  const mac = new FleetMac(temporaryFolder(), {});
  let browser: Browser;
  let page: Page;
  /** Requests that the service refused, and errors of scripts. */
  const complaints: string[] = [];

  beforeAll(async () => {
    if (CHROMIUM === undefined) return;
    mac.features = FEATURES.filter(({ name }) => !GONE.has(name));
    mac.write('The kettle is on');
    await mac.start();
    ({ browser, page } = await openPage(CHROMIUM));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('response', (response) => {
      if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
    });
    await page.goto(`${mac.url}/console#key=${KEY}`);
    await page.locator('#verdict').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await mac.dispose();
  });

  const visit = async (hash: string, shows: string): Promise<void> => {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await page.locator(shows).first().waitFor();
  };

  inBrowser('has the views of the rest alone, also in the palette and by an address', async () => {
    const names = page.locator('#views a[data-place] > span:first-of-type');
    expect(await names.allTextContents()).toEqual(['Overview', 'Messages', 'Events', 'Webhooks']);
    await page.locator('#jump').click();
    await page.locator('dialog.palette [role="option"]').first().waitFor();
    const offered = await page.locator('dialog.palette [role="option"]').allTextContents();
    expect(offered.filter((text) => /key|approval|audit/i.test(text) && !/shortcuts/.test(text))).toEqual([]);
    await page.keyboard.press('Escape');
    for (const view of ['keys', 'keys/new', 'approvals', 'audit']) {
      await page.goto(`${mac.url}/console#/${view}`);
      await page.locator('#verdict').waitFor();
      expect(await page.title()).toMatch(/Overview · Postern$/);
    }
  });

  inBrowser('offers nothing that it cannot do', async () => {
    await visit('#/overview', '.start');
    expect(await page.locator('.start h2').allTextContents()).toEqual([
      'Receive your messages elsewhere',
      'Send a first message',
    ]);
    await visit('#/c/any%3B-%3B%2B15550100', '#message-list .msg');
    expect(await page.locator('[aria-label="Send later"]').count()).toBe(0);
    expect(await page.locator('[aria-label="Search in this conversation"]').count()).toBe(0);
    const box = page.getByRole('searchbox', { name: 'Find a person or group' });
    await box.fill('0100');
    await page.locator('#people-list button', { hasText: '+15550100' }).waitFor();
    expect(await page.locator('[aria-label="Narrow the search"]').isVisible()).toBe(false);
    await box.fill('nobody');
    await page.locator('#search-state', { hasText: 'Nobody found.' }).waitFor();
    await page.keyboard.press('Escape');
    await visit('#/webhooks/new', '#webhook-form');
    const values = (name: string): Promise<readonly string[]> =>
      page.evaluate(`[...document.querySelectorAll('[name="${name}"]')].map((one) => one.getAttribute('value'))`);
    expect(await values('group')).toEqual(['Received', 'Sent', 'Reactions']);
    expect((await values('event')).filter((type) => type.includes('updated'))).toEqual([]);
    expect(await values('include')).toEqual(['details']);
  });

  inBrowser('lets a webhook give up events that are no longer possible', async () => {
    const { id } = await new PosternClient({ url: mac.url, key: KEY }).addWebhook({
      url: 'http://127.0.0.1:9/hook',
      events: ['message.received'],
    });
    await page.route(`**/webhooks/${id}`, async (route) => {
      const json = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...json, events: ['message.received', 'message.updated'] } });
    });
    await visit(`#/webhooks/${id}/edit`, '#webhook-form [name="group"][value="Changes"]');
    await unroute(page);
  });

  inBrowser('asks for nothing that there is not, and axe finds nothing', async () => {
    for (const [hash, shows] of [
      ['#/overview', '#verdict'],
      ['#/messages', '#conversation-list a'],
      ['#/messages?new', '#recipient'],
      ['#/events', '#events .ev'],
      ['#/webhooks', '#webhooks h1'],
      ['#/webhooks/new', '#webhook-form'],
      ['#/settings', '#s-about'],
    ] as const) {
      await visit(hash, shows);
      expect([hash, await axeFaults(page)]).toEqual([hash, []]);
    }
    expect(complaints).toEqual([]);
  });
});
