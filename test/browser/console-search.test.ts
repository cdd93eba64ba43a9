import { afterAll, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import type { Route } from 'playwright-core';
import type { Message } from '../../src/core/model/message.ts';
import { BrowserStage, inBrowser, resize } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const SEARCH = '**/api/v1/search?*';
const MESSAGE: Message = {
  id: '900',
  guid: 'G900',
  conversation_id: 'any;+;chat424242',
  sender: '+15550101',
  body: `${'Something else. '.repeat(30)}The ladder is <b>here</b> 🪜.`,
  attachments: [],
  timestamp: '2021-03-04T05:06:07Z',
  is_from_me: false,
  status: 'delivered',
};

const folder = temporaryFolder();
let stage: BrowserStage | undefined;
const asked: string[] = [];

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  const { page, url, key } = stage;
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === '/api/v1/search') asked.push(searchParams.get('q') ?? '');
  });
  await page.goto(`${url}/console`);
  await page.fill('#key', key);
  await page.keyboard.press('Enter');
  await page.locator('#verdict').waitFor();
  await page.locator('#views a', { hasText: 'Messages' }).click();
  await page.locator('#conversation-list a').first().waitFor();
  // The index of a demo that has just started may not be complete yet.
  for (const word of ['beans', 'kettle']) {
    await eventually(async () => expect((await there().client.search(word)).hits).not.toEqual([]));
  }
});
beforeEach(() => void asked.splice(0));
afterAll(async () => {
  await stage?.close();
});

/** Answers with one hit, at the end of a long text. */
function answer(route: Route, headers: Record<string, string> = {}): Promise<void> {
  const at = MESSAGE.body.indexOf('ladder');
  return route.fulfill({ json: [{ message: MESSAGE, highlights: [[at, at + 6]] }], headers });
}

describe('the search box of the console', () => {
  inBrowser('finds messages while somebody types, with one question after the last key', async () => {
    const { page } = there();
    const hit = page.locator('#hit-list button', { hasText: 'Shall we plant the beans on Saturday?' });
    // Types faster than any person, so that no pause ends between two keys on any machine.
    await page.evaluate(`for (const end of [1, 2, 3, 4, 5]) {
      const field = document.getElementById('search');
      field.value = 'plant'.slice(0, end);
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    }`);
    await hit.waitFor();
    expect(asked.splice(0)).toEqual(['plant*']);
    // A message from a new person makes the page read its conversations again, but not show them.
    await there().command({ do: 'receive', from: '+15550143', text: 'We have not met.' });
    await page.locator('#conversation-list [title="+15550143"]').waitFor({ state: 'attached' });
    expect(await page.isVisible('#conversation-list')).toBe(false);
    expect(await hit.locator('mark').allTextContents()).toEqual(['plant']);
    expect(await hit.textContent()).toContain('Garden');
    await page.locator('#search-state', { hasText: /^1 message\.$/ }).waitFor();
    // Nothing was open, so the first hit stands beside the results, while the focus stays where somebody types.
    await page.locator('#message-list li.found', { hasText: 'Shall we plant the beans' }).waitFor();
    expect(await page.locator('#message-list :focus').count()).toBe(0);
    // Enter searches for whole words and accepts the whole syntax.
    await page.fill('#search', 'from:+15550101 "beans on"');
    await page.keyboard.press('Enter');
    await eventually(async () => expect(await hit.locator('mark').allTextContents()).toEqual(['beans on']));
    expect(asked.splice(0)).toEqual(['from:+15550101 "beans on"']);
  });

  inBrowser('stays open when Escape ends what an input method composes', async () => {
    const { page } = there();
    await page.focus('#search');
    await page.evaluate(`document.activeElement.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Escape', isComposing: true, bubbles: true }))`);
    expect(await page.isVisible('#found')).toBe(true);
    expect(await page.inputValue('#search')).toBe('from:+15550101 "beans on"');
  });

  inBrowser('opens the conversation at the message that is chosen', async () => {
    const { page } = there();
    await page.locator('#hit-list button').first().click();
    const found = page.locator('#message-list li.found');
    await found.getByText('Shall we plant the beans on Saturday?').waitFor();
    expect(await page.textContent('#thread-title')).toBe('Garden');
    expect(await page.isVisible('#newest-messages')).toBe(false);
  });

  inBrowser('finds people and groups from the first letter on, above the messages', async () => {
    const { page } = there();
    await page.fill('#search', 'be');
    await page.locator('#people-list button', { hasText: 'Ben Okafor+15550101' }).waitFor();
    expect(asked).toEqual([]);
    await page.fill('#search', 'ben');
    await page.locator('#people-list button', { hasText: 'Ben Okafor+15550101' }).waitFor();
    await eventually(() => expect(asked.splice(0)).toEqual(['ben*']));
  });

  inBrowser('works with the keyboard alone', async () => {
    const { page } = there();
    await page.focus('#search');
    await page.keyboard.press('Escape');
    await page.locator('#conversation-list a').first().waitFor();
    await page.keyboard.insertText('tomatoes OR beans');
    await page.locator('#search-state', { hasText: 'No message found.' }).waitFor();
    await page.keyboard.press('Escape');
    // Inserted at once: the hits of half a word would be replaced later while one of them has the focus.
    await page.keyboard.insertText('kettle');
    await page.locator('#hit-list button', { hasText: 'The kettle is on.' }).first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const found = page.locator('#message-list li.found:focus');
    await found.getByText('The kettle is on.').waitFor();
    // The message keeps the focus when it changes.
    const row = Number(await found.getAttribute('data-id'));
    await there().command({ do: 'edit', row, text: 'The kettle is hot.' });
    await found.getByText('The kettle is hot.').waitFor();
  });

  inBrowser('says where it looked if it finds nothing, and what else to try', async () => {
    const { page } = there();
    const none = page.locator('#found .empty');
    const hit = page.locator('#hit-list button', { hasText: 'The kettle is' });
    await page.fill('#search', 'from:me xylophone kettl');
    await page.keyboard.press('Enter');
    await none.getByRole('heading', { name: 'Nothing found for “from:me xylophone kettl”' }).waitFor();
    expect(await there().faults()).toEqual([]);
    const without = (term: string) => none.getByRole('button', { name: `Search without ${term}` });
    await without('from:me').click();
    await without('from:me').waitFor({ state: 'detached' });
    await none.getByText('All messages were searched.').waitFor();
    await without('xylophone').click();
    await hit.first().waitFor();
    // The last word may go on.
    expect(asked.splice(0)).toEqual(['from:me xylophone kettl', 'xylophone kettl*', 'kettl*']);
    const headers = { 'postern-search-complete': 'false; from=2021-03-04' };
    await page.route(SEARCH, (route) => route.fulfill({ json: [], headers }), { times: 1 });
    await page.fill('#search', 'kettle');
    await none.getByText('So far it contains messages since 2021-03-04.').waitFor();
    await none.getByRole('button', { name: 'Search again' }).click();
    await hit.first().waitFor();
  });

  inBrowser('aborts a question that is not answered yet when somebody types on', async () => {
    const { page } = there();
    const aborted = page.waitForEvent('requestfailed');
    let isFirst = true;
    await page.route(SEARCH, (route) => {
      if (!isFirst) return answer(route);
      isFirst = false; // never answered
      return undefined;
    });
    await page.fill('#search', 'lad');
    await eventually(() => expect(asked).toEqual(['lad*']));
    await page.locator('#search').focus();
    await page.keyboard.press('End');
    await page.keyboard.insertText('der');
    expect((await aborted).url()).toContain('q=lad');
    await page.locator('#hit-list mark', { hasText: 'ladder' }).waitFor();
    expect(asked.splice(0)).toEqual(['lad*', 'ladder*']);
    expect(await page.locator('#hit-list .text').textContent()).toMatch(
      /^….{20,30}Something else\. The ladder is <b>here<\/b> 🪜\.$/u,
    );
    await page.unroute(SEARCH);
  });

  inBrowser('shows an old message and what followed, and goes back to the newest', async () => {
    const { page } = there();
    const later = { ...MESSAGE, id: '901', guid: 'G901', body: 'And what followed.' };
    const after = Array.from({ length: 48 }, (_, n) => ({ ...MESSAGE, id: `${902 + n}`, body: `after ${n}` }));
    const newest = Array.from({ length: 50 }, (_, n) => ({ ...MESSAGE, id: `${2000 - n}`, body: `new ${n}` }));
    await page.route('**/api/v1/messages?*', (route) => {
      const { searchParams } = new URL(route.request().url());
      if (searchParams.has('cursor')) return route.fulfill({ json: [] });
      if (searchParams.get('order') !== 'asc') return route.fulfill({ json: newest });
      // The console also asks at times what is newer than the messages that it shows.
      if (searchParams.get('since') !== '2021-03-04T05:06:06.999Z') return route.fulfill({ json: [] });
      const link = '<?cursor=1.901>; rel="next"';
      return route.fulfill({ json: [MESSAGE, later, ...after], headers: { link } });
    });
    await page.locator('#hit-list button', { hasText: 'The ladder is' }).click();
    await page.locator('#message-list li.found', { hasText: 'The ladder is' }).waitFor();
    expect(await page.locator('#message-list li[data-id]').count()).toBe(50);
    await page.locator('#newest-messages').click();
    await page.locator('#message-list', { hasText: 'new 49' }).waitFor();
    expect(await page.isVisible('#newest-messages')).toBe(false);
    await page.unroute('**/api/v1/messages?*');
  });

  inBrowser('says from which day on messages are found, what is wrong with a question, and what to set', async () => {
    const { page, complaints } = there();
    const state = page.locator('#search-state');
    await page.route(SEARCH, (route) => answer(route, { 'postern-search-complete': 'false; from=2021-03-04' }));
    await page.fill('#search', 'ladders');
    await state
      .getByText('The search index is still being built. So far it contains messages since 2021-03-04.')
      .waitFor();
    await page.unroute(SEARCH);
    await page.fill('#search', 'has:photo');
    await state
      .getByText('At character 1: has:photo is not a known filter. The only one with has: is has:attachment.')
      .waitFor();
    // Enter does not ask again what was refused.
    await page.keyboard.press('Enter');
    const problem = { code: 'search_disabled', detail: 'Search is switched off.', hint: 'Set search.enabled = true.' };
    await page.route(SEARCH, (route) => route.fulfill({ status: 404, json: problem }));
    await page.fill('#search', 'anything');
    await state.getByText('Search is switched off. Set search.enabled = true.').waitFor();
    await page.unroute(SEARCH);
    expect(asked).toEqual(['ladders*', 'has:photo', 'anything*']);
    // The browser itself logs the refusals.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400'), expect.stringContaining('404')]);
  });

  inBrowser('begins in a thread on a phone, which has the room of the tabs and leads to the list', async () => {
    const { page } = there();
    await resize(page, 390, 844);
    await page.evaluate(`location.hash = '#/c/any;-;+15550100'`);
    await page.locator('#message-list .msg').first().waitFor();
    expect(await page.isVisible('#tabs')).toBe(false);
    await page.getByRole('button', { name: 'Search in this conversation' }).click();
    await page.locator('#search:focus').waitFor();
    expect(await page.inputValue('#search')).toBe('in:+15550100 ');
    await page.locator('#tabs').waitFor();
    expect(await page.isVisible('#thread')).toBe(false);
    await resize(page, 1280, 800);
  });

  inBrowser('has no fault that axe knows, in light and dark, and fits a phone', async () => {
    const { page, complaints } = there();
    await page.route(SEARCH, (route) => answer(route, { link: '<?cursor=1>; rel="next"' }));
    await page.fill('#search', 'ladder');
    await page.locator('#more-hits').click();
    await page.locator('#search-state', { hasText: 'The newest 2 messages.' }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await there().faults()).toEqual([]);
      await resize(page, 390, 844);
      expect(await there().faults()).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      await resize(page, 1280, 800);
    }
    expect(complaints).toEqual([]);
  });
});
