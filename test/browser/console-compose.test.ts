import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Route } from 'playwright-core';
import type { ScheduledSend } from '../../src/client/scheduled-types.ts';
import { BrowserStage, inBrowser, resize, unroute } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
const BEN = '+15550101';
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

/** Opens a conversation with its messages. */
async function open(address: string): Promise<void> {
  const { page } = there();
  await show(`#/c/any;-;${address}`);
  await page.locator(`#conversation-list [aria-current="true"][data-id$="${address}"]`).waitFor();
  await page.locator('#message-list:not([aria-busy]) .msg').first().waitFor();
}

/** Returns the texts of a conversation's newest messages. */
async function textsWith(address: string): Promise<readonly string[]> {
  const path = `messages?limit=20&conversation_id=any;-;${encodeURIComponent(address)}`;
  const messages = (await (await ask(path)).json()) as readonly { readonly body: string }[];
  return messages.map(({ body }) => body);
}

/** Holds the answer to the next send until `release` is called. `isAsked` resolves once the service has answered. */
async function holdSend() {
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  const hold = async (route: Route) => {
    const response = await route.fetch();
    asked();
    await isReleased;
    await route.fulfill({ response });
  };
  await there().page.route('**/api/v1/messages', hold, { times: 1 });
  return { isAsked, release };
}

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
      await page.waitForURL(/#\/c\//);
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

  inBrowser('keeps what is written and attached in each conversation for that conversation', async () => {
    const { page } = there();
    await open(ANA);
    await page.fill('#body', 'Only Ana may read this');
    await page
      .locator('#files')
      .setInputFiles({ name: 'key.txt', mimeType: 'text/plain', buffer: Buffer.from('1234') });
    await open(BEN);
    expect([await page.inputValue('#body'), await page.locator('#file-list li').count()]).toEqual(['', 0]);
    await open(ANA);
    expect(await page.inputValue('#body')).toBe('Only Ana may read this');
    await page.getByRole('button', { name: 'Remove key.txt' }).click();
    await page.fill('#body', '');
  });

  inBrowser('keeps what is typed during a send, sends it after it, and leaves other conversations alone', async () => {
    const { page } = there();
    await open(ANA);
    const first = await holdSend();
    await page.fill('#body', 'First');
    await page.keyboard.press('Enter');
    await first.isAsked;
    await page.keyboard.type('Second');
    await page.keyboard.press('Enter');
    await page.keyboard.type('Third');
    await open(BEN);
    await page.fill('#body', 'For Ben');
    first.release();
    await eventually(async () => expect((await textsWith(ANA)).slice(0, 9)).toContain('Second'));
    expect([await page.inputValue('#body'), (await textsWith(BEN)).includes('For Ben')]).toEqual(['For Ben', false]);
    await page.fill('#body', '');
    await open(ANA);
    await page.locator('#send:not([aria-busy="true"])').waitFor();
    expect(await page.inputValue('#body')).toBe('Third');
    await page.fill('#body', '');
  });

  inBrowser('writes to the conversation that the page names while one of its messages is looked for', async () => {
    const { page } = there();
    await open(BEN);
    const id = await page.locator('#message-list .msg[data-id]').first().getAttribute('data-id');
    await open(ANA);
    let find = () => {};
    const isFound = new Promise<void>((resolve) => (find = resolve));
    await page.route(`**/api/v1/messages/${id}`, async (route) => {
      await isFound;
      await route.continue();
    });
    await show(`#/c/any;-;${BEN}/${id}`);
    await page.getByLabel('Message to Ben Okafor').fill('Dear Ben');
    const isSent = page.waitForRequest('**/api/v1/messages');
    await page.keyboard.press('Enter');
    expect((await isSent).postDataJSON()).toMatchObject({ recipient: `any;-;${BEN}` });
    find();
    await page.locator('#message-list .mine', { hasText: 'Dear Ben' }).waitFor();
    await unroute(page);
  });

  inBrowser('sends nothing with the Enter that accepts a word of an input method', async () => {
    const { page } = there();
    await page.fill('#body', 'こんにちは');
    // As Safari reports it, after the end of the composition.
    const enter = `new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true })`;
    const isLeft = await page.evaluate<boolean>(`document.getElementById('body').dispatchEvent(${enter})`);
    expect([isLeft, await page.inputValue('#body')]).toEqual([true, 'こんにちは']);
    await page.fill('#body', '');
  });

  inBrowser('sends once, although the first answer was lost', async () => {
    const { page } = there();
    await open(ANA);
    const keys: (string | undefined)[] = [];
    const lose = async (route: Route) => {
      keys.push(route.request().headers()['idempotency-key']);
      await route.fetch();
      await route.abort();
    };
    await page.route('**/api/v1/messages', lose, { times: 1 });
    await page.fill('#body', 'Only once');
    await page.keyboard.press('Enter');
    await page.locator('#send-result', { hasText: 'Postern does not answer' }).waitFor();
    const isAsked = page.waitForRequest('**/api/v1/messages');
    await page.keyboard.press('Enter');
    keys.push((await isAsked).headers()['idempotency-key']);
    await eventually(async () => expect(await page.inputValue('#body')).toBe(''));
    expect((await textsWith(ANA)).filter((text) => text === 'Only once')).toHaveLength(1);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]]);
    // The next message is another one, even with the same text.
    await page.fill('#body', 'Only once');
    const isNext = page.waitForRequest('**/api/v1/messages');
    await page.keyboard.press('Enter');
    expect((await isNext).headers()['idempotency-key']).not.toBe(keys[0]);
  });
});
