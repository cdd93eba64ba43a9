// The home page: one sentence that says whether everything works, and the reasons.

import { noteHeld } from '../../parts/held-watch.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { busily, button, codeLine, toast } from '../../parts/old/parts.js';
import { call } from '../../service/api.ts';
import { readDirectory } from '../../service/directory.ts';
import { commandOf, isHub, isOwner, may, noteStatus } from '../../service/service.ts';
import { spanOf, timeOf } from '../../service/words.ts';
import { hostCard, keyCard, latelyCard, macCards, sendCard, webhookCard } from './overview-cards.js';
import { eventCard } from './overview-events.js';
import { needsCard } from './overview-needs.js';
import { factsOf, verdictOf } from './verdict.js';

/** @import { StatusReport } from '../../../../core/model/status.ts' */

const EVERY_MS = 30_000;
const root = h('div', { class: 'page', id: 'overview', 'data-view': 'overview' });
let readAtMs = 0;

export function create() {
  return { root, show: () => read() };
}

/**
 * Resolves in a later turn, so that the browser can draw and handle input before the next part of the page is built.
 */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/** @param {{ readonly isByItself?: boolean }} [options] */
async function read(options) {
  const overview = isHub() || !isOwner() ? { status: await call('status', options) } : await call('overview', options);
  readAtMs = Date.now();
  const { status } = overview;
  noteStatus(status);
  if (status.held_sends !== undefined) noteHeld(status.held_sends);
  if (may('read')) await readDirectory().catch(() => {});
  const focused = document.activeElement?.id;
  const isNew = root.childElementCount === 0;
  const held = status.held_sends ?? 0;
  const head = [verdictCard(status, held), factStrip(status, overview.webhooks)];
  if (isFresh(overview)) {
    fill(root, head, firstSteps());
  } else {
    if (isNew) fill(root, head);
    if (isNew) await pause();
    const webhooks = webhookCard(overview);
    const sends = sendCard(overview);
    const cards = [
      macCards(status),
      h(
        'div',
        'cols',
        await eventCard(overview, read),
        needsCard(overview),
        webhooks,
        webhooks && sends,
        h('div', 'c12 thirds', !webhooks && sends, keyCard(overview), hostCard(overview), latelyCard(status)),
      ),
    ];
    if (isNew) await pause();
    fill(root, head, cards);
  }
  if (focused) document.getElementById(focused)?.focus();
}

/**
 * Reports whether the service is new: no webhooks, limited keys or held sends, and no events today. False at a hub.
 * @param {any} overview
 */
const isFresh = ({ status, keys, events }) =>
  !isHub() &&
  status.webhooks.length === 0 &&
  (keys ?? []).length === 0 &&
  (events?.today ?? 0) === 0 &&
  (status.held_sends ?? 0) === 0;

/**
 * @param {StatusReport} status
 * @param {number} held
 */
function verdictCard(status, held) {
  const { tone, text, next, action } = verdictOf(status, held);
  /** @type {HTMLButtonElement} */
  const check = button(
    '',
    [icon('retry'), 'Check now'],
    () =>
      busily(check, async () => {
        if (isOwner() && !isHub()) await call('permissions/check', { method: 'POST' });
        await read();
        toast('Checked');
      }),
    { id: 'check-now' },
  );
  return h(
    'section',
    { class: `verdict ${tone}`, 'aria-labelledby': 'verdict' },
    h('span', 'seal', icon(tone === 'good' ? 'check' : 'alert')),
    h('div', 'grow', h('h1', { id: 'verdict' }, text), h('p', null, next)),
    h('span', 'quiet small hide-s', `Checked ${timeOf(readAtMs)} · up ${spanOf(status.uptime_s)}`),
    action !== undefined ? h('a', { class: 'btn first', href: action[1] }, action[0]) : check,
  );
}

/**
 * @param {StatusReport} status
 * @param {readonly { readonly behind: number }[]} [webhooks]
 */
const factStrip = (status, webhooks = []) =>
  h(
    'ul',
    { class: 'card checks', 'aria-label': 'Health' },
    factsOf(
      status,
      webhooks.reduce((sum, { behind }) => sum + behind, 0),
    ).map(({ tone, name, text, more }) =>
      h(
        'li',
        tone,
        h('span', 'small soft row', h('span', `dot ${tone}`), name),
        h('strong', null, text),
        more !== '' && h('span', { class: 'quiet small cut', title: more }, more),
      ),
    ),
  );

/** Suggests first steps for a service on which nothing has been set up. */
const firstSteps = () =>
  h(
    'section',
    { class: 'cols', 'aria-label': 'First steps' },
    start(
      'hook',
      'Receive your messages elsewhere',
      'Postern posts every new message to a URL of yours. To see some first, without a receiver:',
      commandOf('webhooks listen'),
      'Add a webhook',
      '#/webhooks/new',
    ),
    start(
      'bot',
      'Let an agent help',
      'A limited key reads and writes only where you allow it, and every send waits for you.',
      commandOf('keys add agent --preset assistant --read "Ana Silva" --send "Ana Silva"'),
      'Create a key',
      '#/keys/new',
    ),
    start(
      'chat',
      'Send a first message',
      'From here, or from a terminal:',
      commandOf('send +15550100 "Hello from Postern"'),
      'Write a message',
      '#/messages?new',
    ),
  );

/**
 * @param {string} name
 * @param {string} title
 * @param {string} text
 * @param {string} command
 * @param {string} action
 * @param {string} href
 */
const start = (name, title, text, command, action, href) =>
  h(
    'article',
    'card c4 start',
    h('span', 'mark', icon(name)),
    h('h2', null, title),
    h('p', 'quiet', text),
    codeLine(command),
    h('a', { class: 'btn', href }, action),
  );

setInterval(() => {
  if (!document.hidden && !root.hidden && root.isConnected) void read({ isByItself: true }).catch(() => {});
}, EVERY_MS);
