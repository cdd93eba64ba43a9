// The number of events per minute, over the last hour.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { StatisticSeries } from '../../../../client/overview-types.ts';
import { number } from '../../../../core/model/figures.ts';
import { Sparkline } from '../../parts/charts.tsx';
import { type Asked, call } from '../../service/api.ts';
import { mayOwn } from '../../service/service.ts';

const minutes = signal<readonly number[]>([]);

export async function readRate(options?: Asked): Promise<void> {
  if (!mayOwn('getStatistics')) return;
  const { points = [] } = await call<StatisticSeries>('stats/events?by=minute&last=60', options);
  minutes.value = points.map(({ counts }) => Object.values(counts).reduce((sum, count) => sum + count, 0));
}

/** The average number of events per minute, and a line with the number in each minute. Empty without events. */
export function Rate(): VNode | null {
  const total = minutes.value.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  return (
    <div class="row hide-s">
      <span class="end">
        <b class="block">{(total / 60).toFixed(1)} a minute</b>
        <span class="block quiet small">last hour</span>
      </span>
      <Sparkline values={minutes.value} title={`${number(total)} events in the last hour`} />
    </div>
  );
}
