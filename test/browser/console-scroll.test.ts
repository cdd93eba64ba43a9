import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { CHROMIUM, inBrowser, openPage } from '../support/browser.ts';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MESSAGES = 1500;
/** Of which most are not in the document at once. */
const CONVERSATIONS = 400;
/** Maximum number of messages in the page at once: one page more than it keeps. */
const MOST = 500;
const LONG = 'iMessage;-;+15550100';

const fixture = new ChatFixture(join(temporaryFolder(), 'chat.db'));
let service: Service;
let browser: Browser | undefined;
let page: Page;
let ids: readonly string[] = [];
/** Sends an event to the page, besides those of the service. */
let report = (_event: object): void => {};

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  fixture.transaction(() => {
    const chat = fixture.chat(LONG, ['+15550100']);
    // Several share one second, as people write.
    ids = Array.from({ length: MESSAGES }, (_, n) => {
      const date = appleNs('2026-01-01T00:00:00Z') + BigInt(Math.floor(n / 3) * 7) * 1_000_000_000n + BigInt(n);
      return String(fixture.message({ chat, date, text: `number ${n}`, is_from_me: n % 4 === 0 ? 1 : 0 }));
    });
    for (let n = 0; n < CONVERSATIONS; n += 1) {
      const other = fixture.chat(`iMessage;-;person${n}@example.com`, [`person${n}@example.com`]);
      fixture.message({ chat: other, date: appleNs('2025-01-01T00:00:00Z') + BigInt(n), text: `hello ${n}` });
    }
  });
  service = await Service.start({ chatDbPath: fixture.path });
  ({ browser, page } = await openPage(CHROMIUM));
  await page.routeWebSocket(/ws/, (socket) => {
    socket.connectToServer();
    report = (event) => socket.send(JSON.stringify(event));
  });
  await page.goto(`http://127.0.0.1:${service.port}/console#key=${encodeURIComponent(KEY)}`);
  await page.locator('#views a', { hasText: 'Messages' }).click();
  await page.locator('#conversation-list a').first().waitFor();
});
afterAll(async () => {
  await browser?.close();
  await service.dispose();
  fixture.remove();
});

const shown = () =>
  page.evaluate<string[]>(`[...document.querySelectorAll('#message-list [data-id]')].map(({ dataset }) => dataset.id)`);

/** The shown messages are one gapless part of the conversation, in order. */
function expectOnePiece(shownIds: readonly string[]): void {
  const from = ids.indexOf(shownIds[0] ?? '');
  expect(shownIds).toEqual(ids.slice(from, from + shownIds.length));
  expect(shownIds.length).toBeLessThanOrEqual(MOST);
}

async function scrollUntil(place: 'top' | 'bottom', id: string | undefined): Promise<void> {
  await eventually(async () => {
    await page.evaluate(
      place === 'top'
        ? `document.getElementById('message-list').scrollTop = 0`
        : `document.getElementById('message-list').scrollTop = 1e9`,
    );
    const seen = await shown();
    expectOnePiece(seen);
    expect(place === 'top' ? seen[0] : seen.at(-1)).toBe(id);
  });
}

describe('scrolling in the console', () => {
  inBrowser('goes back to the first message and on to the newest, and holds a bounded part', async () => {
    await page.locator(`#conversation-list [data-id="${LONG}"]`).click();
    await eventually(async () => expect((await shown()).at(-1)).toBe(ids.at(-1)));
    await scrollUntil('top', ids[0]);
    await page.locator('#newest-messages').waitFor();
    await scrollUntil('bottom', ids.at(-1));
    expect(await page.isVisible('#newest-messages')).toBe(false);
    // Only the demo can speak as somebody.
    expect(await page.getByRole('button', { name: 'Speak as …' }).count()).toBe(0);
  });

  inBrowser('stays where the person reads while a page is added before it', async () => {
    await page.reload();
    await eventually(async () => expect((await shown()).at(-1)).toBe(ids.at(-1)));
    const before = (await shown()).length;
    const moved = await page.evaluate<number>(`new Promise((resolve) => {
      const list = document.getElementById('message-list');
      list.scrollTop = 300;
      const item = [...list.querySelectorAll('[data-id]')].find((each) => each.getBoundingClientRect().top > 300);
      const top = item.getBoundingClientRect().top;
      const seen = new MutationObserver(() => requestAnimationFrame(() => {
        if (list.querySelectorAll('[data-id]').length <= ${before}) return;
        seen.disconnect();
        resolve(Math.abs(item.getBoundingClientRect().top - top));
      }));
      seen.observe(list, { childList: true });
    })`);
    expect(moved).toBeLessThan(30);
  });

  inBrowser('reads the thread again from where the person reads when many messages have changed', async () => {
    await page.reload();
    await eventually(async () => expect((await shown()).at(-1)).toBe(ids.at(-1)));
    await eventually(async () => {
      await page.evaluate(`document.getElementById('message-list').scrollTop = 0`);
      expect((await shown()).length).toBeGreaterThan(120);
    });
    const place = `(() => {
      const list = document.getElementById('message-list');
      const { top } = list.getBoundingClientRect();
      const item = [...list.querySelectorAll('[data-id]')].find((each) => each.getBoundingClientRect().bottom > top);
      return [item.dataset.id, Math.round((item.getBoundingClientRect().top - top) / 10)];
    })()`;
    await page.evaluate(`document.getElementById('message-list').scrollTop = 1500`);
    const before = await page.evaluate(place);
    await page.evaluate(`document.querySelector('#message-list [data-id]').title = 'as it was'`);
    report({ type: 'messages.changed', data: { first_row: 1, last_row: 2, count: 2 } });
    await page.locator('#message-list [title="as it was"]').waitFor({ state: 'detached' });
    await page.locator('#message-list:not([aria-busy])').waitFor();
    expectOnePiece(await shown());
    expect(await page.evaluate(place)).toEqual(before);
  });

  inBrowser('goes both ways from a message in the middle that the address names', async () => {
    const middle = ids[700] ?? '';
    await page.goto(`http://127.0.0.1:${service.port}/console#/c/${encodeURIComponent(LONG)}/${middle}`);
    await page.locator(`#message-list .found[data-id="${middle}"]`).waitFor();
    await eventually(async () => {
      const seen = await shown();
      expectOnePiece(seen);
      expect(seen.indexOf(middle)).toBeGreaterThan(0);
      expect(seen.length - seen.indexOf(middle)).toBeGreaterThan(20);
    });
    await scrollUntil('top', ids[0]);
    await page.locator('#newest-messages').click();
    await eventually(async () => expect((await shown()).at(-1)).toBe(ids.at(-1)));
  });

  inBrowser('lists all conversations, page by page, and holds those near what is seen', async () => {
    await eventually(async () => {
      await page.evaluate(`document.getElementById('conversation-list').scrollTop = 1e9`);
      expect(await page.locator('#conversation-list', { hasText: 'hello 0' }).count()).toBe(1);
    });
    const back = await page.evaluate<{ seen: number; most: number; empty: number }>(`new Promise((resolve) => {
      const list = document.getElementById('conversation-list');
      const { left, top } = list.getBoundingClientRect();
      const seen = new Set();
      let most = 0;
      let empty = 0;
      const step = () => {
        for (const { dataset } of list.querySelectorAll('a')) seen.add(dataset.id);
        most = Math.max(most, list.childElementCount);
        if (document.elementFromPoint(left + 30, top + 30).closest('li') === null) empty += 1;
        if (list.scrollTop === 0) return resolve({ seen: seen.size, most, empty });
        list.scrollTop -= 400;
        // The scroll event fires with the next frame.
        requestAnimationFrame(() => requestAnimationFrame(step));
      };
      step();
    })`);
    expect(back).toEqual({ seen: CONVERSATIONS + 1, most: 21, empty: 0 });
  });

  inBrowser('keeps its place in the list when a conversation is new', async () => {
    await page.evaluate(`document.getElementById('conversation-list').scrollTop = 1e9`);
    const last = (all: number) => page.locator(`#conversation-list [aria-setsize="${all}"]`, { hasText: 'hello 0' });
    await last(CONVERSATIONS + 1).waitFor();
    const chat = fixture.chat('iMessage;-;new@example.com', ['new@example.com']);
    fixture.message({ chat, date: appleNs('2026-06-01T00:00:00Z'), text: 'new here' });
    await last(CONVERSATIONS + 2).waitFor();
  });
});
