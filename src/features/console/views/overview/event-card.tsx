// Events per minute or per day, as bars.

import { signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Overview, StatisticPoint, StatisticSeries } from '../../../../client/overview-types.ts';
import { DAY_MS } from '../../../../core/model/durations.ts';
import { counted, number } from '../../../../core/model/figures.ts';
import { type Bar, BarPlot, Legend, type Parts } from '../../parts/charts.tsx';
import { Segments } from '../../parts/choices.tsx';
import { Card } from '../../parts/parts.tsx';
import { call } from '../../service/api.ts';
import { hourOf, shortDateOf, timeOf } from '../../service/words.ts';

type Span = 'minutes' | 'days';

const span = signal<Span>('minutes');
const days = signal<readonly StatisticPoint[]>([]);

/** Reads the events of each day, if the card shows days. */
export async function readDays(shown = span.value): Promise<void> {
  if (shown === 'days') days.value = (await call<StatisticSeries>('stats/events?by=day&last=30')).points ?? [];
}

async function choose(chosen: Span): Promise<void> {
  await readDays(chosen).catch(() => {});
  span.value = chosen;
}

const WORDS = {
  minutes: { last: 'hour', big: 'today' },
  days: { last: '30 days', big: 'in 30 days' },
};

const PARTS: Parts = [
  ['received', 'b1'],
  ['sent', 'b2'],
  ['changes and reactions', 'b3'],
];

export function EventCard({ events, since, day }: Pick<Overview, 'events' | 'since' | 'day'>): VNode {
  const pointed = useSignal('');
  const points = span.value === 'minutes' ? events.minutes : days.value;
  const bars = points.map(barOf);
  const total = bars.reduce((sum, bar) => sum + sumOf(bar), 0);
  const { last, big } = WORDS[span.value];
  const isToday = span.value === 'minutes';
  const from = isToday ? events.since : since;
  const isYoung = isToday ? isLater(from, day) : Date.now() - Date.parse(from) < 30 * DAY_MS;
  return (
    <Card
      title="Events"
      class="c8 tall"
      beside={
        <Segments
          label="Span"
          choices={[
            ['minutes', '60 minutes'],
            ['days', '30 days'],
          ]}
          value={span.value}
          choose={choose}
        />
      }
    >
      <div class="body">
        <div class="split">
          <div class="row">
            <span class="big">{number(span.value === 'minutes' ? events.today : total)}</span>
            <span class="quiet">
              {big}
              {isYoung && <span class="small block">counted since {timeOf(from)}</span>}
            </span>
          </div>
          <Legend parts={PARTS} pointed={pointed} />
        </div>
        <BarPlot
          bars={bars}
          parts={PARTS}
          ticks={ticksIn(points)}
          title={titleOf(bars, total, last)}
          pointed={pointed}
        />
      </div>
    </Card>
  );
}

/** Reports whether counting began after the beginning of the day, so that a number lacks what happened before. */
export const isLater = (since: string, day: string): boolean => Date.parse(since) > Date.parse(day);

const barOf = ({ at, counts: { received = 0, sent = 0, reactions = 0, changes = 0 } }: StatisticPoint): Bar => ({
  label: labelOf(at),
  values: [received, sent, reactions + changes],
});

const sumOf = ({ values }: Bar): number => values.reduce((total, value) => total + value, 0);

function titleOf(bars: readonly Bar[], total: number, last: string): string {
  const [first, ...others] = bars;
  if (total === 0 || first === undefined) return `No events in the last ${last}`;
  const most = others.reduce((best, bar) => (sumOf(bar) > sumOf(best) ? bar : best), first);
  return `${counted(total, 'event')} in the last ${last}, at most ${number(sumOf(most))} at ${most.label}`;
}

const labelOf = (at: string): string => (span.value === 'minutes' ? hourOf(at) : shortDateOf(at));

const ticksIn = (points: readonly StatisticPoint[]): readonly (readonly [index: number, text: string])[] =>
  points.flatMap(({ at }, index) => {
    const isMarked =
      span.value === 'minutes' ? new Date(at).getMinutes() % 15 === 0 : (points.length - 1 - index) % 7 === 0;
    return isMarked ? [[index, labelOf(at)] as const] : [];
  });
