import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Route } from 'playwright-core';
import { BrowserStage, inBrowser, resize, unroute } from '../support/browser.ts';
import { isLong } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** More than the page has tab stops. */
const MAX_TABS = 60;
/** Returns a script that reports which element has the focus and whether it is visible. */
const stopAt = (selector: string): string => `(() => {
  const { activeElement: at } = document;
  // The ring of a radio button surrounds its words too.
  const { outlineStyle, outlineWidth } = getComputedStyle(at.closest('.option') ?? at);
  const { top, bottom, left, right } = at.getBoundingClientRect();
  return {
    isNone: at === document.body,
    isWanted: at.matches(${JSON.stringify(selector)}),
    html: at.outerHTML.slice(0, 120),
    isRinged: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
    isInView: bottom > 0 && right > 0 && top < innerHeight && left < innerWidth,
  };
})()`;

interface Stop {
  readonly isNone: boolean;
  readonly isWanted: boolean;
  readonly html: string;
  readonly isRinged: boolean;
  readonly isInView: boolean;
}

const folder = temporaryFolder();
let stage: BrowserStage | undefined;
let receiver: Receiver;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

/** Holds the next request for `glob` until `answer` is called. `isAsked` resolves once there is one. */
async function held(glob: string) {
  const { page } = there();
  let answer = () => Promise.resolve();
  let asked = (): void => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const keep = (route: Route): void => {
    answer = () => route.continue();
    asked();
  };
  // Before this ends, a request would pass.
  await page.route(glob, keep, { times: 1 });
  return { isAsked, answer: () => answer() };
}

/** Loads the page anew, with the overview. */
async function loadOverview(): Promise<void> {
  const { page } = there();
  await page.evaluate(`location.hash = '#/overview'`);
  await page.reload();
  await page.locator('#verdict').waitFor();
}

/** Presses Tab until the wanted element has the focus. Every stop on the way must be visible. */
async function tabTo(selector: string, key = 'Tab'): Promise<void> {
  const { page } = there();
  for (let step = 0; step < MAX_TABS; step += 1) {
    await page.keyboard.press(key);
    const stop = await page.evaluate<Stop>(stopAt(selector));
    if (stop.isNone) continue;
    expect([stop.html, stop.isRinged, stop.isInView]).toEqual([stop.html, true, true]);
    if (stop.isWanted) return;
  }
  throw new Error(`${selector} cannot be reached by keyboard`);
}

beforeAll(async () => {
  receiver = await Receiver.start();
  stage = await BrowserStage.open(folder, 1000);
  await stage?.page.goto(`${stage.url}/console`);
});
afterAll(async () => {
  await stage?.close();
  await receiver.close();
});

describe('the console, with the keyboard alone', () => {
  inBrowser('stands in the field of the key from the beginning, and again after a wrong one', async () => {
    const { page, key, url } = there();
    await fetch(`${url}/api/v1/webhooks`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, events: ['message.received', 'message.sent'] }),
    });
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This key is not known here.').waitFor();
    expect(await there().faults()).toEqual([]);
    await page.keyboard.type(key);
    await page.keyboard.press('Enter');
    await page.locator('#verdict').waitFor();
  });

  inBrowser('chooses a conversation, sends, and sees the event and the answer', async () => {
    const { page } = there();
    await tabTo('#views a[href="#/messages"]');
    await page.keyboard.press('Enter');
    await page.locator('#conversation-list a').first().waitFor();
    await tabTo('[data-id="any;-;cho@example.com"]');
    await page.keyboard.press('Enter');
    await page.locator('#body:focus').waitFor();
    await page.locator('#message-list', { hasText: 'Nice to meet you.' }).waitFor();
    await page.keyboard.type('Written without a mouse?');
    await tabTo('#send');
    await page.keyboard.press('Space');
    await page.locator('#message-list .mine', { hasText: 'Written without a mouse?' }).waitFor();
    await page.locator('#message-list', { hasText: 'Good question. I would say yes.' }).waitFor();
    expect(await page.locator('#message-list .mine', { hasText: 'without a mouse' }).count()).toBe(1);
  });

  inBrowser('pauses the stream and lets it continue', async () => {
    const { page } = there();
    await tabTo('#views a[href="#/events"]', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.locator('#events [data-type="message.sent"]', { hasText: 'without a mouse' }).waitFor();
    await tabTo('#pause');
    await page.keyboard.press('Space');
    await page.locator('#live-state', { hasText: 'Paused' }).waitFor();
    expect(await page.getAttribute('#pause', 'aria-pressed')).toBe('true');
    await page.keyboard.press('Space');
    await page.locator('#live-state', { hasText: 'Live' }).waitFor();
    await tabTo('#live-form [data-group="sent"]');
    await page.keyboard.press('Space');
    await page.locator('#events [data-type="message.received"]').first().waitFor({ state: 'hidden' });
    await page.keyboard.press('Space');
    await tabTo('#events .ev[data-key]');
    await page.keyboard.press('Enter');
    const opened = await page.locator('.drawer pre').textContent();
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('.drawer pre').textContent()).not.toBe(opened);
    await page.keyboard.press('Escape');
    await page.locator('.drawer').waitFor({ state: 'hidden' });
  });

  inBrowser('replays a webhook and goes back again', async () => {
    const { page } = there();
    await eventually(() => expect(receiver.deliveries.length).toBeGreaterThan(0));
    const [first] = receiver.deliveries;
    const times = () =>
      receiver.deliveries.filter(
        ({ headers }) => headers['x-webhook-delivery'] === first?.headers['x-webhook-delivery'],
      );
    await tabTo('#views a[href="#/webhooks"]', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.locator('#webhook-list a').waitFor();
    await tabTo('#webhook-list a');
    await page.keyboard.press('Enter');
    await page.locator('#delivery-list summary').first().waitFor();
    await tabTo('#delivery-list summary');
    await page.keyboard.press('Enter');
    await page.locator('#delivery-list details[open]').waitFor();
    await tabTo('.head [aria-haspopup]', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.locator('[role="menuitem"]:focus', { hasText: 'Replay' }).waitFor();
    await page.keyboard.press('Enter');
    await tabTo('dialog [name="which"]:checked');
    await page.locator('dialog [name="time"]').fill('2020-01-01T00:00');
    await page.keyboard.press('Enter');
    await page.locator('#toast', { hasText: /Delivering everything after .+2020.+ again/ }).waitFor();
    await eventually(() => expect(times().length).toBe(2));
    await tabTo('#views a[href="#/messages"]', 'Shift+Tab');
    await page.keyboard.press('Enter');
  });

  inBrowser('stands in the box for writing after a conversation was chosen with Control and K', async () => {
    const { page } = there();
    await page.evaluate(`location.hash = '#/overview'`);
    await page.locator('#verdict').waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('dialog.palette input:focus').waitFor();
    await page.keyboard.type('cho');
    await page.locator('#choices [aria-selected="true"]', { hasText: 'Cho Tanaka' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#body:focus').waitFor();
    // Each of these letters would be a shortcut.
    await page.keyboard.type('n/?');
    expect(await page.inputValue('#body')).toBe('n/?');
    await page.fill('#body', '');
  });

  inBrowser('gives what is typed while the palette loads to it, and then returns to where somebody was', async () => {
    const { page } = there();
    await loadOverview();
    await page.locator('#check-now').focus();
    const late = await held('**/others-*.js');
    await page.keyboard.press('Control+k');
    await late.isAsked;
    await page.keyboard.type('nag');
    await late.answer();
    await page.locator('dialog.palette input:focus').waitFor();
    await page.keyboard.type('a');
    await page.locator('#choices', { hasText: 'Search messages for “naga”' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#check-now:focus').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
  });

  inBrowser('gives what is typed while a conversation loads to its box, and runs no shortcut', async () => {
    const { page } = there();
    await loadOverview();
    const late = await held('**/messages-*.js');
    await page.keyboard.press('Control+k');
    await page.locator('dialog.palette input:focus').waitFor();
    await page.keyboard.type('cho');
    await page.locator('#choices [aria-selected="true"]', { hasText: 'Cho Tanaka' }).waitFor();
    await page.keyboard.press('Enter');
    await late.isAsked;
    await page.locator('dialog.palette').waitFor({ state: 'detached' });
    await page.keyboard.type('?gw');
    await late.answer();
    await page.locator('#body:focus').waitFor();
    await page.keyboard.type('!');
    expect(await page.inputValue('#body')).toBe('?gw!');
    expect(await page.locator('dialog').count()).toBe(0);
    await page.fill('#body', '');
  });

  inBrowser('takes with Enter only what fits all letters after Control and K, also if it comes late', async () => {
    const { page } = there();
    let answer = () => {};
    const late = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/api/v1/contacts?*', async (route) => {
      await late;
      await route.continue();
    });
    await page.evaluate(`location.hash = '#/overview'`);
    await page.locator('#overview:not([hidden])').waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('dialog.palette input:focus').waitFor();
    const asked = page.waitForRequest('**/api/v1/contacts?*');
    await page.keyboard.insertText('tanaka');
    await page.keyboard.press('Enter');
    await asked;
    expect(await page.locator('#choices li').allTextContents()).toEqual(['Search messages for “tanaka”']);
    answer();
    await page.locator('#body:focus').waitFor();
    expect(await page.textContent('#thread-title')).toBe('Cho Tanaka');
    await unroute(page);
  });

  inBrowser('goes anywhere with Control and K, or with g and a letter', async () => {
    const { page } = there();
    await page.keyboard.press('Control+k');
    await page.locator('dialog.palette input:focus').waitFor();
    expect(await page.locator('#choices .caption').allTextContents()).toEqual(['Views', 'Actions']);
    await page.keyboard.type('create a key');
    await page.locator('#choices [aria-selected="true"]', { hasText: 'Create a key' }).waitFor();
    expect(await there().faults()).toEqual([]);
    await page.keyboard.press('Enter');
    await page.locator('.steps').waitFor();
    await page.locator('#main').focus();
    // At once, because the page waits only 1.5 s for the letter.
    await page.evaluate(
      `for (const key of 'gm') document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))`,
    );
    await page.locator('#messages').waitFor();
  });

  inBrowser('moves through the conversations with the arrows, searches with / and lists the keys with ?', async () => {
    const { page } = there();
    await page.locator('#conversation-list a').first().waitFor();
    await tabTo('#conversation-list a');
    const first = await page.evaluate('document.activeElement.title');
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate('document.activeElement.title')).not.toBe(first);
    await page.keyboard.press('ArrowUp');
    expect(await page.evaluate('document.activeElement.title')).toBe(first);
    await page.keyboard.press('/');
    await page.locator('#search:focus').waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    await page.locator('#recipient:focus').waitFor();
    // Typing a name is enough: its address is suggested.
    await page.keyboard.type('Ben');
    // Wait until he is the first suggestion: those for fewer letters may begin with a group that Ben belongs to.
    await page.locator('[role="option"]:first-child', { hasText: 'Ben Okafor' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#body:focus').waitFor();
    expect(await page.locator('.to-line .token').textContent()).toContain('Ben Okafor');
    await page.keyboard.press('Escape');
    await page.locator('#message-none').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('#conversation-list a:focus').waitFor();
  });

  inBrowser('enters the list of a view with an arrow, wherever the focus is not in something else', async () => {
    const { page } = there();
    for (const [view, row] of [
      ['messages', '#conversation-list a'],
      ['events', '#events .ev[data-key]'],
      ['webhooks', '#webhook-list a'],
    ]) {
      await page.evaluate(`location.hash = '#/${view}'`);
      await page
        .locator(row ?? '')
        .first()
        .waitFor();
      await page.locator('#main').focus();
      await page.keyboard.press('ArrowDown');
      await page.locator(`${row}:focus`).waitFor();
    }
    await page.evaluate(`location.hash = '#/messages'`);
    await page.locator('#conversation-list a').first().waitFor();
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('ArrowDown');
    await page.locator('#conversation-list li:first-child a:focus').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('#conversation-list li:nth-child(2) a:focus').waitFor();
  });

  inBrowser('keeps the proposal that somebody chose when a late answer fills the list again', async () => {
    const { page } = there();
    let answer = () => {};
    const late = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/api/v1/contacts?*', async (route) => {
      await late;
      await route.continue();
    });
    await page.locator('#main').focus();
    await page.keyboard.press('n');
    await page.locator('#recipient:focus').waitFor();
    await page.fill('#recipient', '');
    await page.locator('[role="option"]').first().waitFor();
    const asked = page.waitForRequest('**/api/v1/contacts?*');
    await page.keyboard.insertText('Ben');
    await asked;
    await page.keyboard.press('ArrowDown');
    const chosen = page.locator('[role="option"][aria-selected="true"]');
    const name = await chosen.textContent();
    await page.evaluate(`for (const one of document.querySelectorAll('[role="option"]')) one.dataset.early = ''`);
    answer();
    await page.locator('[role="option"]:not([data-early])').first().waitFor();
    expect(await chosen.textContent()).toBe(name);
    await page.keyboard.press('Enter');
    await page.locator('#body:focus').waitFor();
    await unroute(page);
  });

  for (const scheme of ['light', 'dark'] as const) {
    inBrowser(
      `has no fault of labels, roles or contrast that axe knows, in a ${scheme} room and on a phone`,
      async () => {
        const { page } = there();
        await page.emulateMedia({ colorScheme: scheme });
        for (const view of ['c/any;-;cho@example.com', 'overview', 'settings']) {
          await page.evaluate(`location.hash = '#/${view}'`);
          await page
            .locator(`[data-view="${view.startsWith('c/') ? 'messages' : view}"] h1`)
            .first()
            .waitFor();
          expect([view, await there().faults()]).toEqual([view, []]);
          await resize(page, 390, 844);
          if (isLong || scheme === 'light') expect([view, await there().faults()]).toEqual([view, []]);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
          await resize(page, 1280, 800);
        }
      },
    );
  }
});

describe('the console, when the service goes', () => {
  inBrowser('says so, and takes up by itself where it stopped', async () => {
    const { page, complaints } = there();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);
    await page.evaluate(`location.hash = '#/c/any;-;cho@example.com'`);
    await there().stopService();
    await page.locator('#outage', { hasText: 'Postern does not answer.' }).waitFor();
    await page.fill('#body', 'Nobody hears this');
    await page.keyboard.press('Control+Enter');
    await page.locator('#send-result', { hasText: 'Postern does not answer.' }).waitFor();
    expect(await page.inputValue('#body')).toBe('Nobody hears this');
    await there().startService();
    await page.locator('#health[data-state="good"]').waitFor();
    await page.keyboard.press('Control+Enter');
    await page.locator('#message-list .mine', { hasText: 'Nobody hears this' }).waitFor();
    await page.evaluate(`location.hash = '#/events'`);
    await page.locator('#events [data-type="message.sent"]', { hasText: 'Nobody hears this' }).waitFor();
  });
});
