import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { BrowserStage, inBrowser, resize, unroute } from '../support/browser.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary.ts';

const GARDEN = 'any;+;chat424242';
const BEN = '+15550101';
const STRANGER = '+15550142';
/** A PNG of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
/** Nobody listens at this address. */
const NOBODY = 'http://127.0.0.1:9/hook';

/** Returns the texts of elements that are wider than the room they have. */
const cut = (selector: string): string => `[...document.querySelectorAll('${selector}')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map(({ textContent }) => textContent)`;
/** Returns the chosen options that are wider than their selects. */
const CUT_CHOICES = `[...document.querySelectorAll('#audit select')].filter((select) => {
  const { font, paddingInlineStart, paddingInlineEnd } = getComputedStyle(select);
  const context = document.createElement('canvas').getContext('2d');
  context.font = font;
  const room = select.clientWidth - parseFloat(paddingInlineStart) - parseFloat(paddingInlineEnd);
  return context.measureText(select.selectedOptions[0].textContent).width > room;
}).map(({ selectedOptions }) => selectedOptions[0].textContent)`;
/** Returns the tapbacks that touch nothing of their message. */
const FLOATING = `[...document.querySelectorAll('#message-list .reactions:not([hidden])')].filter((marks) => {
  const { left, right, top, bottom } = marks.getBoundingClientRect();
  return ![...marks.closest('li').querySelectorAll('.bubble:not([hidden]), .picture, img, audio')].some((one) => {
    const box = one.getBoundingClientRect();
    return box.left < right && box.right > left && box.top < bottom && box.bottom > top;
  });
}).length`;
/** Returns the labels of a chart that touch the one before. */
const TOUCHING = `[...document.querySelectorAll('#webhooks .plot text')]
  .filter(({ textContent }) => textContent.includes(':'))
  .map((label) => [label.textContent, label.getBoundingClientRect()])
  .filter(([, { left }], place, all) => place > 0 && left < all[place - 1][1].right + 4)
  .map(([text]) => text)`;

const HEBREW = 'שלום (1)!';
/** Returns a script that reports whether a sentence among the events ends, at the right, with its quotation mark. */
const endsRight = (key: string | null): string => `(() => {
  const words = document.querySelector('#events [data-key="${key}"] .sum > bdi');
  const range = document.createRange();
  const mark = words.lastChild;
  range.setStart(mark, mark.length - 1);
  range.setEnd(mark, mark.length);
  return range.getBoundingClientRect().right >= words.getBoundingClientRect().right - 1;
})()`;
const folder = temporaryFolder();
let stage: BrowserStage | undefined;
let webhook = '';

function there(): BrowserStage {
  if (stage === undefined) throw new Error('there is no browser');
  return stage;
}

async function ask<Answer>(path: string, body: unknown, key = there().key): Promise<Answer> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const answer = await fetch(`${there().url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return (answer.status === 204 ? undefined : await answer.json()) as Answer;
}

async function goTo(hash: string): Promise<Page> {
  const { page } = there();
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  return page;
}

/**
 * Makes Ben write, and reads it, until the events show that. A message that is read within a second, before Postern has
 * compared it unread, causes no change.
 */
async function readFromBen(text: string, shown: Locator): Promise<void> {
  await waitFor(async () => {
    await there().command({ do: 'receive', from: BEN, text });
    await there().page.locator('#events .ev[data-key]', { hasText: text }).first().waitFor();
    await ask('demo/read', { conversation_id: `any;-;${BEN}` });
    return shown.waitFor({ timeout: 2500 }).then(
      () => true,
      () => false,
    );
  });
}

beforeAll(async () => {
  stage = await BrowserStage.open(folder, 1000);
  if (stage === undefined) return;
  const { page } = stage;
  const settings = { url: NOBODY, events: ['message.received'], on_failure: 'hold' };
  ({ id: webhook } = await ask<{ id: string }>('webhooks', settings));
  const { key } = await ask<{ key: string }>('keys', { name: 'agent', preset: 'assistant', send: [BEN] });
  await ask('messages', { recipient: '+15550199', body: 'refused' }, key);
  await page.goto(`${stage.url}/console`);
  await page.fill('#key', stage.key);
  await page.keyboard.press('Enter');
  await page.locator('#verdict').waitFor();
});
afterAll(async () => {
  await stage?.close();
});

describe('the views of the console', () => {
  inBrowser('a thread has one line for a day, and what was unsent is an event in its middle', async () => {
    const page = await goTo(`#/c/${encodeURIComponent(GARDEN)}`);
    const gone = page.locator('#message-list .notice', { hasText: 'unsent a message' }).first();
    await gone.waitFor();
    expect(await gone.locator('.body').textContent()).toMatch(/^[A-Z]\w+ \w+ unsent a message$/);
    const last = page.locator('#message-list .day').last();
    expect(await last.textContent()).toMatch(/^(?:Today|Yesterday)$/);
    expect(await page.locator('.day + .gap').count()).toBe(0);
    expect(await page.locator('#thread-people').textContent()).toBe('Ana Silva, Ben Okafor, Cho Tanaka');
  });

  inBrowser('the pane beside a thread opens a picture, and offers a file', async () => {
    const { page } = there();
    const path = join(folder, 'beans.png');
    writeFileSync(path, Buffer.from(PIXEL, 'base64'));
    const attachment = { name: 'beans.png', bytes: 0, path };
    await there().command({ do: 'receive', from: BEN, text: '', chat: GARDEN, attachment });
    await page.locator('#message-list [title$="beans.png"]').first().waitFor();
    await goTo('#/messages');
    await goTo(`#/c/${encodeURIComponent(GARDEN)}`);
    await page.locator('.info .shots [title$="beans.png"] img').click();
    await page.locator('#viewer[open] img[alt="beans.png"]').waitFor();
    await page.locator('#viewer').getByRole('button', { name: 'Close' }).click();
    const download = page.waitForEvent('download');
    await page.locator('.info .files button', { hasText: 'garden-plan.svg' }).click();
    expect((await download).suggestedFilename()).toBe('garden-plan.svg');
  });

  inBrowser('one receipt stands in a thread, below the last own message', async () => {
    const { page } = there();
    await goTo(`#/c/${encodeURIComponent(`any;-;${BEN}`)}`);
    for (const body of ['Are you there?', 'It is about the ladder.']) await ask('messages', { recipient: BEN, body });
    const last = page.locator('#message-list .mine', { hasText: 'It is about the ladder.' });
    await last.locator('.receipt', { hasText: /^(?:Delivered|Read) / }).waitFor();
    expect(await page.locator('#message-list .receipt:visible').count()).toBe(1);
    expect(await page.locator('#thread-people').textContent()).toBe(`${BEN} · iMessage`);
  });

  inBrowser('a conversation that was opened here stays read, and the title counts the messages of others', async () => {
    const { page } = there();
    // As everywhere but in a demo: nothing marks a message as read in Messages.
    await page.route('**/demo/read', (route) => route.fulfill({ status: 204 }));
    await goTo('#/messages');
    for (const text of ['Hello', 'Are you there?']) await there().command({ do: 'receive', from: STRANGER, text });
    const mark = page.locator(`#conversation-list [data-id="any;-;${STRANGER}"] .unread`);
    await mark.waitFor();
    await eventually(async () => {
      const badge = Number.parseInt(
        (await page.locator('#views [data-place="messages"] .count').textContent()) ?? '',
        10,
      );
      expect(badge).toBeGreaterThanOrEqual(2);
      expect(await page.title()).toBe(`(${badge}) Messages · Postern`);
    });
    await goTo(`#/c/${encodeURIComponent(`any;-;${STRANGER}`)}`);
    await mark.waitFor({ state: 'hidden' });
    await goTo('#/messages');
    await page.reload();
    await mark.waitFor({ state: 'attached' });
    expect(await mark.isVisible()).toBe(false);
    await page.unroute('**/demo/read');
  });

  inBrowser('tapbacks hang on what they are about, however wide the rest of the message is', async () => {
    for (const id of [GARDEN, `any;-;${BEN}`]) {
      const page = await goTo(`#/c/${encodeURIComponent(id)}`);
      await page.locator('#message-list .reactions:not([hidden])').first().waitFor();
      expect([id, await page.evaluate(FLOATING)]).toEqual([id, 0]);
    }
  });

  inBrowser('says the number of somebody without a name once in the title, and lists no people for one', async () => {
    const page = await goTo(`#/c/${encodeURIComponent(`any;-;${STRANGER}`)}`);
    await page.locator('#thread-title', { hasText: STRANGER }).waitFor();
    expect(await page.textContent('#thread-people')).toBe('iMessage');
    await page.locator('.info .who').waitFor();
    expect(await page.locator('.info h3', { hasText: 'People' }).count()).toBe(0);
    expect(await page.textContent('.info .who p')).toBe('iMessage');
  });

  inBrowser('tells two conversations of one name apart by their addresses', async () => {
    const page = await goTo('#/messages');
    for (const address of ['+15550100', 'ana@example.com']) {
      const row = page.locator(`#conversation-list [data-id="any;-;${address}"]`);
      await row.waitFor();
      expect(await row.locator('.address').textContent()).toBe(address);
    }
    const ben = page.locator(`#conversation-list [data-id="any;-;${BEN}"] .address`);
    expect(await ben.count()).toBe(0);
  });

  inBrowser('a person has one colour, in the list, in a group and beside it', async () => {
    const page = await goTo(`#/c/${encodeURIComponent(GARDEN)}`);
    await page.locator('#thread-title', { hasText: 'Garden' }).waitFor();
    const colourOf = async (place: string, initials: string): Promise<unknown> => {
      await page.locator(`${place} .avatar`, { hasText: initials }).first().waitFor({ state: 'attached' });
      return page.evaluate(`(() => {
        const all = [...document.querySelectorAll('${place} .avatar')];
        return getComputedStyle(all.find(({ textContent }) => textContent === '${initials}')).backgroundColor;
      })()`);
    };
    const places = ['#conversation-list a:not(:has(.pair))', '#message-list', '.info section:nth-child(2)'];
    const ofCho = await Promise.all(places.map((place) => colourOf(place, 'CT')));
    expect(new Set(ofCho).size).toBe(1);
    expect(await colourOf('.info', 'BO')).not.toBe(ofCho[0]);
  });

  inBrowser(
    'searches in the open conversation, and shows people with room between picture, name and address',
    async () => {
      const { page } = there();
      await page.getByRole('button', { name: 'Search in this conversation' }).click();
      expect(await page.locator('#search').inputValue()).toBe('in:Garden ');
      await page.locator('#search').fill('Ben');
      const row = page.locator('#people-list .hit').first();
      await row.waitFor();
      const picture = await row.locator('.avatar').boundingBox();
      const name = await row.locator('.strong').boundingBox();
      expect((name?.x ?? 0) - (picture?.x ?? 0) - (picture?.width ?? 0)).toBeGreaterThanOrEqual(8);
      expect(await page.evaluate(cut('#people-list .strong, #people-list bdi'))).toEqual([]);
      await page.locator('#people-list .hit', { hasText: BEN }).click();
      await page.locator('#thread-title', { hasText: 'Ben Okafor' }).waitFor();
    },
  );

  inBrowser('events say what happened in sentences, and one chip shows all of them again', async () => {
    const { page } = there();
    await goTo('#/events');
    const rows = page.locator('#events .ev[data-key]');
    await rows.first().waitFor(); // a thread that is still open would show the message, and so read it
    await readFromBen('Is it you?', rows.filter({ hasText: /You read “Is it you\?”/ }).first());
    const all = page.getByRole('button', { name: /^All \d/ });
    expect(await all.getAttribute('aria-pressed')).toBe('true');
    await page.locator('#live-form [data-group="reactions"]').click();
    expect(await all.getAttribute('aria-pressed')).toBe('false');
    await rows
      .filter({ hasText: /to “.+”/ })
      .first()
      .waitFor();
    await all.click();
    await rows.filter({ hasText: 'You read' }).first().waitFor();
    expect(await page.locator('#live-form [aria-pressed="true"]').count()).toBe(1);
    // After a reload, what happened before is there again, to the second.
    await page.reload();
    const message = rows.filter({ hasText: 'Is it you?' }).first();
    await message.waitFor();
    expect(await message.locator('time').textContent()).toMatch(/^\d+:\d\d:\d\d\s[AP]M$/);
  });

  inBrowser('a quotation from right to left moves no word of the sentence around it', async () => {
    const { page } = there();
    const rows = page.locator('#events .ev[data-key]');
    const read = rows.filter({ hasText: 'You read' }).filter({ hasText: HEBREW }).first();
    await readFromBen(HEBREW, read);
    expect(await read.locator('.sum bdi bdi').textContent()).toBe(HEBREW);
    expect(await page.evaluate(endsRight(await read.getAttribute('data-key')))).toBe(true);
  });

  inBrowser('the list says that the last message was not delivered, also after a reload', async () => {
    const { page } = there();
    await goTo('#/messages');
    await there().command({ do: 'scenario', name: 'error_25', times: 1 });
    await ask('messages', { recipient: BEN, body: 'This does not arrive' });
    const last = page.locator(`#conversation-list [data-id="any;-;${BEN}"] .last`);
    const says = (text: string) => eventually(async () => expect(await last.textContent()).toBe(text));
    await says('Not delivered: This does not arrive');
    await page.reload();
    await says('Not delivered: This does not arrive');
    // A message that follows does not hide it, until somebody has looked.
    await there().command({ do: 'scenario', name: 'error_25', times: 1 });
    await ask('messages', { recipient: BEN, body: 'Nor does this' });
    await says('Not delivered: Nor does this');
    await there().command({ do: 'receive', from: BEN, text: 'Are you there?' });
    await says('One was not delivered. Are you there?');
    await goTo(`#/c/${encodeURIComponent(`any;-;${BEN}`)}`);
    await says('Are you there?');
    await goTo('#/events');
  });

  inBrowser('a webhook shows whole results, and the button beside its sentence', async () => {
    const { page } = there();
    await there().command({ do: 'receive', from: BEN, text: 'for the webhook' });
    await eventually(async () => {
      await goTo('#/webhooks');
      await goTo(`#/webhooks/${webhook}`);
      await page.locator('.delivery').first().waitFor({ timeout: 500 });
    });
    expect(await page.evaluate(cut('.delivery .says'))).toEqual([]);
    await page.locator('.note .row', { hasText: 'Next try' }).getByRole('button', { name: 'Try now' }).waitFor();
    expect(await page.locator('.stats').textContent()).not.toContain('0.0');
  });

  inBrowser('labels of a chart do not touch each other on a phone', async () => {
    const { page } = there();
    await resize(page, 390, 844);
    // The last hours have a label each.
    const hours = [0, 6, 12, 18, 0, 6, 12, 18, 18, 18, 18, 18];
    const points = hours.map((hour, index) => {
      const at = new Date(2026, 10, 1, hour, index);
      return { at: at.toISOString(), counts: { delivered: 1 } };
    });
    await page.route('**/stats/webhooks?*', (route) =>
      route.fulfill({ json: { by: 'hour', since: points[0]?.at, subjects: { [webhook]: { points } } } }),
    );
    await goTo('#/webhooks');
    await goTo(`#/webhooks/${webhook}`);
    await page.locator('#webhooks .plot svg').waitFor();
    expect(await page.evaluate(TOUCHING)).toEqual([]);
    await page.unroute('**/stats/webhooks?*');
  });

  inBrowser('the choices of the audit log are not cut on a phone', async () => {
    const { page } = there();
    await goTo('#/audit');
    await page.locator('#audit-list .aud').first().waitFor();
    expect(await page.evaluate(CUT_CHOICES)).toEqual([]);
  });

  inBrowser('no usual name is cut in the audit log on a phone', async () => {
    const { page } = there();
    const long = { key_id: 'the-key-of-the-club', target: 'the-whole-neighbourhood@example.com' };
    await page.route('**/api/v1/audit?*', async (route) => {
      const response = await route.fetch();
      const lines = (await response.json()) as readonly object[];
      await route.fulfill({ response, json: lines.map((one) => ({ ...one, ...long, action: 'schedule' })) });
    });
    await page.evaluate(`dispatchEvent(new HashChangeEvent('hashchange'))`);
    await page.locator('#audit-list .aud', { hasText: long.target }).first().waitFor();
    expect(await page.evaluate(cut('#audit-list .cut'))).toEqual([]);
    await unroute(page);
    await resize(page, 1280, 800);
  });

  inBrowser('settings and keys use words', async () => {
    const { page } = there();
    await goTo('#/settings');
    const row = (key: string) => page.locator('.setting', { hasText: key });
    await row('server.allowed_hosts').waitFor();
    expect(await row('server.allowed_hosts').locator('b').textContent()).toBe('Host names server.allowed_hosts');
    expect(await row('server.allowed_hosts').locator('.val').textContent()).toBe('none');
    expect(await row('contacts.enabled').locator('.val').textContent()).toBe('on');
    expect(await row('server.rate_limit_per_minute').locator('.val').textContent()).toBe('changed1000default 60');
    const permission = page.locator('.card', { hasText: 'Automation of Messages' });
    expect(await permission.locator('.state').textContent()).toBe('Granted');
    const nav = page.locator('.settings [aria-current="true"]');
    expect(await nav.textContent()).toBe('This browser');
    await page.getByRole('button', { name: 'Server', exact: true }).click();
    await nav.filter({ hasNotText: 'This browser' }).waitFor();
    expect(await page.locator('.sect').allTextContents()).not.toContain('Other');
    await goTo('#/keys');
    expect(await page.locator('#key-list tr').first().textContent()).toMatch(/^Your own key.*everything/);
  });

  inBrowser('the shortcuts stand in two columns, and below each other on a phone', async () => {
    const { page } = there();
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('?');
    const tops = async () =>
      Promise.all((await page.locator('#shortcuts dl').all()).map(async (list) => (await list.boundingBox())?.y ?? 0));
    await page.locator('#shortcuts dl').last().waitFor();
    const [one, other] = await tops();
    expect(other).toBe(one);
    await resize(page, 390, 844);
    const [above = 0, below = 0] = await tops();
    expect(below).toBeGreaterThan(above);
    await resize(page, 1280, 800);
    await page.keyboard.press('Escape');
  });
});
