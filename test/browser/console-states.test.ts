import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser, offTheSide, resize } from '../support/browser.ts';
import { isLong } from '../support/conditions.ts';
import { type ConsoleState, CONSOLE_STATES as STATES } from '../support/console-states.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Folder for a picture of every state; none are taken if it is empty. */
const PICTURES = process.env.POSTERN_PICTURES ?? '';
const LONG_NAME = 'Maximiliane Schwarzenbacher-Wolkenstein of the Neighbourhood Association';
const HEBREW = 'שלום 🙂';
const ARABIC = 'مرحبا! هل وصل الطرد؟';
const LONG_WORD = `Donaudampfschifffahrtsgesellschaft${'kapitän'.repeat(12)}`;

/** States that an address alone leads to. The others have the same layout. */
const VIEWS = isLong ? STATES : STATES.filter(({ does, answers }) => (does ?? answers) === undefined);

/**
 * Reports whether axe looks at a state in this width, which takes it a second or more. The short form asks once for
 * each state, by turns in light and wide and in dark and narrow; pages that are long only when narrow.
 */
function isAskedOf(state: ConsoleState, width: number): boolean {
  const isNarrow = width < 800;
  if (state.isLong === true) return isNarrow;
  return isLong || (STATES.indexOf(state) % 2 === 0) === isNarrow;
}

const folder = temporaryFolder();
let stage: BrowserStage | undefined;
let ids: Readonly<Record<string, string>> = {};

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

async function ask(path: string, body: unknown, key = there().key): Promise<Record<string, string>> {
  const response = await fetch(`${there().url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, string>;
}

/** Brings the page into a state, and returns a function that leaves it. */
async function go({ hash, shows, does, until, answers = [] }: ConsoleState): Promise<() => Promise<void>> {
  const { page } = there();
  for (const [glob, change] of answers) {
    await page.route(glob, async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const response = await route.fetch();
      return route.fulfill({ response, json: change((await response.json()) as never) });
    });
  }
  if (answers.length > 0) await loaded();
  await page.evaluate(`location.hash = '#/nowhere'`);
  await page.evaluate(
    `location.hash = ${JSON.stringify(hash.replace('ID', ids.webhook ?? '').replace('KEY', ids.key ?? ''))}`,
  );
  await page.locator(shows).first().waitFor({ state: 'attached' });
  if (does !== undefined) await page.evaluate(does);
  if (until !== undefined) await page.locator(until).first().waitFor({ state: 'attached' });
  return async () => {
    // An answer may still be on its way.
    if (answers.length > 0) await page.unrouteAll({ behavior: 'ignoreErrors' });
    if (does !== undefined || answers.length > 0) await loaded();
  };
}

/** Reloads the page, so that nothing of an earlier state is left in it. */
async function loaded(): Promise<void> {
  const { page } = there();
  const { dir } = await page.evaluate<{ dir: string }>(`({ dir: document.documentElement.dir })`);
  await page.reload();
  await page.locator('#views a').first().waitFor({ state: 'attached' });
  if (dir !== '') await page.evaluate(`document.documentElement.dir = '${dir}'`);
}

/** Script that returns the buttons, fields and cards that are shown without a border. */
const BORDERLESS = `[...document.querySelectorAll('#main :is(.btn:not(.bare), .input, .card, .bubble:not(.big))')]
  .filter((each) => each.checkVisibility() && parseFloat(getComputedStyle(each).borderTopWidth) === 0)
  .map(({ className }) => className)`;

async function picture(name: string): Promise<void> {
  if (PICTURES === '') return;
  mkdirSync(PICTURES, { recursive: true });
  await there().page.screenshot({ path: join(PICTURES, `${name.replaceAll(' ', '-')}.png`) });
}

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 100_000);
  if (stage === undefined) return;
  await ask('messages', { recipient: '+15550100', body: `${HEBREW} ${LONG_WORD}` });
  await stage.command({ do: 'receive', from: '+15550100', text: ARABIC });
  await stage.command({ do: 'contents', from: '+15550101' });
  await stage.command({ do: 'scenario', name: 'error_25', times: 1 });
  await ask('messages', { recipient: '+15550100', body: 'This does not arrive' });
  const agent = await ask('keys', {
    name: LONG_NAME.slice(0, 64),
    preset: 'assistant',
    read: '*',
    send: ['+15550100'],
    approval: 'always',
  });
  await ask('messages', { recipient: '+15550100', body: `${ARABIC}\u202e ${LONG_WORD}` }, agent.key);
  await ask('messages', { recipient: '+15550199', body: 'refused' }, agent.key);
  const webhook = await ask('webhooks', {
    url: `http://127.0.0.1:9/${'a-long-path/'.repeat(12)}`,
    name: LONG_NAME.slice(0, 60),
    events: ['message.received'],
    on_failure: 'hold',
  });
  ids = { webhook: String(webhook.id), key: String(agent.id) };
  await stage.command({ do: 'receive', from: '+15550100', text: 'held' });
  await stage.page.goto(`${stage.url}/console#key=${encodeURIComponent(stage.key)}`);
  await stage.page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.close();
});

for (const [scheme, width, height] of [
  ['light', 1440, 900],
  ['dark', 390, 844],
] as const) {
  describe(`the console, ${scheme} and ${width} wide, has no fault that axe knows, and nothing runs off the side`, () => {
    for (const state of STATES) {
      inBrowser(state.name, async () => {
        const { page } = there();
        await page.emulateMedia({ colorScheme: scheme });
        await resize(page, width, height);
        const back = await go(state);
        await picture(`${state.name} ${width} ${scheme}`);
        if (isAskedOf(state, width)) expect(await there().faults()).toEqual([]);
        expect(await offTheSide(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        await back();
      });
    }
  });
}

describe('the console, in every state', () => {
  inBrowser('can be read at twice the size: at 640 wide nothing runs off the side', async () => {
    const { page } = there();
    await page.emulateMedia({ colorScheme: 'light' });
    await resize(page, 640, 400);
    for (const state of VIEWS) {
      const back = await go(state);
      expect([state.name, await offTheSide(page)]).toEqual([state.name, []]);
      await back();
    }
    await resize(page, 1280, 800);
  });

  inBrowser('leaves room for what happened in an event, however wide the window is', async () => {
    const { page } = there();
    await page.evaluate(`location.hash = '#/events'`);
    for (const width of [390, 770, 1100, 1110]) {
      await resize(page, width, 800);
      const sum = page.locator('#events .ev[data-key] .sum').first();
      await sum.waitFor({ state: 'attached' });
      expect((await sum.boundingBox())?.width).toBeGreaterThan(200);
    }
    await resize(page, 1280, 800);
  });

  inBrowser('has all titles at one height', async () => {
    const { page } = there();
    for (const [width, height] of [
      [390, 844],
      [1280, 800],
    ] as const) {
      await resize(page, width, height);
      const tops = new Map<string, number>();
      for (const state of VIEWS) {
        const back = await go(state);
        const title = page.locator('#main > :not([hidden]) .head h1');
        if ((await title.count()) > 0) tops.set(state.name, (await title.boundingBox())?.y ?? 0);
        await back();
      }
      expect(tops.size).toBeGreaterThan(8);
      expect([...tops].filter(([, top]) => top !== tops.get('settings'))).toEqual([]);
    }
  });

  inBrowser('is mirrored for a language from right to left, and keeps numbers and code as they are', async () => {
    const { page } = there();
    await page.evaluate(`document.documentElement.dir = 'rtl'`);
    for (const state of VIEWS) {
      const back = await go(state);
      await picture(`${state.name} rtl`);
      expect([state.name, await offTheSide(page)]).toEqual([state.name, []]);
      await back();
    }
    const left = (selector: string) =>
      page.evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().left`);
    expect(await left('.side')).toBeGreaterThan(1000);
    // Code begins on the left, so its button stands on the right.
    await go({ name: '', hash: '#/webhooks/new', shows: '#webhook-form' });
    expect(await left('#webhooks .code .btn')).toBeGreaterThan((await left('#webhooks .code pre')) + 100);
    await page.evaluate(`document.documentElement.dir = 'ltr'`);
  });

  inBrowser('shows Arabic from right to left, and a name beside it where it belongs', async () => {
    const { page } = there();
    await go({ name: '', hash: '#/c/any%3B-%3B%2B15550100', shows: '#message-list .failed' });
    for (const text of [ARABIC, HEBREW]) {
      await page.locator('#message-list .body:dir(rtl)', { hasText: text }).first().waitFor();
    }
  });

  inBrowser('moves nothing for somebody who asks for less motion, and keeps borders in forced colours', async () => {
    const { page } = there();
    await page.emulateMedia({ reducedMotion: 'reduce', forcedColors: 'active' });
    for (const state of VIEWS) {
      const back = await go(state);
      const running = `document.getAnimations().filter(({ playState }) => playState === 'running').length`;
      await eventually(async () => expect([state.name, await page.evaluate(running)]).toEqual([state.name, 0]));
      expect([state.name, await page.evaluate(BORDERLESS)]).toEqual([state.name, []]);
      await back();
    }
    await page.emulateMedia({ forcedColors: 'none' });
  });

  inBrowser('has no such fault in front of the sign-in: empty, refused, and when too much was asked', async () => {
    const { page, complaints } = there();
    await page.evaluate('sessionStorage.clear()');
    await page.reload();
    await page.locator('#sign-in').waitFor();
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await picture(`sign in ${scheme}`);
      expect(await there().faults()).toEqual([]);
    }
    await page.fill('#key', 'wrong');
    await page.keyboard.press('Enter');
    await page.locator('#key-error', { hasText: 'This key is not known here.' }).waitFor();
    await picture('sign in refused');
    expect(await there().faults()).toEqual([]);
    const refusal = {
      status: 429,
      headers: { 'retry-after': '30' },
      json: { code: 'rate_limited', detail: 'Too many.' },
    };
    await page.route('**/api/v1/status', (route) => route.fulfill(refusal));
    await page.fill('#key', there().key);
    await page.keyboard.press('Enter');
    await page.locator('#key-error', { hasText: 'Signing in automatically in' }).waitFor();
    await picture('sign in waits');
    expect(await there().faults()).toEqual([]);
    await page.unroute('**/api/v1/status');
    expect(complaints.splice(0).filter((line) => !/401|429/.test(line))).toEqual([]);
  });

  inBrowser('asked nobody else for anything and broke no policy', async () => {
    expect(there().complaints).toEqual([]);
  });
});
