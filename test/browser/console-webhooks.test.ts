import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser, unroute } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Somebody who has no part in the story of the demo. */
const FROM = '+15550142';
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

/** Waits until the service has stored what the receiver saw, because the page reads it only once. */
async function stored(path: string, words: string): Promise<void> {
  const { url, key } = there();
  await eventually(async () => {
    const answer = await fetch(`${url}/api/v1/webhooks${path}`, { headers: { 'x-api-key': key } });
    expect(await answer.text()).toContain(words);
  });
}

describe('webhooks in the console', () => {
  inBrowser('shows somebody without a webhook what to type, and the way to the form', async () => {
    const { page, url, key } = there();
    await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
    await page.locator('#views a', { hasText: 'Webhooks' }).click();
    // Limited to this view, because the overview, shown until then, has both too.
    const view = page.locator('#webhooks');
    // The words of this service, which `postern` alone would not reach.
    const { cli } = await there().client.status();
    await view.locator('.code pre', { hasText: `${cli?.program} webhooks listen ${cli?.options}` }).waitFor();
    await view.getByRole('link', { name: 'Add a webhook' }).click();
    expect(await there().faults()).toEqual([]);
  });

  inBrowser('adds and tests a webhook, shows its deliveries and replays it', async () => {
    const { page } = there();
    const receiver = await Receiver.start();
    try {
      await page.getByLabel('Address', { exact: true }).fill(receiver.url);
      await page.locator('[name="group"][value="Sent"]').check();
      await page.locator('[name="group"][value="Received"]').uncheck();
      // The example follows the form.
      await page.locator('#webhooks aside .code', { hasText: '"type": "message.sent"' }).waitFor();
      await page.getByRole('button', { name: 'Add a header' }).click();
      await page.getByLabel('Name of the header').fill('Authorization');
      await page.getByLabel('Value of the header').fill('Bearer only-mine');
      await page.getByRole('button', { name: 'Add and send a test' }).click();
      await page.locator('#toast', { hasText: 'The receiver answered 204' }).waitFor();
      expect(receiver.deliveries[0]?.headers.authorization).toBe('Bearer only-mine');
      await page.locator('.head [aria-haspopup]').click();
      await page.getByRole('menuitem', { name: 'Replay …' }).click();
      await page.locator('dialog [name="time"]').fill('2020-01-01T00:00');
      await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
      await page.locator('#toast', { hasText: /Delivering everything after .+2020.+\(row 0\) again/ }).waitFor();
      await eventually(() => expect(receiver.deliveries.length).toBeGreaterThan(1));
      await stored(`/${new URL(page.url()).hash.split('/').at(-1)}/deliveries`, '"message.sent"');
      await page.reload();
      await page.locator('#delivery-list summary', { hasText: 'webhook.test' }).click();
      await page.locator('#delivery-list', { hasText: 'message.sent' }).waitFor();
      expect(await there().faults()).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    } finally {
      await receiver.close();
    }
  });

  inBrowser('keeps a removed webhook in its place while somebody points at the table', async () => {
    const { page } = there();
    const { id } = await there().client.addWebhook({ url: 'http://127.0.0.1:9/gone', events: ['message.sent'] });
    await page.evaluate(`location.hash = '#/webhooks'`);
    const row = page.locator(`#webhook-list tr[data-id="${id}"]`);
    await row.hover();
    await there().client.removeWebhook(id);
    await page.evaluate(`dispatchEvent(new HashChangeEvent('hashchange'))`);
    await row.getByText('Removed').waitFor();
    await page.mouse.move(0, 0);
    await row.waitFor({ state: 'detached' });
  });

  inBrowser('keeps the buttons of the overview in their places while somebody points at them', async () => {
    const { page } = there();
    const trouble = (name: string, dropped: number) => ({
      id: name,
      name,
      state: 'failing',
      last_error: 'No.',
      dropped,
    });
    let webhooks = [trouble('First', 2)];
    await page.route('**/api/v1/overview', async (route) => {
      const response = await route.fetch();
      const real = (await response.json()) as { readonly status: object };
      await route.fulfill({ response, json: { ...real, status: { ...real.status, webhooks } } });
    });
    const again = async (name: string) => {
      await page.evaluate(`dispatchEvent(new HashChangeEvent('hashchange'))`);
      await page.locator('.todo li', { hasText: name }).waitFor();
    };
    await page.evaluate(`location.hash = '#/overview'`);
    const button = page.locator('.todo li', { hasText: 'First' }).getByRole('button');
    await button.hover();
    const place = await button.boundingBox();
    // It would be above, because more is lost.
    webhooks = [trouble('First', 2), trouble('Worse', 9)];
    await again('Worse has dropped 9 events');
    expect(await button.boundingBox()).toEqual(place);
    await page.locator('.todo li', { hasText: 'Worse' }).getByRole('button').hover();
    webhooks = [trouble('Worse', 9)];
    await again('Worse has dropped 9 events');
    await page.locator('.todo [inert]', { hasText: 'First' }).waitFor();
    await page.mouse.move(0, 0);
    await page.locator('.todo [inert]').waitFor({ state: 'detached' });
    await unroute(page);
  });

  inBrowser('says why a webhook fails, since when, and what becomes of its events, and tries at once', async () => {
    const { page, url, key } = there();
    let isUp = false;
    const receiver = await Receiver.start((response) => void response.writeHead(isUp ? 204 : 503).end('not ready'));
    try {
      const made = await fetch(`${url}/api/v1/webhooks`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({
          url: receiver.url,
          name: 'Archive',
          events: ['message.received'],
          on_failure: 'hold',
          // Leaves out the story of the demo.
          filter: { senders: [FROM] },
        }),
      });
      const { id } = (await made.json()) as { readonly id: string };
      await there().command({ do: 'receive', from: FROM, text: 'held for the receiver' });
      await eventually(() => expect(receiver.deliveries.length).toBeGreaterThanOrEqual(3));
      await stored(`/${id}`, '"state":"held"');
      await page.locator('#views a', { hasText: 'Webhooks' }).click();
      await page.locator(`[data-id="${id}"] .state`, { hasText: 'Holding' }).waitFor();
      await page.getByRole('link', { name: 'Archive' }).click();
      await page.getByText('The receiver answered 503').first().waitFor();
      await page.locator('.note.warn', { hasText: /kept\. Postern tries again until it succeeds/ }).waitFor();
      // What is held is amber everywhere.
      await page.locator('.plot rect.t-warn').waitFor();
      expect(await page.locator('.plot rect.t-bad').count()).toBe(0);
      // The held event is listed first, so the list does not say that nothing was sent.
      const waiting = page.locator('#delivery-list details', { hasText: /\d tries/ });
      await waiting.locator('summary').click();
      const tries = Number(/(\d+) tries/.exec((await waiting.locator('summary').textContent()) ?? '')?.[1]);
      expect(tries).toBeGreaterThanOrEqual(3);
      expect(await waiting.locator('.tries li', { hasText: 'The receiver answered 503' }).count()).toBe(tries);
      expect(await waiting.locator('.code pre').textContent()).toBe('not ready');
      expect(await there().faults()).toEqual([]);
      isUp = true;
      await page.getByRole('button', { name: 'Try now' }).click();
      await stored(`/${id}`, '"state":"healthy"');
      await page.reload();
      await page.locator('.head .state', { hasText: 'Delivers' }).waitFor();
      const sent = receiver.deliveries.length;
      const last = page.locator('#delivery-list details').last();
      await last.locator('summary').click();
      await last.getByRole('button', { name: 'Send again' }).click();
      await page.locator('#toast', { hasText: 'The receiver answered 204' }).waitFor();
      const again = receiver.deliveries.slice(sent).map(({ event }) => event.data.body);
      expect(again).toContain('held for the receiver');
    } finally {
      await receiver.close();
    }
  });

  inBrowser(
    'says how many events were dropped and for what message, and delivers them again with one click',
    async () => {
      const { page, url, key } = there();
      let isUp = false;
      const receiver = await Receiver.start((response) => void response.writeHead(isUp ? 204 : 503).end('closed'));
      try {
        const made = await fetch(`${url}/api/v1/webhooks`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          body: JSON.stringify({
            url: receiver.url,
            name: 'Front door',
            events: ['message.received'],
            filter: { senders: [FROM] },
          }),
        });
        const { id } = (await made.json()) as { readonly id: string };
        await there().command({ do: 'receive', from: FROM, text: 'Somebody is at the door' });
        await stored(`?include=status`, '"dropped":1');
        await page.evaluate(`location.hash = '#/overview'`);
        await page.locator('#verdict', { hasText: 'Front door has dropped 1 event' }).waitFor();
        expect(await page.locator('.verdict').textContent()).not.toContain('Nothing is lost');
        const todo = page.locator('.todo li', { hasText: 'Front door has dropped 1 event' });
        await todo.getByRole('button', { name: 'Deliver it again' }).waitFor();
        expect(await there().faults()).toEqual([]);
        await todo.getByRole('link', { name: 'See deliveries' }).click();
        const row = page.locator('#delivery-list details', { hasText: 'Somebody is at the door' });
        await row.waitFor();
        await page.locator('.head [aria-haspopup]').click();
        await page.getByRole('menuitem', { name: 'Replay …' }).click();
        const dialog = page.getByRole('dialog');
        expect(await dialog.getByRole('radio', { name: /^The dropped event/ }).isChecked()).toBe(true);
        expect(await dialog.getByRole('radio').count()).toBe(3);
        expect(await there().faults()).toEqual([]);
        await dialog.getByRole('button', { name: 'Cancel' }).click();
        isUp = true;
        await page.locator('.note.bad').getByRole('button', { name: 'Deliver it again' }).click();
        await stored(`/${id}/deliveries?include=tries`, 'redelivered_at');
        await page.reload();
        await row.filter({ hasText: 'Delivered again' }).locator('summary .state.good').waitFor();
      } finally {
        await receiver.close();
      }
    },
  );

  inBrowser('changes, pauses and removes a webhook, and keeps what the form does not show', async () => {
    const { page, url, key } = there();
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const shown = async () => {
      const answer = await fetch(`${url}/api/v1/webhooks?include=status`, { headers });
      return ((await answer.json()) as { id: string; url: string; name: string | null; filter: object | null }[])[0];
    };
    const first = await shown();
    await fetch(`${url}/api/v1/webhooks/${first?.id}`, {
      method: 'PATCH',
      headers,
      body: JSON.stringify({ filter: { junk: false, senders: ['+15550100'] } }),
    });
    await page.locator('#views a', { hasText: 'Webhooks' }).click();
    const row = page.locator(`tr[data-id="${first?.id}"]`);
    await row.locator('[aria-haspopup]').click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByRole('heading', { name: 'Edit the webhook' }).waitFor();
    expect(await page.getByLabel('Name of the header').inputValue()).toBe('Authorization');
    expect(await page.getByLabel('Value of the header').inputValue()).toBe('');
    await page.getByLabel('Name', { exact: true }).fill('Kitchen display');
    await page.getByLabel('Only these conversations').fill('Gard');
    await page.getByRole('option', { name: /^Garden Ana/ }).click();
    expect(await there().faults()).toEqual([]);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.locator('#toast', { hasText: 'Webhook changed' }).waitFor();
    const now = await shown();
    expect(now?.name).toBe('Kitchen display');
    expect(now?.filter).toEqual({ junk: false, senders: ['+15550100'], conversation_ids: ['any;+;chat424242'] });
    await page.locator('.head [aria-haspopup]').click();
    await page.getByRole('menuitem', { name: 'Pause' }).click();
    await page.locator('.head .state', { hasText: 'Paused' }).waitFor();
    await page.locator('.head [aria-haspopup]').click();
    await page.getByRole('menuitem', { name: 'Resume' }).click();
    await page.locator('.head .state', { hasText: /Delivers|Failing/ }).waitFor();
    await page.locator('.head [aria-haspopup]').click();
    await page.getByRole('menuitem', { name: 'Remove …' }).click();
    await page
      .getByRole('dialog', { name: 'Remove Kitchen display?' })
      .getByRole('button', { name: /^Remove/ })
      .click();
    // The page returns to the list once the webhook is removed.
    await page.waitForURL(/#\/webhooks$/);
    await row.waitFor({ state: 'detached' });
  });

  inBrowser('says which value of the form is wrong, and keeps what was typed', async () => {
    const { page } = there();
    await page.evaluate(`location.hash = '#/webhooks/new'`);
    await page.getByLabel('Address', { exact: true }).fill('http://127.0.0.1:9/hook');
    await page.getByRole('button', { name: 'Add a header' }).click();
    await page.getByLabel('Name of the header').fill('Host');
    await page.getByLabel('Value of the header').fill('x');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('#webhook-form-result', { hasText: 'The header `Host` cannot be set' }).waitFor();
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe('http://127.0.0.1:9/hook');
    // The browser itself logs the refusal.
    expect(there().complaints.splice(0)).toEqual([expect.stringContaining('400')]);
  });
});
