import type { StatisticKind, StatisticSpan } from '../../client/overview-types.ts';

export const STATISTIC_KINDS = ['events', 'sends', 'webhooks', 'keys'] as const satisfies readonly StatisticKind[];
export const STATISTIC_SPANS = ['minute', 'hour', 'day'] as const satisfies readonly StatisticSpan[];

/** How many minutes, hours and days are kept. */
export const KEPT_SPANS: Readonly<Record<StatisticSpan, number>> = { minute: 60, hour: 48, day: 30 };
