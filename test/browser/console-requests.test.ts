import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Request } from 'playwright-core';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const GARDEN = '#conversation-list [data-id="any;+;chat424242"]';
const BEN = '#conversation-list [data-id="any;-;+15550101"]';

const folder = temporaryFolder();
let stage: BrowserStage | undefined;
/** Requests since the last count. */
let asked: Request[] = [];
/** Requests without an answer, except the one that waits for approvals. */
const open = new Set<Request>();

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

const pathOf = (request: Request): string => new URL(request.url()).pathname.split('/api/v1/')[1] ?? '';
const isWaiting = (request: Request): boolean => request.url().includes('wait=');

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  const { page } = stage;
  page.on('request', (request) => {
    if (pathOf(request) === '') return;
    asked.push(request);
    if (!isWaiting(request)) open.add(request);
  });
  page.on('response', (response) => open.delete(response.request()));
  page.on('requestfailed', (request) => open.delete(request));
  await page.clock.install();
  await page.goto(`${stage.url}/console`);
  await page.fill('#key', stage.key);
  await page.keyboard.press('Enter');
  await page.locator('#overview .plot svg').waitFor();
  // From now on, only the tests move the time of the page.
  await page.clock.pauseAt(Date.now() + 1000);
});
afterAll(async () => {
  await stage?.close();
});

/** Waits until every request is answered. */
const answered = (): Promise<void> => eventually(() => expect([...open].map(pathOf)).toEqual([]));

/**
 * Returns what the action asked for, without pictures, which are part of the messages, and without what the page asks
 * for whenever the service has news: the sends that wait for approval, and the conversations after a message from a
 * new person.
 */
async function askedBy(action: () => Promise<unknown>): Promise<readonly string[]> {
  await answered();
  asked = [];
  await action();
  // Timers that begin with an answer, such as those of a picture, have then run.
  await there().page.clock.runFor(1000);
  await answered();
  const paths = asked.filter((request) => !isWaiting(request)).map(pathOf);
  return paths.filter((path) => path !== 'conversations' && !path.includes('/attachments/'));
}

/** Waits until an element is visible. A view is made after a timer, so the time of the page goes on meanwhile. */
async function seen(selector: string): Promise<void> {
  const { page } = there();
  await eventually(async () => {
    await page.clock.runFor(20);
    expect(await page.locator(selector).first().isVisible()).toBe(true);
  });
}

const goTo = (view: string) => there().page.locator('#views a', { hasText: view }).click();

describe('the requests of the console, whose minute all clients share', () => {
  inBrowser('asks for each thing once when a view opens', async () => {
    const { page } = there();
    const messages = await askedBy(async () => {
      await goTo('Messages');
      await seen(GARDEN);
    });
    expect(messages).toEqual(['scheduled', 'keys']);
    const first = await askedBy(async () => {
      await page.locator(GARDEN).click();
      await seen('#message-list .msg');
    });
    expect([first, first.length <= 3]).toEqual([expect.arrayContaining(['messages']), true]);
    const second = await askedBy(async () => {
      await page.locator(BEN).click();
      await page.locator('#thread-title', { hasText: 'Ben' }).waitFor();
      await seen('#message-list .msg');
    });
    expect([second, second.length <= 3, second.includes('keys')]).toEqual([
      expect.arrayContaining(['messages']),
      true,
      false,
    ]);
    const approvals = await askedBy(async () => {
      await goTo('Approvals');
      await seen('#approvals .empty');
    });
    expect(approvals).toEqual(['approvals']);
    const audit = await askedBy(async () => {
      await goTo('Audit log');
      await seen('#audit .empty');
    });
    expect([...audit].sort()).toEqual(['approvals', 'audit']);
  });

  inBrowser('asks at most 20 times in a minute by itself, whichever view is open', async () => {
    const { page } = there();
    for (const view of ['Overview', 'Webhooks', 'Approvals', 'Messages']) {
      await goTo(view);
      await seen(`[data-view="${view.toLowerCase()}"]`);
      await answered();
      asked = [];
      for (let second = 0; second < 60; second += 5) {
        await page.clock.runFor(5000);
        await answered();
      }
      expect([view, asked.map(pathOf), asked.length <= 20]).toEqual([view, expect.anything(), true]);
    }
  });
});
