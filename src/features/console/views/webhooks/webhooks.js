// The table of webhooks.

import { setTitle } from '../../app/shell.js';
import { tickStrip } from '../../parts/old/charts.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { busily, button, codeLine, empty, pageHead, stateMark, tableCard } from '../../parts/old/parts.js';
import { call, statusOf } from '../../service/api.ts';
import { currentRoute } from '../../service/route.ts';
import { commandOf, isHub, isOwner } from '../../service/service.ts';
import { number } from '../../service/words.ts';
import { menuOf, pathOf, sendTest } from './webhook-actions.js';
import { showWebhook } from './webhook-detail.js';
import { webhookForm } from './webhook-form.js';
import { nameOfWebhook, responseOf, STATES, shareOf, shortAddress, ticksOf, whenOf } from './webhook-words.js';

/** @import { Route } from '../../service/route.ts' */
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
    const now = currentRoute();
    if (now.id !== id || now.item !== item) return undefined;
    setTitle(webhook === undefined ? 'Add a webhook' : `Edit ${nameOfWebhook(webhook)}`);
    fill(root, webhookForm(webhook));
    root.querySelector('input')?.focus();
    return undefined;
  }
  return showWebhook(root, id);
}

/** @param {{ readonly isByItself?: boolean }} [options] */
async function showTable(options) {
  const [webhooks, hours] = await Promise.all([call('webhooks?include=status', options), hoursOf(options)]);
  const isMenuOpen = root.querySelector('[popover]:popover-open') !== null;
  if (currentRoute().id !== undefined || (options?.isByItself && isMenuOpen)) return;
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
            'This command needs no receiver. It prints events as they come, and removes its webhook when you stop it:',
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
 * Returns each webhook's deliveries in each of the last 24 hours. Key: the webhook's id. Returns an empty object at a
 * hub, for a limited key, or if the request is refused.
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

/** @param {string} name */
const numeric = (name) => /** @type {const} */ ([name, 'num']);

/**
 * @param {readonly ShownWebhook[]} webhooks
 * @param {Readonly<Record<string, Hours>>} hours
 */
function tableOf(webhooks, hours) {
  const [any] = Object.values(hours);
  const isCounted = any !== undefined;
  const nothing = { points: any?.points.map(({ at }) => ({ at, counts: {} })) ?? [] };
  return [
    tableCard(
      'Webhooks',
      'webhook-list',
      [
        'Name',
        'State',
        ...(isCounted ? ['Last 24 hours', ...['Delivered', 'Response'].map(numeric)] : []),
        numeric('Waiting'),
        'Last success',
      ],
      webhooks.map((webhook) => rowOf(webhook, isCounted ? (hours[webhook.id] ?? nothing) : undefined)),
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
            share === undefined ? 'No deliveries in 24 hours' : `${share} delivered in 24 hours`,
          ),
      ),
      h('td', 'num aside', share ?? h('span', 'quiet', 'none')),
      h('td', 'num aside', responseOf(hours.median_ms) ?? h('span', 'quiet', 'none')),
    ],
    h('td', `num aside ${behind > 0 && state !== 'paused' ? 'strong' : 'quiet'}`, number(behind)),
    h('td', 'quiet nowrap aside', whenOf(success)),
    h('td', 'end aside', h('span', 'row', h('span', 'grow'), test, menuOf(webhook, showTable))),
  );
}

setInterval(() => {
  if (document.hidden || root.hidden || !root.isConnected || currentRoute().id !== undefined) return;
  void showTable({ isByItself: true }).catch(() => {});
}, EVERY_MS);
