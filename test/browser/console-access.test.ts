import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550101';
const HIDDEN = 'Pay 100 \u202e001\u202c\u200b now <b>bold</b>\nsecond line';
const folder = temporaryFolder();
let stage: BrowserStage | undefined;
let key = '';
let keyId = '';

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

async function ask(path: string, as: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
  const response = await fetch(`${there().url}/api/v1${path}`, {
    method,
    headers: { 'x-api-key': as, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (response.status === 204 ? undefined : await response.json()) as Record<string, never>;
}

const asked = (text: string) => ask('/messages', key, { recipient: ANA, body: text });
const states = async () =>
  ((await ask('/approvals', there().key)) as unknown as { state: string }[]).map(({ state }) => state);

beforeAll(async () => {
  stage = await BrowserStage.open(folder);
  if (stage === undefined) return;
  const made = await ask('/keys', stage.key, { name: 'my \u202eagent', preset: 'assistant', read: [ANA], send: [ANA] });
  key = String(made.key);
  keyId = String(made.id);
  await asked(HIDDEN);
  await ask('/messages', key, { recipient: '+15550166', body: 'refused' });
  await stage.page.goto(`${stage.url}/console`);
  await stage.page.fill('#key', stage.key);
  await stage.page.keyboard.press('Enter');
  await stage.page.locator('#conversation-list button').first().waitFor();
});
afterAll(async () => {
  await stage?.close();
});

describe('keys and approvals in the console', () => {
  inBrowser('says in the header that something waits, and shows address, exact text and asker', async () => {
    const { page } = there();
    const button = page.locator('#access-button');
    await eventually(async () => expect(await button.textContent()).toBe('Keys and approvals (1 waiting)'));
    await button.focus();
    await page.keyboard.press('Enter');
    const [item] = [page.locator('#approval-list > li')];
    await item.waitFor();
    expect(await item.locator('.address').textContent()).toBe(ANA);
    expect(await item.locator('.text').textContent()).toBe(
      'Pay 100 ⟨U+202E⟩001⟨U+202C⟩⟨U+200B⟩ now <b>bold</b>\nsecond line',
    );
    expect(await item.locator('.asker').textContent()).toContain('my ⟨U+202E⟩agent');
    expect(await item.locator('p, section').first().getAttribute('class')).toBe('address');
    expect(await there().faults()).toEqual([]);
  });

  inBrowser('shows what each key may do in words, and what it did today', async () => {
    const item = there().page.locator('#key-list > li');
    const lines = await item.locator('.rights li').allTextContents();
    expect(lines).toEqual(
      expect.arrayContaining([
        'May read messages, be told what happens, send.',
        `Reads: ${ANA}.`,
        `Writes to: ${ANA}; each message waits for your decision.`,
        'Today: asked to send once, refused once.',
      ]),
    );
    const rows = await there().page.locator('#audit-list tr').allTextContents();
    expect(rows.join('\n')).toContain('recipient_not_allowed');
    expect(rows.length).toBeGreaterThanOrEqual(4);
  });

  inBrowser('sends with the keyboard alone exactly what was shown', async () => {
    const { page } = there();
    await page.locator('[data-do="approve"]').focus();
    await page.keyboard.press('Enter');
    const end = page.locator('#approval-list .end');
    await eventually(async () => expect(await end.textContent()).toMatch(/^It is (?:sent|pending)\.$/));
    await eventually(async () => expect(await page.evaluate('document.activeElement.className')).toBe('end'));
    // The people of the demo write meanwhile.
    const messages = (await ask('/messages?limit=20', there().key)) as unknown as { body: string }[];
    expect(messages.map(({ body }) => body)).toContain(HIDDEN);
  });

  inBrowser('works on a telephone: nothing runs off the page, and a decision can be denied', async () => {
    const { page } = there();
    await asked('and another');
    await page.setViewportSize({ width: 375, height: 700 });
    await page.reload();
    await page.locator('#access-button').click();
    await page.locator('[data-do="deny"]').waitFor();
    await page.locator('[data-do="deny"]').click();
    await eventually(async () => expect(await page.textContent('#approval-result')).toBe('Denied: nothing is sent.'));
    expect((await states()).filter((state) => state === 'denied').length).toBe(1);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await there().faults()).toEqual([]);
  });

  inBrowser('revokes a key only at the second press', async () => {
    const { page } = there();
    const revoke = page.locator('[data-do="revoke"]');
    await revoke.click();
    expect(await revoke.textContent()).toBe('Revoke it for good?');
    expect((await ask(`/keys/${keyId}`, there().key)).id).toBe(keyId);
    await revoke.click();
    await eventually(async () => expect(await page.isVisible('#key-none')).toBe(true));
    expect((await ask('/keys/me', key)).code).toBe('unauthorized');
    expect(there().complaints.filter((line) => !line.includes('favicon'))).toEqual([]);
  });
});
