import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser, resize } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary.ts';

const GROUP = 'any;+;chat5151';
const [SARA, YAEL, MARK] = ['+15550162', '+15550164', '+15550165'];
const [TWIN, OTHER_TWIN] = ['+15550161', 'maria.fernandez@example.com'];
const NAMES: Readonly<Record<string, string>> = {
  [SARA]: 'سارة أحمد',
  [YAEL]: 'יעל כהן',
  [MARK]: 'Mark Lee',
  [TWIN]: 'Maria Fernandez-Schwarzenbacher',
  [OTHER_TWIN]: 'Maria Fernandez-Schwarzenbacher',
};
const folder = temporaryFolder();
let stage: BrowserStage | undefined;

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

/** Adds the names of people to everything in an answer that names them by their addresses. */
function named(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(named);
  if (typeof answer !== 'object' || answer === null) return answer;
  const known = Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, named(value)]));
  return 'participants' in known || 'sender' in known ? { ...known, names: NAMES } : known;
}

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  const { page, url, key } = stage;
  await stage.command({ do: 'group', identifier: 'chat5151', participants: [MARK, SARA, YAEL] });
  await stage.command({ do: 'receive', from: TWIN, text: 'From the telephone' });
  await stage.command({ do: 'receive', from: OTHER_TWIN, text: 'From the laptop' });
  await stage.command({ do: 'receive', from: SARA, text: 'مرحبا 10:30!', chat: GROUP });
  await stage.command({ do: 'receive', from: YAEL, text: 'The gate is open until 18:00.', chat: GROUP });
  await page.route(/\/api\/v1\/(?:conversations|messages|search|events)\?/, async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch();
    return route.fulfill({ response, json: named(await response.json()) });
  });
  await page.goto(`${url}/console#key=${encodeURIComponent(key)}`);
  await page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.page.unrouteAll({ behavior: 'ignoreErrors' });
  await stage?.close();
});

/** Returns the texts in the order in which they stand on the screen, from left to right. */
function fromLeft(selector: string, texts: readonly string[]): Promise<readonly string[]> {
  return there().page.evaluate<readonly string[]>(`(() => {
    const leftOf = (text) => {
      const walker = document.createTreeWalker(document.querySelector(${JSON.stringify(selector)}), NodeFilter.SHOW_TEXT);
      const range = document.createRange();
      while (walker.nextNode()) {
        const at = walker.currentNode.data.indexOf(text);
        if (at < 0) continue;
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + text.length);
        return range.getBoundingClientRect().left;
      }
      throw new Error('not there: ' + text);
    };
    return ${JSON.stringify(texts)}.toSorted((one, other) => leftOf(one) - leftOf(other));
  })()`);
}

const inList = (id: string): string => `#conversation-list [data-id="${id}"]`;
const people = [NAMES[MARK], NAMES[SARA], NAMES[YAEL]].map(String);

describe('names in the console', () => {
  inBrowser('tells two conversations of one name apart by their whole addresses', async () => {
    const { page } = there();
    await page.evaluate(`location.hash = '#/messages'`);
    for (const width of [1280, 390]) {
      await resize(page, width, 844);
      for (const address of [TWIN, OTHER_TWIN]) {
        const row = page.locator(inList(`any;-;${address}`));
        const shown = row.locator('.address', { hasText: address });
        await shown.waitFor();
        expect(
          await shown.evaluate(
            (one: { scrollWidth: number; clientWidth: number }) => one.scrollWidth <= one.clientWidth,
          ),
        ).toBe(true);
        // One question for both: between two the list may move its rows.
        const below = await page.evaluate<number>(`(() => {
          const row = document.querySelector(${JSON.stringify(inList(`any;-;${address}`))});
          const bottom = (one) => one.getBoundingClientRect().bottom;
          return bottom(row) - bottom(row.querySelector('.last'));
        })()`);
        expect(below).toBeGreaterThanOrEqual(0);
      }
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
  });

  inBrowser('keeps the order of words beside names and texts from right to left', async () => {
    const { page } = there();
    const [, sara = '', yael = ''] = people;
    await resize(page, 1280, 800);
    await page.evaluate(`location.hash = '#/c/${encodeURIComponent(GROUP)}'`);
    await page.locator('#message-list .msg', { hasText: '18:00' }).waitFor();
    expect(await fromLeft(`${inList(GROUP)} .head-line`, people)).toEqual(people);
    expect(await fromLeft('#thread-title', people)).toEqual(people);
    expect(await fromLeft('#thread-people', people)).toEqual(people);
    expect(await fromLeft(`${inList(GROUP)} .last`, [yael, 'The gate'])).toEqual([yael, 'The gate']);
    await page.fill('#search', '10:30');
    await page.keyboard.press('Enter');
    await page.locator('#hit-list .hit').waitFor();
    expect(await fromLeft('#hit-list .head-line', [sara, 'in ', 'PM'])).toEqual([sara, 'in ', 'PM']);
    expect(await fromLeft('#hit-list .text', ['!', '10:30', 'مرحبا'])).toEqual(['!', '10:30', 'مرحبا']);
    await page.evaluate(`location.hash = '#/events'`);
    const event = page.locator('#events .ev[data-key]', { hasText: '10:30' }).first();
    const row = `#events .ev[data-key="${await event.getAttribute('data-key')}"] .sum`;
    expect(await fromLeft(row, [sara, 'مرحبا'])).toEqual([sara, 'مرحبا']);
  });
});
