import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser, resize } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = 'any;-;+15550100';
const BEN = 'any;-;+15550101';
const folder = temporaryFolder();
let stage: BrowserStage | undefined;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

/** Refuses the next request for a path, as at the limit. */
const refuse = (glob: string, seconds = 2): Promise<unknown> =>
  there().page.route(
    glob,
    (route) =>
      route.fulfill({
        status: 429,
        headers: { 'retry-after': `${seconds}`, 'ratelimit-policy': '"default";q=60;w=60' },
        json: { code: 'rate_limited', detail: 'Too many requests: try again.' },
      }),
    { times: 1 },
  );
const show = (hash: string) => there().page.evaluate(`location.hash = '${hash}'`);
const note = () => there().page.locator('#limit-note');
const COUNTING = /^The limit of 60 requests a minute is reached\. Continuing in \d+ s\./;

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  await stage.page.goto(`${stage.url}/console#key=${encodeURIComponent(stage.key)}`);
  await stage.page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.close();
});

describe('the console at the request limit', () => {
  inBrowser('shows the title of a view, counts down in one place, and then loads the view by itself', async () => {
    const { page } = there();
    await refuse('**/api/v1/keys');
    await show('#/keys');
    await note().getByText(COUNTING).waitFor();
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    expect(await page.textContent('#toast')).toBe('');
    expect(await there().faults()).toEqual([]);
    await page.locator('#key-none').waitFor();
    await note().waitFor({ state: 'hidden' });
  });

  inBrowser(
    'keeps the name and the box of a conversation, and what else is there, until its messages come',
    async () => {
      const { page } = there();
      await show(`#/c/${ANA}`);
      await page.locator('#message-list .msg').first().waitFor();
      await page.fill('#body', 'Half written');
      await refuse('**/api/v1/messages?*');
      await show(`#/c/${BEN}`);
      await note().getByText(COUNTING).waitFor();
      expect(await page.textContent('#thread-title')).toBe('Ben Okafor');
      expect(await page.locator('#conversation-list a').count()).toBeGreaterThan(3);
      expect([await page.inputValue('#body'), await page.textContent('#toast')]).toEqual(['', '']);
      await page.locator('#message-list .msg').first().waitFor();
    },
  );

  inBrowser('says below the events when older ones load, and shows no progress meanwhile', async () => {
    const { page } = there();
    await refuse('**/api/v1/events?*');
    await show('#/events');
    await page.locator('.event-room', { hasText: /Older events load in \d+ s\./ }).waitFor();
    expect(await page.evaluate("getComputedStyle(document.getElementById('main'), '::before').content")).toBe('none');
    await page.locator('#events .ev[data-key]').nth(5).waitFor();
    expect(await page.getByText('Older events load').count()).toBe(0);
    await show(`#/c/${ANA}`);
    await page.locator('#body').waitFor();
  });

  inBrowser('says beside the box that a message was not sent, and keeps it', async () => {
    const { page } = there();
    await refuse('**/api/v1/messages');
    await page.keyboard.press('Control+Enter');
    await page.locator('#send-form button[type="submit"]').click();
    await page.locator('#send-result.err').waitFor();
    expect([await page.inputValue('#body'), await page.textContent('#toast')]).toEqual(['Half written', '']);
    // Only the banner counts seconds down.
    expect(await page.textContent('#send-result')).toBe('Not sent: the request limit was reached.');
    await note().waitFor({ state: 'hidden' });
  });

  inBrowser('shows that approvals are still to come, and asks for nothing more of a view that was left', async () => {
    const { page } = there();
    await refuse('**/api/v1/approvals?include*', 3);
    await show('#/approvals');
    await note().getByText(COUNTING).waitFor();
    await page.locator('.skeleton h1', { hasText: 'Approvals' }).waitFor();
    const asked: string[] = [];
    const noteRequest = (request: { url(): string }): unknown => asked.push(request.url().split('/api/v1/')[1] ?? '');
    page.on('request', noteRequest);
    await show('#/keys');
    await page.locator('#key-none').waitFor();
    await note().waitFor({ state: 'hidden' });
    page.off('request', noteRequest);
    expect(asked.filter((path) => /^approvals\?include/.test(path))).toEqual([]);
    expect(await page.textContent('#toast')).toBe('');
    await show('#/approvals');
    await page.locator('#approvals .empty').waitFor();
  });

  inBrowser('sets the words in lines on a phone', async () => {
    const { page } = there();
    await resize(page, 390, 844);
    await refuse('**/api/v1/webhooks?*');
    await show('#/webhooks');
    await note().getByText(COUNTING).waitFor();
    const box = await note().boundingBox();
    expect(box?.height).toBeLessThan(100);
    await page.locator('#webhooks .empty').waitFor();
    await resize(page, 1280, 800);
  });

  inBrowser('says it once on the page for signing in, and signs in by itself', async () => {
    const { page, url } = there();
    await refuse('**/api/v1/status');
    await page.goto(`${url}/console`);
    await page.locator('#sign-in').getByText('Signing in automatically in').waitFor();
    expect(await note().isVisible()).toBe(false);
    const words = await page.evaluate<string>('document.body.innerText');
    expect(words.match(/is reached|Too many/g)).toEqual(['is reached']);
    await page.locator('#verdict').waitFor();
  });
});
