import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Every state is kept as a picture here; a folder that is named so is kept beyond the run. */
const PICTURES = process.env.POSTERN_PICTURES ?? '';
const LONG_NAME = 'Maximiliane Schwarzenbacher-Wolkenstein of the Neighbourhood Association';
const HEBREW = 'שלום 🙂';
const ARABIC = 'مرحبا! هل وصل الطرد؟';
const LONG_WORD = `Donaudampfschifffahrtsgesellschaft${'kapitän'.repeat(12)}`;

interface State {
  readonly name: string;
  readonly hash: string;
  /** Present once the state is there. */
  readonly shows: string;
  /** A script that leads to it. */
  readonly does?: string;
}

const STATES: readonly State[] = [
  { name: 'overview', hash: '#/overview', shows: '#overview .todo' },
  { name: 'messages', hash: '#/messages', shows: '#conversation-list a' },
  { name: 'group', hash: '#/c/any%3B%2B%3Bchat424242', shows: '#message-list .msg' },
  { name: 'person', hash: '#/c/any%3B-%3B%2B15550100', shows: '#message-list .failed' },
  { name: 'new message', hash: '#/messages?new', shows: '#recipient' },
  { name: 'events', hash: '#/events', shows: '#events .ev[data-key]' },
  { name: 'webhooks', hash: '#/webhooks', shows: '#webhook-list tr' },
  { name: 'a webhook', hash: '#/webhooks/ID', shows: '.stats' },
  { name: 'new webhook', hash: '#/webhooks/new', shows: '#webhook-form' },
  { name: 'approvals', hash: '#/approvals', shows: '#approval-list .ask' },
  { name: 'keys', hash: '#/keys', shows: '#key-list tr' },
  { name: 'a key', hash: '#/keys/KEY', shows: '.can' },
  { name: 'new key', hash: '#/keys/new', shows: '.steps' },
  { name: 'audit', hash: '#/audit', shows: '#audit-list .aud' },
  { name: 'settings', hash: '#/settings', shows: '#s-server' },
];

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

/** Leads the page to a state, and waits until it is there. */
async function go({ hash, shows, does }: State): Promise<void> {
  const { page } = there();
  await page.evaluate(`location.hash = '#/nowhere'`);
  await page.evaluate(
    `location.hash = ${JSON.stringify(hash.replace('ID', ids.webhook ?? '').replace('KEY', ids.key ?? ''))}`,
  );
  await page.locator(shows).first().waitFor({ state: 'attached' });
  if (does !== undefined) await page.evaluate(does);
}

/** What runs off the side of the window: nothing may. */
const OFF = `[...document.querySelectorAll('#main *')].filter((each) => {
  const { right, left, width } = each.getBoundingClientRect();
  const scrolls = each instanceof SVGElement ? each : each.closest('.filters, .seg, pre, .unseen, .msg .by');
  let clips = each.parentElement;
  while (clips !== null && getComputedStyle(clips).textOverflow !== 'ellipsis') clips = clips.parentElement;
  return width > 0 && scrolls === null && clips === null && (right > innerWidth + 1 || left < -1);
}).map(({ className, id }) => [id, String(className)].join('.')).slice(0, 5)`;

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

describe('the console, in every state', () => {
  for (const [scheme, width, height] of [
    ['light', 1440, 900],
    ['dark', 390, 844],
  ] as const) {
    inBrowser(`has no fault that axe knows, and nothing runs off the side, ${scheme} and ${width} wide`, async () => {
      const { page } = there();
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height });
      for (const state of STATES) {
        await go(state);
        await picture(`${state.name} ${width} ${scheme}`);
        expect([state.name, await there().faults()]).toEqual([state.name, []]);
        expect([state.name, await page.evaluate(OFF)]).toEqual([state.name, []]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      }
    });
  }

  inBrowser('can be read at twice the size: at 640 wide nothing runs off the side', async () => {
    const { page } = there();
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 640, height: 400 });
    for (const state of STATES) {
      await go(state);
      expect([state.name, await page.evaluate(OFF)]).toEqual([state.name, []]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  inBrowser('is mirrored for a language from right to left, and keeps numbers and code as they are', async () => {
    const { page } = there();
    await page.evaluate(`document.documentElement.dir = 'rtl'`);
    for (const state of STATES) {
      await go(state);
      await picture(`${state.name} rtl`);
      expect([state.name, await page.evaluate(OFF)]).toEqual([state.name, []]);
    }
    const side = await page.evaluate<number>(`document.querySelector('.side').getBoundingClientRect().left`);
    expect(side).toBeGreaterThan(1000);
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
    for (const state of STATES.slice(0, 4)) {
      await go(state);
      const running = `document.getAnimations().filter(({ playState }) => playState === 'running').length`;
      await eventually(async () => expect(await page.evaluate(running)).toBe(0));
    }
    expect(await page.evaluate(`getComputedStyle(document.querySelector('.btn')).borderTopWidth`)).toBe('1px');
    await page.emulateMedia({ reducedMotion: 'no-preference', forcedColors: 'none' });
  });

  inBrowser('asked nobody else for anything and broke no policy', async () => {
    expect(there().complaints).toEqual([]);
  });
});
