import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
let stage: BrowserStage | undefined;
let receiver: Receiver | undefined;

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  await stage.page.goto(`${stage.url}/console`);
  await stage.page.fill('#key', stage.key);
  await stage.page.keyboard.press('Enter');
  await stage.page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.close();
  await receiver?.close();
});

describe('the overview', () => {
  inBrowser(
    'has no card of past problems without any; then it says what failed, where, when and for how long',
    async () => {
      if (stage === undefined) throw new Error('there is no browser');
      const { page, url, key } = stage;
      const post = (path: string, body: unknown) =>
        fetch(`${url}/api/v1${path}`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const lately = page.locator('#overview section', { has: page.locator('h2', { hasText: 'Lately' }) });
      const strip = page.locator('#overview .checks');
      const show = async () => {
        await page.reload();
        await page.locator('#overview section', { hasText: 'Webhooks' }).first().waitFor();
        await page.locator('#overview .kv').waitFor();
      };
      let isUp = false;
      receiver = await Receiver.start((response) => void response.writeHead(isUp ? 204 : 503).end());
      const hook = { url: receiver.url, name: 'backup', events: ['message.sent'], on_failure: 'hold' };
      const { id } = (await (await post('/webhooks', hook)).json()) as { readonly id: string };
      await show();
      expect(await lately.count()).toBe(0);
      expect(await strip.textContent()).not.toContain('answers in');
      await post('/messages', { recipient: '+15550101', body: 'to be held' });
      await eventually(async () => {
        await show();
        expect(await lately.textContent()).toMatch(/^LatelyDeliveries had to waitsince .+backup$/);
      }, 60_000);
      expect(await strip.textContent()).toMatch(/Automation.*answers in \d+ ms/);
      isUp = true;
      await post(`/webhooks/${id}/retry`, {});
      await eventually(async () => {
        await show();
        expect(await lately.textContent()).toMatch(/backupfor \d+ s$/);
      }, 60_000);
      expect(await stage.faults()).toEqual([]);
    },
  );
});
