import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { ScheduledSend } from '../../src/client/scheduled-types.ts';
import { BrowserStage, inBrowser, resize } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const HOUR_MS = 3_600_000;
const folder = temporaryFolder();
let stage: BrowserStage | undefined;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

async function ask(path: string, body?: unknown): Promise<Response> {
  return fetch(`${there().url}/api/v1/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': there().key, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

const show = (hash: string) => there().page.evaluate(`location.hash = '${hash}'`);
const scheduled = (text: string) => there().page.locator('#message-list .later', { hasText: text });

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  const sendAt = new Date(Date.now() + HOUR_MS).toISOString();
  await ask('messages', { recipient: ANA, body: 'Only for Ana', send_at: sendAt });
  await stage.page.goto(`${stage.url}/console#key=${encodeURIComponent(stage.key)}`);
  await stage.page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.close();
});

describe('writing in the console', () => {
  inBrowser('takes the first suggestion with Enter, and shows whose address was chosen', async () => {
    const { page } = there();
    await show('#/messages?new');
    await page.locator('#recipient:focus').waitFor();
    // At once: the suggestions for these letters are still to come.
    await page.keyboard.type('Ana S');
    await page.keyboard.press('Enter');
    await page.locator('#body:focus').waitFor();
    // Ana writes from both while the test runs, and the newest conversation comes first.
    expect(await page.locator('.to-line .token').textContent()).toMatch(/^Ana Silva ?(?:\+15550100|ana@example\.com)/);
    expect(await there().faults()).toEqual([]);
  });

  inBrowser('takes a number as it was typed, although a suggestion contains it', async () => {
    const { page } = there();
    await page.getByRole('button', { name: 'Remove Ana Silva' }).click();
    await page.locator('#recipient:focus').waitFor();
    await page.keyboard.type('+1555010');
    await page.locator('[role="option"]').first().waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#body:focus').waitFor();
    expect(await page.locator('.to-line .token .cut').textContent()).toBe('+1555010');
  });

  inBrowser(
    'shows the messages with the recipient, and what waits for them, while a new message is written',
    async () => {
      const { page } = there();
      await show(`#/c/any;-;${ANA}`);
      await scheduled('Only for Ana').waitFor();
      await show('#/messages?new');
      await page.locator('#recipient:focus').waitFor();
      expect(await page.locator('#message-list li').count()).toBe(0);
      await page.keyboard.type(ANA);
      await page.keyboard.press('Enter');
      await page.locator('#message-list', { hasText: 'The kettle is on.' }).waitFor();
      await scheduled('Only for Ana').waitFor();
      await page.keyboard.type('Hello again');
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/console#/c/**`);
      await page.locator('#message-list .mine', { hasText: 'Hello again' }).waitFor();
    },
  );

  inBrowser('sends later, at a time from the menu beside Send', async () => {
    const { page } = there();
    await page.fill('#body', 'Good morning');
    const { hash } = new URL(page.url());
    await page.getByRole('button', { name: 'Send later' }).click();
    await page.locator('[role="menuitem"]:focus').waitFor();
    // Closes the menu alone.
    await page.keyboard.press('Escape');
    await page.locator('[aria-label="Send later"]:focus').waitFor();
    expect(new URL(page.url()).hash).toBe(hash);
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Send later …' }).click();
    expect(await there().faults()).toEqual([]);
    const next = new Date(Date.now() + 48 * HOUR_MS).toISOString().slice(0, 10);
    await page.getByLabel('When').fill(`${next}T07:45`);
    await page.getByRole('dialog').getByRole('button', { name: 'Schedule' }).click();
    await scheduled('Good morning')
      .getByText(/^Postern sends it .+7:45/)
      .waitFor();
    // Large enough for a finger.
    await resize(page, 390, 844);
    const cancel = await scheduled('Good morning').getByRole('button', { name: 'Cancel' }).boundingBox();
    expect([(cancel?.width ?? 0) >= 44, (cancel?.height ?? 0) >= 44]).toEqual([true, true]);
    await resize(page, 1280, 800);
    expect(await page.inputValue('#body')).toBe('');
    const all = (await (await ask('scheduled')).json()) as readonly ScheduledSend[];
    const made = all.find(({ text }) => text === 'Good morning');
    expect([made?.to.endsWith(ANA), new Date(made?.send_at ?? '').getUTCMinutes()]).toEqual([true, 45]);
  });
});
