// The number of events per minute, over the last hour.

import { sparkline } from '../../parts/old/charts.js';
import { fill, h } from '../../parts/old/dom.js';
import { call } from '../../service/api.ts';
import { isHub, isOwner } from '../../service/service.ts';
import { number } from '../../service/words.ts';

/** @import { Point } from '../webhooks/webhook-words.js' */

export const rate = h('div', { class: 'row hide-s', hidden: true });

/**
 * Shows the average number of events per minute, and a line with the number in each minute of the last hour. Shows
 * nothing if there were no events.
 */
export async function showRate() {
  if (isHub() || !isOwner()) return;
  /** @type {readonly Point[]} */
  const points = (await call('stats/events?by=minute&last=60')).points;
  const minutes = points.map(({ counts }) => Object.values(counts).reduce((sum, count) => sum + count, 0));
  const total = minutes.reduce((sum, count) => sum + count, 0);
  rate.hidden = total === 0;
  fill(
    rate,
    h('span', 'end', h('b', 'block', `${(total / 60).toFixed(1)} a minute`), h('span', 'quiet small', 'last hour')),
    sparkline(minutes, `${number(total)} events in the last hour`),
  );
}
