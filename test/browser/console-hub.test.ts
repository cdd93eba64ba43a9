import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import {
  axeFaults,
  CHROMIUM,
  inBrowser,
  offTheSide,
  openPage,
  pressInARow,
  resize,
  unroute,
} from '../support/browser.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Fleet, type Hub, type Mac } from '../support/fleet-fixture.ts';
import { lie } from '../support/lying-mac.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { StandInMachine } from '../support/stand-in-mac-machine.ts';

const BEN = 'any;-;+15550100';
/** The views of a hub, and some of a Mac behind it: the query, the hash, and what is there then. */
const STATES = [
  ['', '#/overview', '#mac-list tr'],
  ['', '#/messages', '#merged-list li'],
  ['', '#/events', '#live-state'],
  ['', '#/webhooks', '#webhooks h1'],
  ['', '#/webhooks/new', '#webhook-form'],
  ['', '#/settings', '#s-about'],
  ['?mac=m1', '#/overview', '#verdict'],
  ['?mac=m1', '#/c/any%3B-%3B%2B15550100', '#message-list .msg'],
  ['?mac=m1', '#/settings', '#s-about'],
] as const;
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

describeWithNats('the console at a hub', () => {
  let server: NatsServer;
  let fleet: Fleet;
  let hub: Hub;
  let m1: Mac;
  let m2: Mac;
  let hostile: StandInMachine;
  let browser: Browser;
  let page: Page;
  let title: string | null;
  /** Errors of scripts, violations of the policy, dialogs, and requests to anybody but the hub. */
  const complaints: string[] = [];
  const asked: string[] = [];

  beforeAll(async () => {
    if (CHROMIUM === undefined) return;
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
    m1 = await fleet.mac('m1');
    m2 = await fleet.mac('m2');
    hub = await fleet.hub();
    m1.write('Hello from one');
    m2.write('Hello from two');
    const picture = join(m1.attachments(), 'beans.png');
    writeFileSync(picture, Buffer.from(PIXEL, 'base64'));
    m1.database.attach(m1.write('A picture'), picture, { mime_type: 'image/png', transfer_name: 'beans.png' });
    await hub.texts(3, 'after=0');
    ({ browser, page } = await openPage(CHROMIUM));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('dialog', (dialog) => complaints.push(dialog.message()));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('request', (request) => {
      const url = request.url();
      if (url.startsWith(`${hub.url}/`)) asked.push(url.slice(hub.url.length));
      else if (!/^(?:data|blob):/.test(url)) complaints.push(`asked ${url}`);
    });
    await page.goto(`${hub.url}/console`);
    title = await page.locator('#sign-in-title').textContent();
    await page.fill('#key', hub.key);
    await page.keyboard.press('Enter');
    await page.locator('#verdict').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await hostile?.stop();
    await fleet?.stop();
    await server?.dispose();
  });

  /** Opens the hub's console again at a view. */
  async function atHub(hash: string): Promise<void> {
    await page.goto(`${hub.url}/console${hash}`);
    await page.locator('#views a').first().waitFor();
  }

  const views = (): Promise<readonly string[]> =>
    page.locator('#views a[data-place] > span:first-of-type').allTextContents();

  inBrowser('shows its Macs and the views that it has', async () => {
    expect(title).toBe('Sign in to the hub');
    expect(await views()).toEqual(['Overview', 'Messages', 'Events', 'Webhooks']);
    expect(await page.locator('#service-name').textContent()).toBe('Hub · 2 Macs');
    await page.locator('#mac-list tr').nth(1).waitFor();
    const rows = await page.locator('#mac-list tr').allInnerTexts();
    expect(rows.map((row) => row.split(/\s+/).slice(0, 2))).toEqual([
      ['m1', 'Present'],
      ['m2', 'Present'],
    ]);
    expect(rows[0]).toContain('1.2.3');
    expect(await page.locator('#verdict').textContent()).toBe('Everything works');
    expect(await axeFaults(page)).toEqual([]);
    for (const view of ['messages', 'events', 'webhooks', 'webhooks/new', 'settings']) {
      await page.evaluate(`location.hash = '#/${view}'`);
      await page.locator(`main [data-view="${view.split('/')[0]}"]:not([hidden]), #merged:not([hidden])`).waitFor();
      await page.locator('main > :not([hidden]) h1').first().waitFor();
      expect([view, await axeFaults(page)]).toEqual([view, []]);
    }
    expect(complaints).toEqual([]);
  });

  inBrowser('lists the conversations of all Macs, and leads to the one on its Mac', async () => {
    await page.clock.install();
    await atHub('#/messages');
    await page.reload();
    await page.locator('#merged-list li').nth(1).waitFor();
    const macs = await page.locator('#merged-list .address').allTextContents();
    expect(macs.toSorted()).toEqual(['m1', 'm2']);
    await page.locator('#merged .thread', { hasText: 'opens in the console of its Mac' }).waitFor();
    // A search that failed is made again.
    const find = page.getByLabel('Find by name or number');
    await page.route(/q=nobody/, (route) => route.fulfill({ status: 503, json: {} }), { times: 1 });
    await Promise.all([page.waitForResponse(/q=nobody/), find.fill('nobody')]);
    await page.clock.runFor(15_000);
    await page.locator('#merged .empty', { hasText: 'Nothing found' }).waitFor();
    await find.fill('0100');
    await page.locator('#merged-list [data-mac="m1"]').click();
    await page.locator('#message-list', { hasText: 'Hello from one' }).waitFor();
    expect(new URL(page.url()).search).toBe('?mac=m1');
  });

  inBrowser('shows a Mac with its name everywhere, over its path alone', async () => {
    await page.goto('about:blank');
    asked.splice(0);
    await page.goto(`${hub.url}/console?mac=m1#/c/${encodeURIComponent(BEN)}`);
    await page.locator('#message-list', { hasText: 'Hello from one' }).waitFor();
    expect(await page.title()).toContain(' · m1 · Postern');
    expect(await page.locator('#here').textContent()).toBe('m1');
    expect(await page.locator('#body').getAttribute('placeholder')).toBe('iMessage from m1');
    expect(await page.locator('#body').getAttribute('aria-label')).toMatch(/^Message to .* from m1$/);
    expect(await views()).toEqual(expect.arrayContaining(['Approvals', 'Keys', 'Audit log']));
    // Its pictures come through the path, as blobs.
    const picture = page.locator('#message-list .picture img').first();
    await picture.waitFor();
    expect(await picture.getAttribute('src')).toMatch(/^blob:/);
    expect(asked.some((path) => /^\/macs\/m1\/api\/v1\/messages\/\d+\/attachments\//.test(path))).toBe(true);
    // What happens there arrives without a reload.
    m1.write('And this is new');
    await page.locator('#message-list', { hasText: 'And this is new' }).waitFor();
    expect(await page.locator('#message-list', { hasText: 'Hello from two' }).count()).toBe(0);
    await page.fill('#body', 'An answer');
    await page.locator('#send').click();
    await eventually(() => expect(asked).toContain('/macs/m1/api/v1/messages'));
    const elsewhere = asked.filter((path) => !/^\/(?:console(?:\?mac=m1)?$|static\/|macs\/m1\/api\/v1\/)/.test(path));
    expect(elsewhere).toEqual([]);
    expect(await axeFaults(page)).toEqual([]);
    for (const view of ['overview', 'events', 'webhooks', 'keys', 'settings']) {
      await page.evaluate(`location.hash = '#/${view}'`);
      await page.locator(`#views a[data-place="${view}"][aria-current], #foot-links [aria-current]`).waitFor();
      expect(await page.title()).toContain(' · m1 · Postern');
    }
    await page.locator('#way-back').click();
    await page.locator('#mac-list tr').first().waitFor();
    expect(await page.title()).toBe('Overview · Postern');
  });

  inBrowser('has the name and the way back on a phone too', async () => {
    await resize(page, 390, 844);
    await page.goto(`${hub.url}/console?mac=m2#/messages`);
    const bar = page.locator('.place-bar');
    await bar.waitFor();
    expect(await bar.locator('b').textContent()).toBe('m2');
    // The bar is there before the view.
    await page.locator('#conversation-list a').first().waitFor();
    expect(await axeFaults(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    // A thread has one way back: to its list.
    await page.locator('#conversation-list a').first().click();
    await page.locator('#back').waitFor();
    expect(await bar.getByRole('link').count()).toBe(0);
    await page.locator('#back').click();
    await bar.getByRole('link').click();
    await page.locator('#mac-list tr').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await axeFaults(page)).toEqual([]);
    await resize(page, 1280, 800);
  });

  inBrowser('can be read at twice the size and from right to left: nothing runs off the side', async () => {
    for (const [width, dir] of [
      [640, 'ltr'],
      [640, 'rtl'],
      [1280, 'rtl'],
    ] as const) {
      await resize(page, width, width === 640 ? 400 : 800);
      for (const [place, hash, shows] of STATES) {
        await page.goto('about:blank');
        await page.goto(`${hub.url}/console${place}${hash}`);
        await page.locator(shows).first().waitFor();
        await page.evaluate(`document.documentElement.dir = '${dir}'`);
        expect([width, dir, hash, await offTheSide(page)]).toEqual([width, dir, hash, []]);
        expect([hash, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([hash, true]);
      }
    }
    await resize(page, 1280, 800);
  });

  inBrowser('leads to a Mac and back with the keyboard alone', async () => {
    await atHub('#/overview');
    const focused = (): Promise<string | null> => page.evaluate<string | null>('document.activeElement.textContent');
    await page.locator('#mac-list tr').first().waitFor();
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toBe('m1');
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toBe('m2');
    await pressInARow(page, 'g', 'm');
    await page.locator('#merged-list a').nth(1).waitFor();
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('#merged-list li').nth(1).locator('a:focus').count()).toBe(1);
    await page.keyboard.press('/');
    await page.locator('#merged [type="search"]:focus').waitFor();
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('#here').waitFor();
    await page.locator('#message-list .msg').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('All Macs');
    await page.locator('[role="option"][aria-selected="true"]', { hasText: 'All Macs' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#mac-list tr').first().waitFor();
  });

  inBrowser('shows the events of all Macs, each with its Mac, as they happen', async () => {
    // The Macs of this test have no contacts.
    await page.route('**/api/v1/conversations?*', async (route) => {
      const response = await route.fetch();
      const conversations = (await response.json()) as readonly object[];
      const names = { '+15550100': 'Ana Silva' };
      await route.fulfill({ response, json: conversations.map((one) => ({ ...one, names })) });
    });
    await atHub('#/events');
    await page.reload();
    await page.locator('#live-state', { hasText: 'Live' }).waitFor();
    m1.write('Event of one');
    m2.write('Event of two');
    const row = (text: string) => page.locator('#events .ev', { hasText: text });
    await row('Event of one').waitFor();
    await row('Event of two').waitFor();
    // What happened before is there, and a name where a conversation has one.
    await row('Hello from one').waitFor();
    expect(await row('Event of one').locator('.sum b').textContent()).toBe('Ana Silva');
    expect(await row('Event of two').locator('.tag').textContent()).toBe('m2');
    await page.getByLabel('Mac', { exact: true }).selectOption('m1');
    await row('Event of two').waitFor({ state: 'detached' });
    await row('Event of one').click();
    expect(await axeFaults(page)).toEqual([]);
    await page.locator('.drawer a', { hasText: 'Open message' }).click();
    await page.locator('#message-list', { hasText: 'Event of one' }).waitFor();
    expect(new URL(page.url()).search).toBe('?mac=m1');
    await unroute(page);
  });

  inBrowser('registers a webhook for all Macs', async () => {
    await atHub('#/webhooks');
    await page.locator('#webhooks .empty').waitFor();
    // Nobody knows how commands are started where the owner sits.
    expect(await page.locator('#webhooks .code').count()).toBe(0);
    await atHub('#/webhooks/new');
    await page.getByLabel('Address').fill('http://127.0.0.1:9/hook');
    await page.locator('#webhooks').getByRole('button', { name: 'Add and send a test' }).click();
    const [webhook] = await waitFor(async () => {
      const all = await hub.client.webhooks();
      return all.length === 1 && all;
    });
    expect(await page.locator('#webhooks [name="include"]').count()).toBe(0);
    await hub.client.removeWebhook(webhook?.id ?? '');
  });

  inBrowser('says since when a Mac is away, and opens its console when it is back', async () => {
    await m2.stop();
    await atHub('#/overview');
    await waitFor(async () => {
      await page.locator('#check-now').click();
      return (await page.locator('#mac-list tr').nth(1).textContent())?.includes('Away since');
    });
    expect(await page.locator('#verdict').textContent()).toBe('m2 is away');
    await page.evaluate(`location.hash = '#/messages'`);
    await page.locator('#merged [role=status]', { hasText: 'm2 did not answer' }).waitFor();
    await page.goto(`${hub.url}/console?mac=m2`);
    await page.getByRole('heading', { name: 'm2 does not answer' }).waitFor();
    expect(await page.locator('#key').count()).toBe(0);
    expect(await axeFaults(page)).toEqual([]);
    await m2.start();
    await page.locator('#here').waitFor();
    expect(await page.locator('#here').textContent()).toBe('m2');
    complaints.splice(0);
  });

  inBrowser('goes on listening to a Mac after the request limit, whichever view is shown then', async () => {
    await page.goto('about:blank');
    const headers = { 'retry-after': '1' };
    const limited = page.waitForResponse((response) => response.status() === 429);
    await page.route('**/events?*wait=*', (route) => route.fulfill({ status: 429, headers, json: {} }), { times: 1 });
    await page.goto(`${hub.url}/console?mac=m1#/overview`);
    await limited;
    // The next question follows the same event: it does not begin anew, as it would after a failure.
    const next = page.waitForRequest(/\/events\?/);
    await page.evaluate(`location.hash = '#/settings'`);
    expect((await next).url()).toContain('wait=');
  });

  inBrowser('keeps a view of a Mac that goes away, and reads the next one once it is back', async () => {
    await page.goto('about:blank');
    await page.goto(`${hub.url}/console?mac=m2#/overview`);
    await page.locator('#verdict').waitFor();
    await m2.stop();
    await page.evaluate(`location.hash = '#/keys'`);
    await page.locator('#outage', { hasText: 'm2 does not answer' }).waitFor();
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.evaluate(`location.hash = '#/overview'`);
    await page.locator('#verdict', { hasText: 'Not known since' }).waitFor();
    await page.evaluate(`location.hash = '#/c/${encodeURIComponent(BEN)}'`);
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
    await m2.start();
    await page.locator('#message-list', { hasText: 'Hello from two' }).waitFor();
    await page.locator('#outage').waitFor({ state: 'hidden' });
    complaints.splice(0);
  });

  inBrowser('runs nothing of a Mac that lies, and gives its key to nobody else', async () => {
    await page.goto('about:blank');
    await atHub('#/overview');
    hostile = await StandInMachine.start(fleet, 'h1', { handle: lie });
    await waitFor(async () => (await hub.client.status()).macs?.some(({ id }) => id === 'h1'));
    await page.locator('#check-now').click();
    await page.locator('#service-name', { hasText: 'Hub · 3 Macs' }).waitFor();
    await page.goto('about:blank');
    asked.splice(0);
    await page.goto(`${hub.url}/console?mac=h1#/c/${encodeURIComponent(BEN)}`);
    await page.locator('#message-list', { hasText: '<script>' }).waitFor();
    await page.locator('#message-list .doc', { hasText: 'page.html' }).waitFor();
    await page.locator('#message-list [title$="picture.png"]').first().click();
    for (const view of ['overview', 'events', 'webhooks', 'keys', 'approvals', 'audit', 'settings', 'messages']) {
      await page.evaluate(`location.hash = '#/${view}'`);
      await page.locator(`[data-place="${view}"][aria-current]`).first().waitFor();
    }
    // Asks for the next page of the list, which the Mac says is another Mac's.
    await page.getByRole('button', { name: 'Unread' }).click();
    await page.locator('#conversation-list .conv').first().waitFor();
    // Each of these is shown as text or saved, and nothing was asked of another Mac, the hub itself or a stranger.
    expect(await page.evaluate('document.title')).not.toBe('taken');
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(asked.filter((path) => !/^\/(?:console\?mac=h1$|static\/|macs\/h1\/api\/v1\/)/.test(path))).toEqual([]);
    expect(complaints.filter((text) => !/Failed to load resource/.test(text))).toEqual([]);
    // Opened as pages, they are files to save.
    for (const path of ['console', 'api/v1/messages/1/attachments/0']) {
      const saved = page.waitForEvent('download');
      await page.goto(`${hub.url}/macs/h1/${path}`).catch(() => undefined);
      await (await saved).cancel();
    }
  });
});
