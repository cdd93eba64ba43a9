import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { KeyRecord } from '../../src/client/key-types.ts';
import { BrowserStage, inBrowser, pressInARow, resize, unroute } from '../support/browser.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
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
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  const made = await ask('/keys', stage.key, { name: 'my \u202eagent', preset: 'assistant', read: [ANA], send: [ANA] });
  key = String(made.key);
  keyId = String(made.id);
  await asked(HIDDEN);
  await ask('/messages', key, { recipient: '+15550166', body: 'refused' });
  await stage.page.goto(`${stage.url}/console`);
  await stage.page.fill('#key', stage.key);
  await stage.page.keyboard.press('Enter');
  await stage.page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.close();
});

/** Opens a view of the console. */
const goTo = (view: string) => there().page.locator('#views a', { hasText: view }).click();

describe('keys and approvals in the console', () => {
  inBrowser('says in the navigation that something waits, and shows address, exact text and asker', async () => {
    const { page } = there();
    const link = page.locator('#views a', { hasText: 'Approvals' });
    await eventually(async () => expect(await link.textContent()).toBe('Approvals1 waiting'));
    await link.focus();
    await page.keyboard.press('Enter');
    const item = page.locator('#approval-list > article');
    await item.waitFor();
    expect(await item.locator('.address').textContent()).toBe(ANA);
    expect(await item.locator('.exact').textContent()).toBe(
      'Pay 100 ⟨U+202E⟩001⟨U+202C⟩⟨U+200B⟩ now <b>bold</b>\nsecond line',
    );
    expect(await item.locator('.asker').textContent()).toContain('my ⟨U+202E⟩agent');
    // If the text has a hidden character, the first button does not send it.
    expect(await item.locator('.note.bad').textContent()).toContain('3 characters cannot be seen.');
    expect(await item.locator('.btn.first').textContent()).toBe('Deny');
    expect(await there().faults()).toEqual([]);
  });

  inBrowser('shows on the overview, too, the exact text and asker of what waits', async () => {
    const { page } = there();
    await goTo('Overview');
    const item = page.locator('#overview .todo li').first();
    expect(await item.locator('q').textContent()).toBe(
      'Pay 100 ⟨U+202E⟩001⟨U+202C⟩⟨U+200B⟩ now <b>bold</b>\nsecond line',
    );
    expect(await item.locator('b').textContent()).toBe('my ⟨U+202E⟩agent asks to send a message');
    await goTo('Approvals');
  });

  inBrowser('does not call a key revoked because the service refuses to list the keys for now', async () => {
    const { page } = there();
    const refused = { status: 429, json: { title: 'Too Many Requests', status: 429, code: 'rate_limited' } };
    await page.route('**/api/v1/keys', (route) => route.fulfill(refused));
    await page.reload();
    await page.locator('#approval-list .asker').waitFor();
    expect(await page.locator('#approvals').textContent()).not.toContain('revoked');
    await page.unroute('**/api/v1/keys');
    // The browser itself logs the 429.
    there().complaints.splice(0);
    await page.reload();
    await page.locator('#approval-list .asker', { hasText: 'my ⟨U+202E⟩agent' }).waitFor();
  });

  inBrowser('sends with the keyboard alone exactly what was shown', async () => {
    const { page } = there();
    await page.locator('[data-do="approve"]').focus();
    await page.keyboard.press('Enter');
    const end = page.locator('#approval-list .outcome');
    await eventually(async () => expect(await end.textContent()).toBe('Handed over'));
    await page.locator('#toast', { hasText: /^Handed to Messages for \S/ }).waitFor();
    // Nothing else waits.
    expect(await page.locator('#approvals h1:focus').count()).toBe(1);
    // A send that was handed over arrives later. The demo's people keep writing meanwhile.
    await eventually(async () => {
      const messages = (await ask('/messages?limit=20', there().key)) as unknown as { body: string }[];
      expect(messages.map(({ body }) => body)).toContain(HIDDEN);
    });
  });

  inBrowser('leads after a decision to the text of the next send, whose buttons come after it', async () => {
    const { page } = there();
    await asked('the first');
    await asked('the second');
    const card = (text: string) => page.locator('#approval-list article:not([data-ended])', { hasText: text });
    await page.reload();
    await card('the second').waitFor();
    await card('the first').locator('[data-do="deny"]').focus();
    await page.keyboard.press('Enter');
    await card('the second').locator('.exact:focus').waitFor();
    expect(await states()).toContain('held');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#approvals h1:focus').waitFor();
    expect(await states()).not.toContain('held');
  });

  inBrowser('calls what is decided here decided elsewhere at no time', async () => {
    const { page } = there();
    await asked('the third');
    await page.reload();
    await page.locator('[data-do="deny"]').waitFor();
    let answer = () => {};
    const late = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/approvals/*?wait=30', async (route) => {
      await late;
      await route.continue();
    });
    const isDecided = page.waitForRequest('**/approvals/*?wait=30');
    await page.locator('[data-do="deny"]').click();
    await isDecided;
    const isRead = page.waitForResponse('**/approvals?include=contacts');
    await page.evaluate(`dispatchEvent(new HashChangeEvent('hashchange'))`);
    await (await isRead).finished();
    answer();
    await page.locator('#toast', { hasText: 'Denied: nothing is sent' }).waitFor();
    await page.locator('.outcome', { hasText: /^Denied/ }).waitFor();
    await unroute(page);
  });

  inBrowser('says below a message which key sent it, with what hides in its name', async () => {
    const { page } = there();
    const [sent] = ((await ask('/messages?limit=20', there().key)) as unknown as Record<string, string>[]).filter(
      ({ body }) => body === HIDDEN,
    );
    await page.goto(`${there().url}/console#/c/${encodeURIComponent(sent?.conversation_id ?? '')}`);
    const line = page.locator(`#messages [data-id="${sent?.id}"] .under`);
    await eventually(async () => expect(await line.textContent()).toContain('by my ⟨U+202E⟩agent'));
    await goTo('Approvals');
  });

  inBrowser('says when the owner has never written to somebody', async () => {
    const { page } = there();
    const made = await ask('/keys', there().key, { name: 'stranger', preset: 'assistant', send: ['+15550177'] });
    await ask('/messages', String(made.key), { recipient: '+15550177', body: 'A first word' });
    await page.reload();
    await page.locator('#approval-list', { hasText: 'You have never written to this address.' }).waitFor();
    await page.locator('[data-do="deny"]').click();
    await page.locator('#toast', { hasText: 'Denied: nothing is sent' }).waitFor();
  });

  inBrowser('works on a telephone: nothing runs off the page, and a decision can be denied', async () => {
    const { page } = there();
    await asked('and another');
    await resize(page, 375, 700);
    await page.reload();
    await page.locator('#tabs a', { hasText: 'Approvals' }).click();
    await page.locator('[data-do="deny"]').click();
    await page.locator('#toast', { hasText: 'Denied: nothing is sent' }).waitFor();
    expect((await states()).filter((state) => state === 'denied').length).toBe(5);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await there().faults()).toEqual([]);
    await resize(page, 1280, 800);
  });

  inBrowser(
    'moves no card when another is decided elsewhere, and decides with a key about the focused one',
    async () => {
      const { page } = there();
      for (const text of ['the fourth', 'the fifth']) await asked(text);
      await page.reload();
      const card = (text: string) => page.locator('#approval-list article', { hasText: text });
      await card('the fifth').waitFor();
      const before = await card('the fifth').boundingBox();
      const held = (await ask('/approvals?state=held', there().key)) as unknown as Record<string, string>[];
      await ask(`/approvals/${held.find(({ text }) => text === 'the fourth')?.id}/deny`, there().key, {});
      await card('the fourth').locator('[data-do="approve"]').click();
      await card('the fourth').getByText('Denied: decided elsewhere').waitFor();
      expect(await card('the fifth').boundingBox()).toEqual(before);
      // The browser itself logs the refusal.
      expect(there().complaints.splice(0)).toEqual([expect.stringContaining('409')]);
      // A letter that belongs to another shortcut decides nothing.
      await card('the fifth').locator('.exact').focus();
      await pressInARow(page, 'g', 'a');
      expect(await states()).toContain('held');
      await page.keyboard.press('d');
      await card('the fifth').locator('.outcome', { hasText: 'Denied' }).waitFor();
      expect(await states()).not.toContain('held');
    },
  );

  inBrowser('shows what each key may do in words, and what it did today', async () => {
    const { page } = there();
    await goTo('Keys');
    const row = page.locator(`#key-list tr[data-id="${keyId}"]`);
    await row.waitFor();
    const text = (await row.textContent()) ?? '';
    expect(text).toContain('read, events, send');
    expect(text).toContain('Every send waits for you');
    expect(text).toContain('reads Ben Okafor; writes to Ben Okafor');
    expect(text).toMatch(/1 send|2 asked/);
    expect(text).toContain('1 refused');
  });

  inBrowser('tells the audit log in words, with names in place of ids, and narrows it to refusals', async () => {
    const { page } = there();
    await goTo('Audit log');
    const rows = page.locator('#audit-list .aud');
    await rows.filter({ hasText: 'not on its list' }).first().waitFor();
    await rows.filter({ hasText: 'Ben Okafor' }).first().waitFor();
    // What was asked for and waits is one act.
    await rows.filter({ hasText: 'waits for you' }).first().waitFor();
    expect(await rows.filter({ hasText: 'asked' }).count()).toBe(0);
    expect(await rows.first().locator('time').textContent()).toMatch(/\d:\d\d:\d\d/);
    // The title shows the error code.
    expect(await page.locator('#audit-list [title="recipient_not_allowed"]').count()).toBeGreaterThan(0);
    // On a phone a line says the same: who did what and when, with what outcome, and to whom.
    await resize(page, 390, 844);
    const refused = rows.filter({ hasText: 'not on its list' }).first();
    for (const part of ['time', '[title="refused"]', '[title="recipient_not_allowed"]', '[title="+15550166"]']) {
      const { x = -1, width = 0 } = (await refused.locator(part).boundingBox()) ?? {};
      expect([part, x >= 0, x + width <= 390, width > 20]).toEqual([part, true, true, true]);
    }
    await resize(page, 1280, 800);
    await page.getByRole('button', { name: 'Only refused' }).click();
    await eventually(async () => expect(await rows.count()).toBe(await rows.filter({ hasText: 'attempt' }).count()));
    expect(await there().faults()).toEqual([]);
  });

  inBrowser('makes a key in four steps by names alone, and nothing before the third is done', async () => {
    const { page } = there();
    const count = async () => ((await ask('/keys', there().key)) as unknown as unknown[]).length;
    const before = await count();
    await goTo('Keys');
    await page.getByRole('link', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('claude-on-my-laptop');
    await page.getByRole('button', { name: 'Choose people' }).click();
    // Empty lists are not a choice: the step stays, says so, and nothing has a tick that the key cannot do.
    const rights = page.locator('.can');
    await page.getByRole('button', { name: 'Set limits' }).click();
    await page.getByText('Add somebody, or choose everybody or nobody.').first().waitFor();
    expect(await page.locator('.steps [aria-current]').textContent()).toBe('Who');
    expect(await rights.locator('.yes, .held').count()).toBe(0);
    await page.getByRole('group', { name: 'It may read' }).getByRole('button', { name: 'Nobody' }).click();
    expect(await rights.locator('.no', { hasText: 'Read messages' }).count()).toBe(1);
    await page.getByRole('group', { name: 'It may read' }).getByRole('button', { name: 'People' }).click();
    await page.getByRole('combobox', { name: 'It may read' }).fill('Gard');
    await page.getByRole('option', { name: /^Garden Ana/ }).click();
    // The suggestions do not cover why the form was not sent.
    await page.getByRole('button', { name: 'Set limits' }).click();
    await page.getByText('Add somebody, or choose everybody or nobody.').waitFor();
    await page.locator('input:focus').waitFor();
    expect(await page.locator('[role="option"]').count()).toBe(0);
    await page.getByRole('combobox', { name: 'It may write to' }).fill('cho');
    await page.getByRole('option', { name: 'Cho Tanaka cho@example.com' }).click();
    expect(await rights.textContent()).toContain('Read messages of Garden');
    expect(await rights.textContent()).toContain('Write to Cho Tanaka, after you approve, 100 a day');
    await page.getByRole('button', { name: 'Set limits' }).click();
    await page.getByLabel('Sends a day').fill('7');
    expect(await there().faults()).toEqual([]);
    expect(await count()).toBe(before);
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = await page
      .locator('.code pre', { hasText: /^postern_[0-9a-f]{8}_/ })
      .first()
      .textContent();
    expect(await count()).toBe(before + 1);
    // The same lines as `postern keys add` prints, with this key.
    const lines = page.locator('#client-lines .code pre');
    expect(await lines.textContent()).toContain(`claude mcp add --transport http messages ${there().url}/mcp`);
    expect(await lines.textContent()).toContain(secret);
    await page.getByLabel('For which client?').selectOption('Claude Desktop, Cursor and others');
    expect(JSON.parse((await lines.textContent()) ?? '')).toMatchObject({
      mcpServers: { messages: { command: process.execPath, env: { POSTERN_API_KEY: secret } } },
    });
    await page.getByLabel('For which client?').selectOption('ChatGPT');
    const guide = await page.getByRole('link', { name: 'Step by step, in the guide' }).getAttribute('href');
    const [path = '', section = ''] = guide?.split('#') ?? [];
    expect(await (await fetch(`${there().url}/${path}`)).text()).toContain(`id="${section}"`);
    const made = await ask('/keys/me', secret ?? '');
    expect(made).toMatchObject({ name: 'claude-on-my-laptop', approval: 'always', caps: { per_day: 7 } });
    expect(made).toMatchObject({ read: ['any;+;chat424242'], send: ['cho@example.com'] });
    await page.locator('#first-request', { hasText: 'It works.' }).waitFor();
    expect(await there().faults()).toEqual([]);
    // Going back neither makes a second key nor shows the secret.
    await page.getByRole('button', { name: 'Done' }).click();
    await page.goBack();
    await page.locator('.steps').waitFor();
    expect(await count()).toBe(before + 1);
  });

  inBrowser('names a group in the audit log, also where the page begins there', async () => {
    const { page, url } = there();
    const group = 'any;+;chat424242';
    const agent = await ask('/keys', there().key, {
      name: 'planner',
      preset: 'assistant',
      read: [group],
      send: [group],
    });
    await ask('/messages', String(agent.key), { recipient: group, body: 'Saturday?' });
    await page.goto('about:blank');
    await page.goto(`${url}/console#/audit`);
    await page.locator('#audit-list .aud', { hasText: 'planner' }).first().waitFor();
    const line = page.locator('#audit-list .aud', { hasText: 'waits for you' }).first();
    expect(await line.textContent()).toMatch(/planner.*Garden/);
  });

  inBrowser('changes only what was changed, and opens a group only for the people it names', async () => {
    const { page } = there();
    const group = 'any;+;chat424242';
    const { id } = await ask('/keys', there().key, { name: 'gardener', preset: 'assistant', send: [group] });
    const record = async () => (await ask(`/keys/${id}`, there().key)) as unknown as KeyRecord;
    const chats = new ChatFixture(join(folder, 'demo/home/Library/Messages/chat.db'), 'macos-26', { isThere: true });
    const garden = Number(chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(group)?.[0]);
    chats.participant(garden, chats.handle('+15550166'));
    await eventually(async () => expect((await record()).closed).toHaveLength(1));
    await page.goto(`${there().url}/console#/keys/${id}`);
    await page.getByLabel('Sends a day').fill('8');
    // Another tab.
    await ask(`/keys/${id}`, there().key, { approval: 'new' }, 'PATCH');
    await page.getByRole('button', { name: 'Save changes' }).click();
    const note = page.locator('#keys .note', { hasText: 'gardener' });
    const allow = note.getByRole('button', { name: 'Allow the group with the new member' });
    await allow.waitFor();
    expect(await record()).toMatchObject({
      approval: 'new',
      caps: { per_day: 8 },
      closed: [{ joined: ['+15550166'] }],
    });
    // Joins after the page was shown.
    chats.participant(garden, chats.handle('+15550167'));
    chats.close();
    await eventually(async () => expect((await record()).closed[0]?.joined).toHaveLength(2));
    await allow.click();
    await note.getByText('+15550167 joined').waitFor();
    expect((await record()).closed).toEqual([{ conversation_id: group, joined: ['+15550167'] }]);
  });

  inBrowser('revokes a key only after a question that names it', async () => {
    const { page } = there();
    await goTo('Keys');
    await page.locator(`#key-list tr[data-id="${keyId}"] button[aria-haspopup]`).click();
    await page.getByRole('menuitem', { name: 'Revoke …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('This cannot be undone.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect((await ask(`/keys/${keyId}`, there().key)).id).toBe(keyId);
    await page.locator(`#key-list tr[data-id="${keyId}"] button[aria-haspopup]`).click();
    await page.getByRole('menuitem', { name: 'Revoke …' }).click();
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await eventually(async () => expect((await ask('/keys/me', key)).code).toBe('unauthorized'));
    expect(there().complaints.filter((line) => !line.includes('favicon'))).toEqual([]);
  });
});
