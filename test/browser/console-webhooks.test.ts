import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

const IS_RESULT_IN_VIEW = `(() => {
  const room = document.getElementById('webhooks').getBoundingClientRect();
  const result = document.getElementById('webhook-result').getBoundingClientRect();
  return result.top > room.top && result.bottom < room.bottom;
})()`;

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

describe('webhooks in the console', () => {
  inBrowser('tests a webhook, shows its deliveries and replays it', async () => {
    const { page, url, key } = there();
    const receiver = await Receiver.start();
    try {
      await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
      await page.getByRole('link', { name: 'Webhooks' }).click();
      await page.getByRole('button', { name: 'Add a webhook' }).click();
      await page.getByLabel('Address', { exact: true }).fill(receiver.url);
      await page.getByLabel('message.received').uncheck();
      await page.getByRole('button', { name: 'Add a header' }).click();
      await page.getByLabel('Name of the header').fill('Authorization');
      await page.getByLabel('Value of the header').fill('Bearer only-mine');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The webhook is added.').waitFor();
      await page.locator('[data-do="test"]').click();
      await page.getByText('the receiver answered 204').waitFor();
      await page.locator('[data-do="replay"]').click();
      await page.getByRole('button', { name: 'Go' }).click();
      await page.getByText('delivering again everything after row 0').waitFor();
      expect(receiver.deliveries[0]?.headers.authorization).toBe('Bearer only-mine');
      await page.locator('[data-do="deliveries"]').click();
      await page.locator('#webhook-list td', { hasText: 'webhook.test' }).first().waitFor();
      // What came of it can be read, however long the deliveries are.
      await page.setViewportSize({ width: 1280, height: 240 });
      for (const place of ['0', 'webhooks.scrollHeight']) {
        await page.evaluate(`webhooks.scrollTop = ${place}`);
        expect(await page.evaluate(IS_RESULT_IN_VIEW)).toBe(true);
      }
      expect(await page.evaluate('webhooks.scrollTop')).toBeGreaterThan(30);
      await page.setViewportSize({ width: 1280, height: 800 });
      // No column of the table is cut off.
      expect(await page.evaluate(`webhooks.querySelector('.deliveries').scrollWidth`)).toBe(
        await page.evaluate(`webhooks.querySelector('.deliveries').clientWidth`),
      );
    } finally {
      await receiver.close();
    }
  });

  inBrowser('changes, pauses and removes a webhook', async () => {
    const { page } = there();
    const item = page.locator('#webhook-list > li');
    await item.getByRole('button', { name: /^Change/ }).click();
    await page.getByRole('heading', { name: 'Change the webhook' }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Kitchen display');
    await page.getByText('Only some messages').click();
    await page.getByLabel('Of these senders').fill('not an address\n+15550100');
    await page.getByLabel('Of these conversations').fill('no id');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('A conversation id looks like any;-;+15550100').waitFor();
    await page.getByLabel('Of these conversations').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await item.getByText('Kitchen display').waitFor();
    await item.getByRole('button', { name: /^Change/ }).click();
    await page.getByRole('heading', { name: 'Change the webhook' }).waitFor();
    expect(await page.getByLabel('Name of the header').inputValue()).toBe('Authorization');
    expect(await page.getByLabel('Value of the header').inputValue()).toBe('');
    expect(await page.getByLabel('Of these senders').inputValue()).toBe('not an address\n+15550100');
    expect(await there().faults()).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await item.locator('[data-do="pause"]').click();
    await item.locator('.state', { hasText: 'paused' }).waitFor();
    await item.locator('[data-do="pause"]', { hasText: 'Resume' }).click();
    await page.getByText('It gets what happened meanwhile').waitFor();
    await item.locator('[data-do="remove"]').click();
    await item.locator('[data-do="remove"]', { hasText: 'Remove it for good?' }).click();
    await item.waitFor({ state: 'detached' });
    // The browser notes the refusal itself.
    expect(there().complaints.splice(0)).toEqual([expect.stringContaining('400')]);
  });
});
