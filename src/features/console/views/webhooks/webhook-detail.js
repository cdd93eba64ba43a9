// One webhook: what is wrong and what happens next, its deliveries, and its settings.

import { setTitle } from '../../app/shell.js';
import { barChart } from '../../parts/old/charts.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { busily, button, note, pageHead, stateMark, toast } from '../../parts/old/parts.js';
import { call } from '../../service/api.ts';
import { nameIn, readDirectory } from '../../service/directory.ts';
import { currentRoute } from '../../service/route.ts';
import { addressIn, number, spanOf, timeOf } from '../../service/words.ts';
import { deliveriesOf, deliveryCard } from './delivery-list.js';
import { menuOf, pathOf, replay, sendTest } from './webhook-actions.js';
import { nameOfWebhook, responseOf, STATES, shareOf, troubleOf, whenOf, withoutPassword } from './webhook-words.js';
import { hoursOf } from './webhooks.js';

/** @import { Hours, ShownWebhook } from './webhook-words.js' */

/**
 * @param {HTMLElement} root
 * @param {string} id
 */
export async function showWebhook(root, id) {
  const [webhook, deliveries, hours] = await Promise.all([
    call(pathOf(id)),
    deliveriesOf(id),
    hoursOf(),
    readDirectory().catch(() => {}),
  ]);
  const route = currentRoute();
  if (route.id !== id || route.item !== undefined) return;
  const name = nameOfWebhook(webhook);
  const [kind, word] = STATES[webhook.state] ?? ['off', webhook.state];
  setTitle(name);
  const own = hours[id];
  const again = () => showWebhook(root, id);
  /** @type {HTMLButtonElement} */
  const test = button('', 'Send a test', () => busily(test, () => sendTest(webhook).then(again)));
  fill(
    root,
    pageHead(name, {
      back: ['#/webhooks', 'All webhooks'],
      beside: stateMark(kind, word),
      actions: [test, button('', [icon('retry'), 'Replay …'], () => replay(webhook, again)), menuOf(webhook, again)],
      text: withoutPassword(webhook.url),
    }),
    troubleNote(webhook, deliveries[0]?.error, again),
    h(
      'section',
      'card stats',
      stat('Delivered, 24 h', own && shareOf(own)),
      stat('Typical response', own && responseOf(own.median_ms)),
      stat('Waiting', number(webhook.behind)),
      stat('Last success', whenOf(webhook.last_success_at)),
    ),
    own && own.points.length > 0 && chartOf(own),
    h('div', 'cols', deliveryCard(webhook, deliveries, again), settingsCard(webhook)),
  );
}

/**
 * @param {string} label
 * @param {string | undefined} value undefined if it is not known: then nothing is shown
 */
const stat = (label, value) =>
  value !== undefined && h('div', null, h('span', 'quiet small', label), h('strong', null, value));

/**
 * @param {ShownWebhook} webhook
 * @param {string | null | undefined} lastError
 * @param {() => Promise<unknown>} again
 */
function troubleNote(webhook, lastError, again) {
  const trouble = troubleOf(webhook, lastError);
  if (trouble === undefined) return undefined;
  const next = webhook.next_attempt_at
    ? ` Next try in ${spanOf(Math.max(0, (Date.parse(webhook.next_attempt_at) - Date.now()) / 1000))}.`
    : '';
  /** @type {HTMLButtonElement} */
  const now = button('mini', 'Try now', () =>
    busily(now, async () => {
      await call(`${pathOf(webhook.id)}/retry`, { method: 'POST' });
      toast('Trying now');
      await again();
    }),
  );
  return note(
    webhook.state === 'failing' ? 'bad' : 'warn',
    h(
      'div',
      'row wrap',
      h(
        'div',
        'grow',
        h('p', null, h('strong', null, trouble.what), trouble.since && ` Since ${timeOf(trouble.since)}.`),
        (trouble.next !== '' || next !== '') && h('p', null, trouble.next, next),
      ),
      webhook.state === 'held' && webhook.next_attempt_at !== undefined && now,
    ),
  );
}

/** @param {Hours} hours */
function chartOf({ points }) {
  const bars = points.map(({ at, counts }) => ({
    label: timeOf(at),
    values: [counts.delivered ?? 0, counts.retried ?? 0, (counts.dropped ?? 0) + (counts.failed ?? 0)],
  }));
  const sum = (/** @type {number} */ kind) => bars.reduce((total, { values }) => total + (values[kind] ?? 0), 0);
  const { plot, legend } = barChart({
    bars,
    names: ['delivered', 'after a retry', 'failed'],
    classes: ['t-good', 't-warn', 't-bad'],
    ticks: points.flatMap(({ at }, index) =>
      new Date(at).getHours() % 6 === 0
        ? [/** @type {const} */ ([index, new Date(at).toLocaleTimeString([], { timeStyle: 'short' })])]
        : [],
    ),
    title: `Deliveries per hour in the last 24 hours: ${sum(0) + sum(1)} delivered, ${sum(2)} failed`,
  });
  plot.classList.add('low');
  return h('section', 'card', h('header', null, h('h2', null, 'Deliveries per hour'), legend), h('div', 'body', plot));
}

/** @param {ShownWebhook} webhook */
function settingsCard({
  id,
  events,
  filter,
  include,
  has_secret: isSigned,
  header_names: headers,
  on_failure: onFailure,
  created_at: created,
}) {
  const only = [
    ...(filter?.conversation_ids ?? []).map((one) => nameIn(one) ?? addressIn(one)),
    ...(filter?.senders ?? []).map((one) => `from ${one}`),
    ...(filter?.is_from_me === undefined ? [] : [filter.is_from_me ? 'only your own' : 'only of others']),
  ];
  /** @type {readonly (readonly [string, string])[]} */
  const rows = [
    ['Events', events.length < 2 ? events.join() : `${events.length} types`],
    ['Only', only.join(', ') || 'everything'],
    ['Adds', include.join(', ') || 'nothing'],
    ['Signed', isSigned ? 'yes' : 'no'],
    ['Headers', headers.join(', ') || 'none'],
    ['If it fails', onFailure === 'hold' ? 'holds' : 'drops after three tries'],
    ['Since', timeOf(created)],
    ['Id', id],
  ];
  return h(
    'section',
    'card c4 top',
    h(
      'header',
      null,
      h('h2', null, 'Settings'),
      h('a', { class: 'small', href: `#/webhooks/${encodeURIComponent(id)}/edit` }, 'Edit'),
    ),
    h(
      'div',
      'body',
      h(
        'dl',
        'kv',
        rows.map(([name, value]) => [
          h('dt', null, name),
          h(
            'dd',
            { class: name === 'Id' ? 'mono' : '', dir: 'auto', title: name === 'Events' ? events.join(', ') : '' },
            value,
          ),
        ]),
      ),
    ),
  );
}
