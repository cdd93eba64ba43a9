import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { WebSocketRoute } from 'playwright-core';
import { BrowserStage, inBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';
/** Code with which the service closes a stream whose position it no longer has. */
const EXPIRED = 4410;
/** Each view that shows what happens, and an element that it shows. */
const VIEWS = [
  ['#/overview', '#verdict'],
  [`#/c/any;-;${ANA}`, '#message-list .msg'],
  ['#/approvals', '#approvals h1'],
  ['#/events', '#events .ev'],
] as const;

const folder = temporaryFolder();
/** The page's streams of events, as they are opened. */
const streams: WebSocketRoute[] = [];
let stage: BrowserStage | undefined;
/** A limited key whose sends wait. */
let agent = '';

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  await stage.page.clock.install();
  await stage.page.routeWebSocket(/\/api\/v1\/ws\?/, (stream) => {
    stream.connectToServer();
    streams.push(stream);
  });
  const made = await ask('keys', stage.key, { name: 'agent', preset: 'assistant', send: [ANA] });
  agent = String(made.key);
  await stage.page.goto(`${stage.url}/console#key=${encodeURIComponent(stage.key)}`);
  await stage.page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.close();
});

const goTo = (hash: string) => there().page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
const receive = (text: string) => there().command({ do: 'receive', from: ANA, text });

async function ask(path: string, key: string, body: unknown): Promise<Record<string, string>> {
  const response = await fetch(`${there().url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, string>;
}

describe('the console, once the service no longer has its position in the events', () => {
  inBrowser('hears events in every view', async () => {
    const { page } = there();
    for (const [hash, shown] of VIEWS) {
      await goTo(hash);
      await page.locator(shown).first().waitFor();
    }
    const before = streams.length;
    expect(before).toBeGreaterThan(0);
    await streams.at(-1)?.close({ code: EXPIRED });
    await eventually(async () => expect(streams.length).toBeGreaterThan(before));
    // The views are made again.
    await eventually(async () => expect(await page.locator('[data-view]').count()).toBe(1));

    await page.locator('#events .ev').first().waitFor();
    await receive('Heard by the events');
    await page.locator('#events .ev', { hasText: 'Heard by the events' }).waitFor();

    await goTo(`#/c/any;-;${ANA}`);
    await page.locator('#message-list .msg').first().waitFor();
    await receive('Heard by the thread');
    await page.locator('#message-list .msg', { hasText: 'Heard by the thread' }).waitFor();

    await goTo('#/approvals');
    await page.locator('#approvals h1').waitFor();
    await ask('messages', agent, { recipient: ANA, body: 'Heard by the approvals' });
    await page.locator('#approval-list > article', { hasText: 'Heard by the approvals' }).waitFor();

    await goTo('#/overview');
    await page.locator('#overview .todo li').first().waitFor();
    await ask('messages', agent, { recipient: ANA, body: 'Heard by the overview' });
    await page.clock.fastForward(60_000);
    // It quotes the message whose decision is due first.
    await page.locator('#overview .todo li', { hasText: 'asks to send 2 messages' }).waitFor();
  });
});
