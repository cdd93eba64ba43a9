import type { Overview, SubjectSeries } from '../../client/overview-types.ts';
import { isPosternError } from '../../client/postern-client.ts';
import type { ClientContext } from '../../core/cli/client-context.ts';
import type { Context } from '../../core/cli/context.ts';
import type { Style } from '../../core/cli/output/style.ts';
import { type Column, table } from '../../core/cli/output/table.ts';
import { LABEL_COLUMNS, wrapped } from '../../core/cli/output/text.ts';
import { shownTime } from '../../core/cli/output/time.ts';
import type { Served } from '../../core/cli/service-connection.ts';
import { webhookLabel } from '../../core/model/status.ts';
import { systemClock } from '../../core/runtime/clock.ts';

/** A line of counts in `postern status`. */
export interface CounterLine {
  readonly name: string;
  /** A sparkline, shown only on a terminal. */
  readonly bars?: string | undefined;
  readonly text: string;
}

const MINUTES_A_BAR = 2;
const BARS = ['▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const NO_BAR = '▁';

/** The counted outcomes of sends, in the console's order and with the console's words for them. */
const OUTCOMES: readonly (readonly [name: string, words: string])[] = [
  ['sent', 'sent'],
  ['pending', 'handed to Messages'],
  ['scheduled', 'scheduled'],
  ['held', 'waited for you'],
  ['failed', 'failed'],
  ['unknown', 'with unknown outcome'],
  ['refused', 'refused'],
];

/** Reads the counters, and returns their lines of `postern status`: none if the service does not count. */
export async function shownCounters(service: Served): Promise<readonly string[]> {
  try {
    const overview = await service.client.home.overview();
    return [
      ...counterLines(overview, systemClock.now()).flatMap((line) => shownCounter(line, service)),
      ...counterTables(overview, service),
    ];
  } catch (error) {
    // A hub has no counters, nor has an older service.
    if (!isPosternError(error) || error.status !== 404) throw error;
    return [];
  }
}

function shownCounter(
  { name, bars, text }: CounterLine,
  { paint, columns, isTerminal }: ClientContext,
): readonly string[] {
  const before = isTerminal && bars !== undefined ? `${bars}  ` : '';
  const [first = '', ...others] = wrapped(text, columns, LABEL_COLUMNS + before.length);
  return [`${paint('bold', name.padEnd(LABEL_COLUMNS))}${paint('cyan', before)}${first.trimStart()}`, ...others];
}

/** Returns the lines that count the events of the last hour and today's sends. */
export function counterLines({ events, sends, day }: Overview, nowMs: number): readonly CounterLine[] {
  const minutes = events.minutes.map(({ counts }) => sum(Object.values(counts)));
  const today = (since: string): string => (since === day ? 'today' : `since ${shownTime(since, nowMs)}`);
  const outcomes = OUTCOMES.flatMap(([name, words]) => {
    const count = sends.today[name] ?? 0;
    return count === 0 ? [] : [`${shown(count)} ${words}`];
  });
  return [
    {
      name: 'Events',
      bars: sparkline(summed(minutes, MINUTES_A_BAR)),
      text: `${shown(sum(minutes))} in the last hour, ${shown(events.today)} ${today(events.since)}`,
    },
    { name: 'Sends', text: `${outcomes.join(', ') || 'none'} ${today(sends.since)}` },
  ];
}

/**
 * Returns the lines of two tables: one row per webhook, and one row per key. An empty line precedes each table. On a
 * terminal, bars show the last 24 hours of each webhook and key.
 */
export function counterTables({ webhooks, keys = [] }: Overview, context: Context): readonly string[] {
  const deliveries = webhooks.map((webhook) => [
    webhookLabel(webhook),
    sparkline(webhook.points.map(({ counts }) => sum(Object.values(counts)))),
    delivered(webhook),
    webhook.median_ms == null ? '-' : `${shown(webhook.median_ms)} ms`,
    shown(webhook.behind),
  ]);
  const uses = keys.map(({ name, hours, today }) => [
    name,
    sparkline(hours),
    ...[today.read, today.asked, today.sent, today.refused].map(shown),
  ]);
  return [
    ...shownTable('WEBHOOK', ['DELIVERED', 'TYPICAL', 'WAITING'], deliveries, context),
    ...shownTable('KEY', ['READ', 'ASKED', 'SENT', 'REFUSED TODAY'], uses, context),
  ];
}

function shownTable(
  subject: string,
  counts: readonly string[],
  rows: readonly (readonly string[])[],
  { columns, paint, isTerminal }: Context,
): readonly string[] {
  if (rows.length === 0) return [];
  const titles: readonly Column[] = [
    { title: subject, isFlexible: true },
    { title: 'LAST 24 HOURS', style: () => 'cyan' },
    ...counts.map((title): Column => (title === 'DELIVERED' ? { title, style: shareStyle } : { title })),
  ];
  const withBars = <Item>(items: readonly Item[]): readonly Item[] =>
    isTerminal ? items : items.filter((_, index) => index !== 1);
  return ['', ...table(withBars(titles), rows.map(withBars), columns, paint)];
}

/**
 * Returns the percentage of successful deliveries among the deliveries that ended in the last 24 hours; `-` if none
 * ended. A held delivery that is still being retried has not ended.
 */
function delivered({ points }: SubjectSeries): string {
  const total = (...names: readonly string[]): number =>
    sum(points.flatMap(({ counts }) => names.map((name) => counts[name] ?? 0)));
  const done = total('delivered', 'retried');
  const all = done + total('dropped');
  if (all === 0) return '-';
  return done === all ? '100 %' : `${Math.min(99.9, (done / all) * 100).toFixed(1)} %`;
}

function shareStyle(share: string): Style | undefined {
  return share === '-' || share === '100 %' ? undefined : 'red';
}

/** Returns a line of bars, the highest for the largest value. Only a zero has the lowest bar. */
function sparkline(values: readonly number[]): string {
  const most = Math.max(...values, 1);
  return values
    .map((value) => (value <= 0 ? NO_BAR : (BARS[Math.ceil((value / most) * BARS.length) - 1] ?? NO_BAR)))
    .join('');
}

/** Returns the sums of consecutive groups of `count` values. */
function summed(values: readonly number[], count: number): readonly number[] {
  return Array.from({ length: Math.ceil(values.length / count) }, (_, place) =>
    sum(values.slice(place * count, (place + 1) * count)),
  );
}

function shown(count: number): string {
  return count.toLocaleString('en-US');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
