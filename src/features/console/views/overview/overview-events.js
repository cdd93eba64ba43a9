// Events per minute or per day, as bars.

import { barChart } from '../../parts/old/charts.js';
import { segments } from '../../parts/old/choices.js';
import { h } from '../../parts/old/dom.js';
import { call } from '../../service/api.ts';
import { counted, number, timeOf } from '../../service/words.ts';

/** @import { Point } from '../webhooks/webhook-words.js' */

/** @type {'minutes' | 'days'} */
let span = 'minutes';

/**
 * @param {any} overview
 * @param {() => Promise<unknown>} again called when another span is chosen
 */
export async function eventCard({ events, since }, again) {
  if (events === undefined) return undefined;
  /** @type {readonly Point[]} */
  const points = span === 'minutes' ? events.minutes : (await call('stats/events?by=day&last=30')).points;
  const bars = points.map(({ at, counts }) => ({
    label: labelOf(at),
    values: [counts.received ?? 0, counts.sent ?? 0, (counts.reactions ?? 0) + (counts.changes ?? 0)],
  }));
  const total = bars.reduce((sum, { values }) => sum + values.reduce((one, value) => one + value, 0), 0);
  const most = bars.reduce(
    (best, bar) => (sumOf(bar) > sumOf(best) ? bar : best),
    bars[0] ?? { label: '', values: [] },
  );
  const title =
    total === 0
      ? `No events in the last ${span === 'minutes' ? 'hour' : '30 days'}`
      : `${counted(total, 'event')} in the last ${span === 'minutes' ? 'hour' : '30 days'}, at most ${number(sumOf(most))} at ${most.label}`;
  const { plot, legend } = barChart({
    bars,
    names: ['received', 'sent', 'changes and reactions'],
    classes: ['b1', 'b2', 'b3'],
    ticks: ticksIn(points),
    title,
  });
  const isYoung = Date.now() - Date.parse(since) < (span === 'minutes' ? 3_600_000 : 86_400_000);
  return h(
    'section',
    'card c8 tall',
    h(
      'header',
      null,
      h('h2', null, 'Events'),
      segments(
        'Span',
        [
          ['minutes', '60 minutes'],
          ['days', '30 days'],
        ],
        span,
        (chosen) => {
          span = chosen;
          void again().catch(() => {});
        },
      ),
    ),
    h(
      'div',
      'body',
      h(
        'div',
        'split',
        h(
          'div',
          'row',
          h('span', 'big', number(span === 'minutes' ? events.today : total)),
          h(
            'span',
            'quiet',
            span === 'minutes' ? 'today' : 'in 30 days',
            isYoung && h('span', 'small block', `counted since ${timeOf(since)}`),
          ),
        ),
        legend,
      ),
      plot,
    ),
  );
}

/** @param {{ readonly values: readonly number[] }} bar */
const sumOf = ({ values }) => values.reduce((total, value) => total + value, 0);

/** @param {string} at */
const labelOf = (at) =>
  span === 'minutes'
    ? new Date(at).toLocaleTimeString([], { timeStyle: 'short' })
    : new Date(at).toLocaleDateString([], { month: 'short', day: 'numeric' });

/** @param {readonly Point[]} points */
const ticksIn = (points) =>
  points.flatMap(({ at }, index) => {
    const isMarked = span === 'minutes' ? new Date(at).getMinutes() % 15 === 0 : (points.length - 1 - index) % 7 === 0;
    return isMarked ? [/** @type {const} */ ([index, labelOf(at)])] : [];
  });
