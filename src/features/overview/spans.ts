import type { StatisticSpan } from '../../client/overview-types.ts';

/** How many minutes, hours and days are kept. */
export const KEPT_SPANS: Readonly<Record<StatisticSpan, number>> = { minute: 60, hour: 48, day: 30 };
