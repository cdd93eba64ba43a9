import type { Overview, StatisticKind, StatisticSeries, StatisticSpan } from '../../client/overview-types.ts';
import type { Port } from '../../core/model/port.ts';

/** The owner's home page and its counters. */
export interface OverviewService {
  overview(): Promise<Overview>;
  statistics(kind: StatisticKind, by: StatisticSpan, last: number): Promise<StatisticSeries>;
}

/** Only the owner has it, because it counts for all keys. */
export const OVERVIEW: Port<OverviewService> = { name: 'the overview', narrow: () => undefined };
