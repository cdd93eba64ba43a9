import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Route } from 'playwright-core';
import { BrowserStage, inBrowser, unroute } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const FROM = '+15550142';
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

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  await stage.command({ do: 'receive', from: FROM, text: 'Everything that Messages can send follows.' });
  await stage.command({ do: 'contents', from: FROM });
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const answer = await ask('messages', { recipient: FROM, body: 'Written now, sent later', send_at: sendAt });
  expect(answer.status).toBe(202);
  await stage.page.goto(`${stage.url}/console#key=${encodeURIComponent(stage.key)}`);
  await stage.page.locator('#verdict').waitFor();
  await stage.page.evaluate(`location.hash = '#/c/${encodeURIComponent(`any;-;${FROM}`)}'`);
  await stage.page.locator('#message-list .msg').first().waitFor();
});
afterAll(async () => {
  await stage?.close();
});

const seen = (selector: string, hasText?: string | RegExp) =>
  there()
    .page.locator(`#message-list ${selector}`, hasText === undefined ? {} : { hasText })
    .first()
    .waitFor();

/** Returns on which side of its bubble the tail of the message with a text is. */
async function tailOf(text: string): Promise<unknown> {
  await seen('.msg.tail .body', text);
  return there().page.evaluate(`(() => {
    const bodies = [...document.querySelectorAll('#message-list .msg.tail .body')];
    const body = bodies.find((one) => one.textContent.includes('${text}'));
    const { left, right } = getComputedStyle(body, '::after');
    return { left, right };
  })()`);
}

describe('what is more than text in a conversation', () => {
  inBrowser('shows bold words as bold, and a mentioned person in the text', async () => {
    await seen('.body b', /^(?:bold|a bold word|bold word)/);
    await seen(`.body b[title]`, 'Ana');
  });

  inBrowser('shows a link, a song, an app, a place and a document as cards', async () => {
    expect(await there().page.locator('#message-list .card2').count()).toBeGreaterThan(5);
    await seen('a.card2[href^="https://music.example/"]', 'Band · Record');
    await seen('a.card2[target="_blank"][rel="noopener noreferrer"]', 'A page');
    await seen('.card2', 'Puzzle');
    await seen('.card2', 'Cove');
    await seen('.card2', 'Apple Cash');
  });

  inBrowser('shows a poll with its options and votes', async () => {
    await seen('.poll li', 'Pizza');
    await seen('.poll [role="img"][aria-label^="Soup: "]');
  });

  inBrowser('shows what was said in a voice message, and a sticker by what it depicts', async () => {
    await seen('.msg', 'I am on my way');
    await seen('.msg', 'a cat in a hat');
    // Messages has no size for a Genmoji.
    await seen('.msg .doc');
    expect(await there().page.locator('#message-list', { hasText: '0 bytes' }).count()).toBe(0);
  });

  inBrowser('says that something was drawn, and names an effect', async () => {
    await seen('.body', /[Hh]andwrit/);
    await seen('.under', /Sent with (?:balloons|happy birthday)/);
  });

  inBrowser('shows earlier texts of an edited message, a part that was unsent, and a translation', async () => {
    const { page } = there();
    const edited = page.locator('#message-list li', { has: page.locator('details.mark') }).first();
    await edited.locator('summary', { hasText: /^Edited/ }).click();
    await edited.locator('.history li', { hasText: 'first' }).waitFor();
    // Another edit leaves the earlier texts open.
    const row = Number(await edited.getAttribute('data-id'));
    await there().command({ do: 'edit', row, text: 'Edited once more' });
    await edited.locator('.body', { hasText: 'Edited once more' }).waitFor();
    expect(await edited.locator('.history').isVisible()).toBe(true);
    await seen('.under', 'One part unsent');
    await seen('.translated');
  });

  inBrowser('tells what happened to a conversation in sentences', async () => {
    expect(await there().page.locator('#message-list li.notice').count()).toBeGreaterThan(4);
    await seen('li.notice', /named the conversation|Trip/);
  });

  inBrowser('shows an own send that waits for its time, changes it in its place, and cancels it', async () => {
    const { page } = there();
    const item = page.locator('#message-list .msg.later', { hasText: 'Written now, sent later' });
    await item.getByText(/^Postern sends it /).waitFor();
    await item.getByRole('button', { name: 'Change' }).click();
    const form = page.locator('#message-list .change');
    expect(await there().faults()).toEqual([]);
    // Escape ends the change, not the conversation.
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await item.getByRole('button', { name: 'Change' }).click();
    await form.getByLabel('Message').fill('Written again, sent later');
    await form.getByLabel('When').fill(`${new Date(Date.now() + 172_800_000).toISOString().slice(0, 10)}T07:45`);
    await form.getByRole('button', { name: 'Save' }).click();
    const changed = page.locator('#message-list .msg.later', { hasText: 'Written again, sent later' });
    await changed.getByText(/7:45/).waitFor();
    const all = (await (await ask('scheduled')).json()) as readonly { readonly text: string }[];
    expect(all.map(({ text }) => text)).toEqual(['Written again, sent later']);
    await changed.getByRole('button', { name: 'Cancel' }).click();
    // It stays under the pointer, so that a second click does not reach what is below.
    await changed.getByText('Cancelled').waitFor();
    await page.mouse.move(0, 0);
    await changed.waitFor({ state: 'detached' });
    expect(await (await ask('scheduled')).json()).toEqual([]);
  });

  inBrowser('loses no send whose change is only half done, and says what is left', async () => {
    const { page } = there();
    const later = (text: string) => page.locator('#message-list .msg.later', { hasText: text });
    const texts = async () => {
      const all = (await (await ask('scheduled?state=scheduled')).json()) as readonly { readonly text: string }[];
      return all.map(({ text }) => text).sort();
    };
    const change = async (from: string, to: string) => {
      await later(from).getByRole('button', { name: 'Change' }).click();
      await page.locator('#message-list .change').getByLabel('Message').fill(to);
      await page.getByRole('button', { name: 'Save' }).click();
    };
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    await ask('messages', { recipient: FROM, body: 'The first words', send_at: sendAt });
    await page.reload();
    // The answer is lost, but the old one is cancelled.
    const lose = async (route: Route) => {
      if (route.request().method() === 'DELETE') await route.fetch();
      await (route.request().method() === 'DELETE' ? route.abort() : route.continue());
    };
    await page.route('**/api/v1/scheduled/*', lose);
    await change('The first words', 'The second words');
    const isLeft = page.locator('#toast', { hasText: 'Changed. The old message may still be sent' });
    await isLeft.waitFor();
    expect(await texts()).toEqual(['The second words']);
    await later('The first words').waitFor({ state: 'detached' });
    await page.unroute('**/api/v1/scheduled/*');
    await page.route('**/api/v1/scheduled/*', (route) => route.abort());
    await change('The second words', 'The third words');
    await later('The third words').waitFor();
    await isLeft.waitFor();
    expect(await texts()).toEqual(['The second words', 'The third words']);
    await later('The second words').waitFor();
    await page.unroute('**/api/v1/scheduled/*');
    for (const text of ['The second words', 'The third words']) {
      await later(text).getByRole('button', { name: 'Cancel' }).click();
      await page.mouse.move(0, 0);
      await later(text).waitFor({ state: 'detached' });
    }
    // The browser itself logs the requests that failed.
    expect(there().complaints.splice(0)).not.toEqual([]);
  });

  inBrowser('marks a conversation as read in the demo when somebody opens it', async () => {
    await eventually(async () => {
      const path = `conversations/${encodeURIComponent(`any;-;${FROM}`)}?include=details`;
      const { details } = (await (await ask(path)).json()) as { readonly details: { readonly unread_count: number } };
      expect(details.unread_count).toBe(0);
    });
    expect(there().complaints).toEqual([]);
  });

  inBrowser('keeps a message that Messages sends tomorrow below those of now, also after a reload', async () => {
    const { page } = there();
    const later = 'Happy birthday tomorrow';
    await there().command({ do: 'schedule', to: FROM, text: later, inMs: 86_400_000 });
    await seen('.msg.later', later);
    expect((await ask('messages', { recipient: FROM, body: 'ping' })).status).toBe(201);
    await seen('.msg.mine.receipted', 'ping');
    // The person of the demo answers a second later, and would come between what follows.
    await seen('.msg', 'pong');
    await there().command({ do: 'receive', from: FROM, text: 'See you at ten' });
    await seen('.msg', 'See you at ten');
    const bodies = page.locator('#message-list .msg .body');
    expect((await bodies.allTextContents()).slice(-3)).toEqual(['pong', 'See you at ten', later]);
    await page.reload();
    await seen('.msg.later', later);
    expect((await bodies.allTextContents()).at(-1)).toBe(later);
  });

  inBrowser('keeps no more of the files that it has shown than 100 MB', async () => {
    const { page } = there();
    await page.evaluate(`globalThis.freed = 0;
      globalThis.size = Object.getOwnPropertyDescriptor(Blob.prototype, 'size');
      globalThis.revoke = URL.revokeObjectURL;
      Object.defineProperty(Blob.prototype, 'size', { configurable: true, get: () => 60_000_000 });
      URL.revokeObjectURL = (url) => { globalThis.freed += 1; };`);
    const video = { name: 'film.mp4', bytes: 10 };
    for (const text of ['one film', 'other film']) {
      await there().command({ do: 'receive', from: FROM, text, attachment: video });
      await page.locator('#message-list .msg', { hasText: text }).locator('.doc').click();
    }
    await eventually(async () => expect(await page.evaluate('globalThis.freed')).toBe(1));
    await page.evaluate(`Object.defineProperty(Blob.prototype, 'size', globalThis.size);
      URL.revokeObjectURL = globalThis.revoke;`);
  });

  inBrowser('puts the tail of a bubble on its side of the thread, whatever the direction of the text', async () => {
    await there().command({ do: 'receive', from: FROM, text: 'שלום לך' });
    await seen('.msg .body', 'שלום לך');
    expect((await ask('messages', { recipient: FROM, body: 'מה שלומך' })).status).toBe(201);
    await seen('.msg.mine.tail .body', 'מה שלומך');
    expect(await tailOf('שלום לך')).toMatchObject({ left: '-5px' });
    expect(await tailOf('מה שלומך')).toMatchObject({ right: '-5px' });
  });

  inBrowser('counts what is unread from the first page on, and says if there may be more', async () => {
    const { page, url, key } = there();
    await page.route('**/api/v1/conversations?*', async (route) => {
      const response = await route.fetch();
      const [first, ...others] = (await response.json()) as { readonly details: object }[];
      const last = { id: '1', body: 'Hello', sender: '+15550100', is_from_me: false };
      const unread = { ...first, details: { ...first?.details, unread_count: 7, last_message: last } };
      const headers = { ...response.headers(), link: '</api/v1/conversations?cursor=x>; rel="next"' };
      const read = others.map((one) => ({ ...one, details: { ...one.details, unread_count: 0 } }));
      await route.fulfill({ response, headers, json: [unread, ...read] });
    });
    await page.goto('about:blank');
    await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
    await page.locator('#views [data-place="messages"] .count', { hasText: /^7\+ unread messages$/ }).waitFor();
    await unroute(page);
  });
});
