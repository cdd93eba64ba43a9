import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Route } from 'playwright-core';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = 'any;-;+15550100';
const GARDEN = 'any;+;chat424242';
/** Script that returns what this browser has shown. */
const SEEN = `localStorage.getItem('postern-seen') ?? ''`;
/** Script that resolves once the page has handled what has arrived. */
const IS_HANDLED = `new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`;

const folder = temporaryFolder();
let stage: BrowserStage | undefined;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  await stage.page.clock.install();
  await stage.page.goto(`${stage.url}/console#key=${encodeURIComponent(stage.key)}`);
  await stage.page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.close();
});

const goTo = (hash: string) => there().page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

async function ask(path: string, body: unknown, key = there().key): Promise<Record<string, string>> {
  const response = await fetch(`${there().url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, string>;
}

/**
 * Holds the next answer to a request for `glob`. `isHeld` resolves once the service has answered. `release` passes the
 * answer on, and resolves once the page has handled it.
 */
function hold(glob: string) {
  const { page } = there();
  let pass = () => Promise.resolve();
  const isHeld = new Promise<void>((resolve, reject) => {
    const answer = async (route: Route) => {
      const response = await route.fetch();
      pass = () => route.fulfill({ response });
      resolve();
    };
    page.route(glob, answer, { times: 1 }).catch(reject);
  });
  return {
    isHeld,
    release: async () => {
      await pass();
      await page.evaluate(IS_HANDLED);
    },
  };
}

describe('the console, when an answer comes late', () => {
  inBrowser('does not replace the form of a new key or the table of keys', async () => {
    const { page } = there();
    const table = hold('**/api/v1/keys');
    await goTo('#/keys');
    await table.isHeld;
    await goTo('#/keys/new');
    await page.locator('#keys .steps').waitFor();
    await table.release();
    expect(await page.locator('#keys .steps').count()).toBe(1);
    const { id } = await ask('keys', { name: 'reader', preset: 'reader', read: '*' });
    const detail = hold(`**/api/v1/keys/${id}`);
    await goTo(`#/keys/${id}`);
    await detail.isHeld;
    await goTo('#/keys');
    await page.locator('#key-list').waitFor();
    await detail.release();
    expect(await page.locator('#key-list').count()).toBe(1);
    expect(await page.title()).toContain('Keys');
  });

  inBrowser('does not replace a conversation, or take a person off the list', async () => {
    const { page } = there();
    await goTo(`#/c/${GARDEN}`);
    const id = await page.locator('#message-list .msg', { hasText: 'Shall we plant' }).getAttribute('data-id');
    await goTo('#/messages');
    const message = hold(`**/api/v1/messages/${id}`);
    await goTo(`#/c/${GARDEN}/${id}`);
    await message.isHeld;
    await goTo(`#/c/${ANA}`);
    await page.locator('#message-list .msg', { hasText: 'Hello from the simulated Mac.' }).waitFor();
    await message.release();
    expect(await page.locator('#message-list .msg', { hasText: 'Shall we plant' }).count()).toBe(0);
    expect(await page.locator('#message-list .msg', { hasText: 'Hello from the' }).count()).toBe(1);
    const list = hold('**/api/v1/conversations?*');
    await there().command({ do: 'receive', from: '+15550171', text: 'The first' });
    await list.isHeld;
    await there().command({ do: 'receive', from: '+15550172', text: 'The second' });
    const second = page.locator('#conversation-list [data-id="any;-;+15550172"]');
    await second.waitFor();
    await list.release();
    expect(await second.count()).toBe(1);
  });

  inBrowser('keeps what Postern sends later while it cannot ask, and drops it once it is sent', async () => {
    const { page } = there();
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    await ask('messages', { recipient: '+15550100', body: 'In an hour', send_at: sendAt });
    await goTo('#/messages');
    await page.reload();
    const later = page.locator('#message-list .later', { hasText: 'In an hour' });
    await goTo(`#/c/${ANA}`);
    await later.waitFor();
    await page.route('**/api/v1/scheduled?*', (route) => route.abort(), { times: 1 });
    const isAsked = page.waitForRequest('**/api/v1/scheduled?*');
    await page.clock.runFor(121_000);
    await isAsked;
    await goTo(`#/c/${GARDEN}`);
    await goTo(`#/c/${ANA}`);
    await page.evaluate(IS_HANDLED);
    await later.waitFor();
    await page.route('**/api/v1/scheduled?*', (route) => route.fulfill({ json: [] }));
    await page.clock.runFor(31_000);
    await later.waitFor({ state: 'detached' });
    await page.unroute('**/api/v1/scheduled?*');
    there().complaints.splice(0);
  });

  inBrowser('does not close a menu or the form of a webhook', async () => {
    const { page } = there();
    const { id } = await ask('webhooks', { url: 'http://127.0.0.1:9/hook', events: ['message.sent'] });
    await goTo('#/webhooks');
    await page.locator(`tr[data-id="${id}"]`).waitFor();
    const table = hold('**/api/v1/webhooks?*');
    await page.clock.runFor(60_000);
    await table.isHeld;
    await page.locator(`tr[data-id="${id}"] [aria-haspopup]`).click();
    await page.locator('[role="menuitem"]:focus').waitFor();
    await table.release();
    expect(await page.locator('[popover]:popover-open').count()).toBe(1);
    const detail = hold(`**/api/v1/webhooks/${id}`);
    await goTo(`#/webhooks/${id}`);
    await detail.isHeld;
    await goTo(`#/webhooks/${id}/edit`);
    await page.getByRole('heading', { name: 'Edit the webhook' }).waitFor();
    await detail.release();
    expect(await page.getByRole('heading', { name: 'Edit the webhook' }).count()).toBe(1);
    await goTo('#/webhooks');
    await page.locator(`tr[data-id="${id}"]`).waitFor();
    const edit = hold(`**/api/v1/webhooks/${id}`);
    await goTo(`#/webhooks/${id}/edit`);
    await edit.isHeld;
    await goTo('#/webhooks');
    await page.locator(`tr[data-id="${id}"]`).waitFor();
    await edit.release();
    expect(await page.locator(`tr[data-id="${id}"]`).count()).toBe(1);
    await goTo(`#/webhooks/${id}`);
    await page.locator('.head [aria-haspopup]').click();
    await page.getByRole('menuitem', { name: 'Remove …' }).click();
    const removal = hold(`**/api/v1/webhooks/${id}`);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Remove/ })
      .click();
    await removal.isHeld;
    await goTo('#/webhooks/new');
    await page.getByLabel('Address', { exact: true }).waitFor();
    await removal.release();
    await page.locator('#toast', { hasText: 'is removed' }).waitFor();
    expect(await page.evaluate('location.hash')).toBe('#/webhooks/new');
    expect(there().complaints).toEqual([]);
  });

  inBrowser('shows the frame at once, and the title of the view, while the service is late', async () => {
    const { page } = there();
    const status = hold('**/api/v1/status');
    await goTo('#/webhooks');
    await page.reload();
    await status.isHeld;
    await page.locator('.side .brand').waitFor();
    await page.locator('.skeleton h1', { hasText: 'Webhooks' }).waitFor();
    expect(await page.locator('#sign-in').isVisible()).toBe(false);
    await status.release();
    await page.locator('#webhooks h1').waitFor();
    expect(await page.locator('.skeleton').count()).toBe(0);
  });

  inBrowser('lists a message once that comes while the earlier events are being read', async () => {
    const { page } = there();
    const text = 'Only once, please';
    // The people of the demo write when they like, so the stream waits until the earlier events are there.
    await page.goto('about:blank');
    let pass: () => void = () => undefined;
    const isRead = new Promise<void>((resolve) => (pass = resolve));
    await page.routeWebSocket(/\/api\/v1\/ws\?/, (line) => {
      line.connectToServer().onMessage(async (frame) => {
        await isRead;
        line.send(frame);
      });
    });
    // The answer already has the row that the stream is about to report.
    await page.route(
      '**/api/v1/events?after=*',
      async (route) => {
        await there().command({ do: 'receive', from: '+15550100', text });
        const response = await waitFor(async () => {
          const answer = await route.fetch();
          return (await answer.text()).includes(text) && answer;
        });
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await page.goto(`${there().url}/console#/events`);
    const rows = page.locator('#events .ev[data-key]', { hasText: text });
    await rows.waitFor();
    const before = await rows.getAttribute('data-key');
    pass();
    await page.locator(`#events .ev[data-key]:not([data-key="${before}"])`, { hasText: text }).waitFor();
    expect(await rows.count()).toBe(1);
  });

  inBrowser('keeps a send that waits, though an older list without it is answered later', async () => {
    const { page } = there();
    const { key = '' } = await ask('keys', { name: 'agent', preset: 'assistant', send: [ANA] });
    const older = hold('**/api/v1/approvals?include=contacts');
    await goTo('#/approvals');
    await older.isHeld;
    await ask('messages', { recipient: ANA, body: 'Not in the older list' }, key);
    await goTo('#/overview');
    await page.locator('#verdict').waitFor();
    await goTo('#/approvals');
    const card = page.locator('#approval-list > article', { hasText: 'Not in the older list' });
    await card.waitFor();
    await older.release();
    expect(await card.getAttribute('data-ended')).toBeNull();
  });

  inBrowser('shows the filter of the audit lines that stay when other lines cannot be read', async () => {
    const { page } = there();
    await goTo('#/audit');
    await page.locator('#audit-list .aud').first().waitFor();
    await page.route(
      '**/api/v1/audit?*',
      (route) => route.fulfill({ status: 500, json: { detail: 'No lines now.' } }),
      {
        times: 1,
      },
    );
    await page.getByLabel('Action', { exact: true }).selectOption('send');
    await page.locator('#toast', { hasText: 'No lines now.' }).waitFor();
    expect(await page.getByLabel('Action', { exact: true }).inputValue()).toBe('');
    there().complaints.splice(0);
  });

  inBrowser('reads an open webhook again, with its deliveries', async () => {
    const { page } = there();
    const made = { url: 'http://127.0.0.1:9/hook', name: 'Late', events: ['message.sent'], enabled: false };
    const { id } = await ask('webhooks', made);
    await goTo(`#/webhooks/${id}`);
    await page.locator('#delivery-list', { hasText: 'Nothing has been sent yet' }).waitFor();
    const delivery = { id: '1', at: new Date().toISOString(), event: 'message.sent', row_id: 1, outcome: 'delivered' };
    const answered = { status: 204, error: null, attempts: 1, duration_ms: 3, message: null };
    await page.route('**/deliveries?*', (route) => route.fulfill({ json: [{ ...delivery, ...answered }] }));
    await page.clock.runFor(21_000);
    await page.locator('#delivery-list details', { hasText: 'Answered 204' }).waitFor();
    await page.unroute('**/deliveries?*');
  });

  inBrowser('keeps what was read in two tabs', async () => {
    const { page } = there();
    const other = await page.context().newPage();
    await other.goto(`${there().url}/console#key=${encodeURIComponent(there().key)}`);
    await other.locator('#verdict').waitFor();
    await goTo(`#/c/${ANA}`);
    await page.locator('#message-list .msg').first().waitFor();
    await eventually(async () => expect(await page.evaluate<string>(SEEN)).toContain(ANA));
    await page.evaluate(`location.hash = '#/overview'`);
    await other.evaluate(`location.hash = '#/c/${GARDEN}'`);
    await eventually(async () => expect(await page.evaluate<string>(SEEN)).toContain(GARDEN));
    expect(await page.evaluate<string>(SEEN)).toContain(ANA);
    await other.close();
  });

  inBrowser('asks for nothing with a key that was refused', async () => {
    const { page } = there();
    const { key = '' } = await ask('keys', { name: 'helper', preset: 'assistant', send: [ANA] });
    await ask('messages', { recipient: ANA, body: 'Waits' }, key);
    await goTo('#/overview');
    await page.locator('#verdict').waitFor();
    await goTo('#/approvals');
    await page.locator('#approval-list > article', { hasText: 'Waits' }).waitFor();
    await page.evaluate(`sessionStorage.clear(); localStorage.removeItem('postern-key'); location.hash = '#key=wrong'`);
    await page.locator('#key-error', { hasText: 'not known here' }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.clock.runFor(61_000);
    await page.evaluate(IS_HANDLED);
    expect(asked.filter((url) => url.includes('/approvals'))).toEqual([]);
    await page.goto(`${there().url}/console#key=${encodeURIComponent(there().key)}`);
    await page.locator('#verdict').waitFor();
  });

  inBrowser('calls a day by its new name after midnight', async () => {
    const { page } = there();
    await goTo(`#/c/${ANA}`);
    await there().command({ do: 'receive', from: '+15550100', text: 'Before midnight' });
    await page.locator('#message-list .msg', { hasText: 'Before midnight' }).waitFor();
    const day = page.locator('#message-list .day').last();
    expect(await day.textContent()).toBe('Today');
    await page.clock.fastForward(13 * 3_600_000);
    await page.locator('#message-list .day', { hasText: 'Yesterday' }).last().waitFor();
    expect(await day.textContent()).toBe('Yesterday');
    expect(await page.locator(`#conversation-list [data-id="${ANA}"] time`).textContent()).toBe('Yesterday');
  });
});
