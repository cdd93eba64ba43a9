// The table of webhooks; one of them and the form are modules that load on demand.

import { call, curlOf, statusOf } from './api.js';
import { tickStrip } from './charts.js';
import { fill, h, icon } from './dom.js';
import { busily, button, codeLine, confirmed, copy, empty, menu, pageHead, stateMark, toast } from './parts.js';
import { currentRoute, goTo } from './route.js';
import { commandOf, isHub, isOwner } from './service.js';
import { setTitle } from './shell.js';
import { nameOfWebhook, responseOf, STATES, shareOf, shortAddress, ticksOf, whenOf } from './webhook-words.js';
import { counted, number } from './words.js';

/** @import { Route } from './route.js' */
/** @import { Hours, ShownWebhook } from './webhook-words.js' */

const EVERY_MS = 60_000;
const MOST = 64;

const root = h('div', { class: 'page', id: 'webhooks', 'data-view': 'webhooks' });

export function create() {
  return { root, show };
}

/** @param {Route} route */
async function show({ id, item }) {
  if (id === undefined) return showTable();
  if (id === 'new' || item === 'edit') {
    const webhook = id === 'new' ? undefined : await call(pathOf(id));
    const { webhookForm } = await import('./webhook-form.js');
    setTitle(webhook === undefined ? 'Add a webhook' : `Edit ${nameOfWebhook(webhook)}`);
    fill(root, webhookForm(webhook));
    root.querySelector('input')?.focus();
    return undefined;
  }
  const { showWebhook } = await import('./webhook-detail.js');
  return showWebhook(root, id);
}

/** @param {string} id */
export const pathOf = (id) => `webhooks/${encodeURIComponent(id)}`;

/** @param {{ readonly isByItself?: boolean }} [options] */
async function showTable(options) {
  const [webhooks, hours] = await Promise.all([call('webhooks?include=status', options), hoursOf(options)]);
  if (currentRoute().id !== undefined) return;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.getAttribute('href');
  fill(
    root,
    pageHead('Webhooks', {
      text: 'Each event is posted to these addresses as JSON, in order, signed if you give a secret.',
      actions:
        webhooks.length > 0 && h('a', { class: 'btn first', href: '#/webhooks/new' }, icon('plus'), 'Add a webhook'),
    }),
    webhooks.length === 0
      ? h(
          'section',
          'card',
          empty(
            'hook',
            'See your first event in ten seconds',
            'This listens without a receiver of yours, prints what comes, and removes itself when you stop it:',
            codeLine(commandOf('webhooks listen')),
            h(
              'div',
              'acts',
              h('a', { class: 'btn first', href: '#/webhooks/new' }, 'Add a webhook'),
              h('a', { class: 'btn', href: 'guide/webhooks.html' }, 'Read the guide'),
            ),
          ),
        )
      : tableOf(webhooks, hours),
  );
  if (focused) /** @type {HTMLElement | null} */ (root.querySelector(`[href="${CSS.escape(focused)}"]`))?.focus();
}

/**
 * Deliveries of the last 24 hours, by webhook; empty where nothing is counted.
 * @param {{ readonly isByItself?: boolean }} [options]
 * @returns {Promise<Readonly<Record<string, Hours>>>}
 */
export async function hoursOf(options) {
  if (isHub() || !isOwner()) return {};
  try {
    return (await call('stats/webhooks?by=hour&last=24', options)).subjects;
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return {};
  }
}

/**
 * @param {readonly ShownWebhook[]} webhooks
 * @param {Readonly<Record<string, Hours>>} hours
 */
function tableOf(webhooks, hours) {
  const [any] = Object.values(hours);
  const isCounted = any !== undefined;
  const nothing = { points: any?.points.map(({ at }) => ({ at, counts: {} })) ?? [] };
  const heads = [
    'Name',
    'State',
    ...(isCounted ? ['Last 24 hours', 'Delivered', 'Response'] : []),
    'Waiting',
    'Last success',
  ];
  const numbers = new Set(['Delivered', 'Response', 'Waiting']);
  return [
    h(
      'section',
      'card',
      h(
        'table',
        'table cards',
        h('caption', 'unseen', 'Webhooks'),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            heads.map((name) => h('th', { scope: 'col', class: numbers.has(name) ? 'num' : '' }, name)),
            h('th', { scope: 'col' }, h('span', 'unseen', 'Actions')),
          ),
        ),
        h(
          'tbody',
          { id: 'webhook-list' },
          webhooks.map((webhook) => rowOf(webhook, isCounted ? (hours[webhook.id] ?? nothing) : undefined)),
        ),
      ),
    ),
    h(
      'p',
      'quiet small',
      `${webhooks.length} of ${MOST} webhooks. A failed delivery is tried three times; “hold” keeps trying until the receiver is back.`,
    ),
  ];
}

/**
 * @param {ShownWebhook} webhook
 * @param {Hours | undefined} hours
 */
function rowOf(webhook, hours) {
  const { id, url, state, behind, last_success_at: success } = webhook;
  const name = nameOfWebhook(webhook);
  const [kind, word] = STATES[state] ?? ['off', state];
  const share = hours && shareOf(hours);
  /** @type {HTMLButtonElement} */
  const test = button('mini', 'Test', () => busily(test, () => sendTest(webhook)), { 'aria-label': `Test ${name}` });
  return h(
    'tr',
    { 'data-id': id },
    h(
      'td',
      null,
      h('a', { class: 'what cut', href: `#/webhooks/${encodeURIComponent(id)}`, dir: 'auto' }, name),
      h('span', 'quiet small cut ltr block', shortAddress(url)),
    ),
    h('td', null, stateMark(kind, word)),
    hours && [
      h(
        'td',
        'wide',
        hours.points.length > 0 &&
          tickStrip(
            ticksOf(hours),
            share === undefined ? 'Nothing was to be delivered in 24 hours' : `${share} delivered in 24 hours`,
          ),
      ),
      h('td', 'num aside', share ?? h('span', 'quiet', 'none')),
      h('td', 'num aside', responseOf(hours.median_ms) ?? h('span', 'quiet', 'none')),
    ],
    h('td', `num aside ${behind > 0 && state !== 'paused' ? 'strong' : 'quiet'}`, number(behind)),
    h('td', 'quiet nowrap aside', whenOf(success)),
    h('td', 'end aside', h('span', 'row', h('span', 'grow'), test, menuOf(webhook))),
  );
}

/** @param {ShownWebhook} webhook */
export function menuOf(webhook) {
  const { id, enabled, dropped } = webhook;
  const name = nameOfWebhook(webhook);
  return menu(`More for ${name}`, [
    ['retry', 'Replay …', () => replay(webhook)],
    ...(dropped > 0
      ? [
          /** @type {const} */ ([
            'retry',
            `Deliver ${counted(dropped, 'dropped event')} again`,
            () => told(() => replayFrom(id, { dropped: true })),
          ]),
        ]
      : []),
    ['pen', 'Edit', () => goTo(`#/webhooks/${encodeURIComponent(id)}/edit`)],
    [enabled ? 'pause' : 'play', enabled ? 'Pause' : 'Resume', () => told(() => setEnabled(id, !enabled))],
    ['copy', 'Copy as curl', () => copy(curlOf(pathOf(id)))],
    '-',
    ['x', 'Remove …', () => remove(webhook), 'bad'],
  ]);
}

/** Runs an action of a menu, says its result, and shows the view again. @param {() => Promise<string>} run */
async function told(run) {
  try {
    toast(await run());
    await show(currentRoute());
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), true);
  }
}

/** @param {ShownWebhook} webhook */
export async function sendTest(webhook) {
  const { delivered, status, error, duration_ms: ms } = await call(`${pathOf(webhook.id)}/test`, { method: 'POST' });
  if (delivered) toast(`The receiver answered ${status} after ${number(ms)} ms`);
  else toast(error, true);
}

/**
 * @param {string} id
 * @param {boolean} enabled
 */
async function setEnabled(id, enabled) {
  await call(pathOf(id), { method: 'PATCH', body: { enabled } });
  return enabled ? 'Resumed: it gets what happened meanwhile' : 'Paused: it keeps its position';
}

/**
 * @param {string} id
 * @param {Record<string, unknown>} from
 */
async function replayFrom(id, from) {
  const { row_id: row } = await call(`${pathOf(id)}/replay`, { method: 'POST', body: from });
  if (from.dropped) return 'Delivering again what was dropped';
  return from.after === 'latest'
    ? 'Skipped: it gets only what comes next'
    : `Delivering again everything after row ${row}`;
}

/** Asks from where. @param {ShownWebhook} webhook */
export async function replay(webhook) {
  const { id, row_id: row } = webhook;
  const name = nameOfWebhook(webhook);
  const from = h(
    'select',
    { class: 'input', 'aria-label': 'Deliver' },
    [
      ['row', 'again what came after a row'],
      ...(webhook.dropped > 0 ? [['dropped', `again what was dropped (${webhook.dropped})`]] : []),
      ['latest', 'only what comes next'],
    ].map(([value, text]) => h('option', { value }, text)),
  );
  const after = h('input', {
    class: 'input',
    type: 'number',
    min: 0,
    max: row,
    step: 1,
    value: String(Math.max(0, row - 10)),
    'aria-label': 'Row',
  });
  from.addEventListener('change', () => (after.hidden = from.value !== 'row'));
  const isSure = await confirmed({
    title: `Replay ${name}`,
    text: [h('span', 'stack', h('span', null, `It is at row ${number(row)}.`), from, after)],
    action: 'Replay',
    isBad: false,
  });
  if (!isSure) return;
  const body =
    from.value === 'row'
      ? { after: Number(after.value) }
      : from.value === 'dropped'
        ? { dropped: true }
        : { after: 'latest' };
  await told(() => replayFrom(id, body));
}

/** @param {ShownWebhook} webhook */
async function remove(webhook) {
  const name = nameOfWebhook(webhook);
  const isSure = await confirmed({
    title: `Remove ${name}?`,
    text: 'It gets nothing any more, and its position is forgotten. This cannot be undone.',
    action: 'Remove webhook',
  });
  if (!isSure) return;
  await call(pathOf(webhook.id), { method: 'DELETE' });
  toast(`${name} is removed`);
  goTo('#/webhooks');
}

setInterval(() => {
  if (document.hidden || root.hidden || !root.isConnected || currentRoute().id !== undefined) return;
  if (root.querySelector('[popover]:popover-open') === null) void showTable({ isByItself: true }).catch(() => {});
}, EVERY_MS);
