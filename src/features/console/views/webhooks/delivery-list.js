// The deliveries of one webhook: what was sent and when, what the receiver answered, and each attempt.

import { segments } from '../../parts/old/choices.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { busily, button, copy } from '../../parts/old/parts.js';
import { call, curlOf } from '../../service/api.ts';
import { isHub } from '../../service/service.ts';
import { counted, exactTimeOf, number } from '../../service/words.ts';
import { pathOf, sendAgain } from './webhook-actions.js';

/** @import { AttemptRecord, DetailedDelivery } from '../../../../core/model/webhook.ts' */
/** @import { ShownWebhook } from './webhook-words.js' */

/** @type {Readonly<Record<string, readonly [icon: string, kind: string]>>} */
const OUTCOMES = { delivered: ['check', 'yes'], dropped: ['x', 'no'], held: ['clock', 'wait'], gone: ['info', ''] };
/**
 * Matches the types of events that stand for a row in chat.db. Only these can be sent again, because their row can be
 * read again.
 */
const OF_ROWS = /^(?:message\.(?:received|sent)|reaction\.)/;

/**
 * Returns the deliveries, newest first, with their attempts if the service keeps them.
 * @param {string} id
 * @returns {Promise<readonly DetailedDelivery[]>}
 */
export const deliveriesOf = (id) => call(`${pathOf(id)}/deliveries${isHub() ? '' : '?include=tries'}`);

/**
 * @param {ShownWebhook} webhook
 * @param {readonly DetailedDelivery[]} deliveries
 * @param {() => Promise<unknown>} again
 */
export function deliveryCard(webhook, deliveries, again) {
  const list = h('div', { class: 'timeline', id: 'delivery-list' });
  /** @param {'all' | 'failed'} which */
  const show = (which) => {
    const shown = deliveries.filter(({ outcome }) => which === 'all' || outcome !== 'delivered');
    fill(
      list,
      shown.length === 0
        ? h('p', 'quiet body', which === 'all' ? nothingYet(webhook) : 'None of the last 100 failed.')
        : shown.map((delivery) => deliveryRow(webhook, delivery, again)),
    );
  };
  show('all');
  return h(
    'section',
    'card c8 top',
    h(
      'header',
      null,
      h('h2', null, 'Deliveries'),
      segments(
        'Show',
        [
          ['all', 'All'],
          ['failed', 'Failed'],
        ],
        'all',
        show,
      ),
    ),
    list,
  );
}

/** @param {ShownWebhook} webhook */
function nothingYet({ held, state }) {
  if (held !== null) return 'The first event is waiting. It appears here once the receiver accepts it.';
  if (state === 'paused') return 'Nothing has been sent yet, and nothing will be while the webhook is paused.';
  return 'Nothing has been sent yet. Send a test to see what arrives.';
}

/**
 * @param {ShownWebhook} webhook
 * @param {DetailedDelivery} delivery
 * @param {() => Promise<unknown>} again
 */
function deliveryRow(webhook, delivery, again) {
  const { at, event, outcome, attempts, status, error, duration_ms: ms } = delivery;
  const [name, kind] = OUTCOMES[outcome] ?? ['info', ''];
  return h(
    'details',
    'delivery',
    h(
      'summary',
      null,
      h('span', kind, icon(name), h('span', 'unseen', outcome === 'held' ? 'waits' : outcome)),
      h('time', { class: 'mono small quiet', datetime: at, title: new Date(at).toLocaleString() }, exactTimeOf(at)),
      h('span', 'mono small cut', event),
      h('span', 'says', error ?? answered(status)),
      h('span', 'small quiet nowrap', attempts > 1 ? counted(attempts, 'try', 'tries') : ''),
      h('span', 'num small quiet end', outcome === 'gone' ? '' : `${number(ms)} ms`),
      h('span', 'chevron', icon('right')),
    ),
    detailOf(webhook, delivery, again),
  );
}

/** @param {number | null} status */
const answered = (status) => (status === null ? 'No answer' : `Answered ${status}`);

/**
 * @param {ShownWebhook} webhook
 * @param {DetailedDelivery} delivery
 * @param {() => Promise<unknown>} again
 */
function detailOf(webhook, { id, event, row_id: row, outcome, tries, answer }, again) {
  const path = `${pathOf(webhook.id)}/deliveries/${encodeURIComponent(id)}/resend`;
  const canRepeat = OF_ROWS.test(event) && outcome !== 'held' && !isHub();
  /** @type {HTMLButtonElement} */
  const repeat = button('mini', [icon('retry'), 'Send again'], () =>
    busily(repeat, () => sendAgain(webhook, id).then(again)),
  );
  return h(
    'div',
    'tries',
    tries === undefined
      ? outcome !== 'gone' &&
          !isHub() &&
          h(
            'p',
            'quiet small',
            'Postern no longer has the attempts of this delivery. It keeps only those of recent deliveries, until it stops.',
          )
      : h('ol', null, tries.map(attemptRow)),
    answer !== undefined && [
      h('p', 'quiet small', 'What the receiver answered:'),
      h('div', 'code', h('pre', { dir: 'auto' }, answer)),
    ],
    h(
      'div',
      'row wrap',
      canRepeat && [repeat, button('mini', [icon('copy'), 'Copy as curl'], () => copy(curlOf(path, '-X POST ')))],
      event !== 'webhook.test' && outcome !== 'gone' && h('span', 'quiet small num', `row ${row}`),
      h('span', 'quiet small mono ltr', id),
    ),
  );
}

/** @param {AttemptRecord} one */
function attemptRow({ at, status, error, duration_ms: ms }) {
  return h(
    'li',
    null,
    h('span', error === null ? 'yes' : 'no', icon(error === null ? 'check' : 'x')),
    h('time', { class: 'mono small quiet', datetime: at }, exactTimeOf(at)),
    h('span', 'grow', error ?? answered(status)),
    h('span', 'num quiet small nowrap', `${number(ms)} ms`),
  );
}
