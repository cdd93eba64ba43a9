import type { Home } from '../../model/ports/home-ports.ts';
import { problem } from '../../model/problems.ts';
import { KEPT_SPANS, STATISTIC_KINDS } from '../../model/statistics.ts';
import { statisticsQuery } from '../../schema/overview-schema.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import type { Handlers } from '../router.ts';

/** Returns the handlers for the owner's home page, its counters, and the configuration (decisions Z1, Z3). */
export function homeRoutes(home: Home): Pick<Handlers, 'getOverview' | 'getStatistics' | 'getConfig'> {
  return {
    getOverview: async () => ({ status: 200, body: await home.overview() }),

    async getStatistics(exchange) {
      const { by, last } = readQuery(statisticsQuery, exchange.query);
      const kind = STATISTIC_KINDS.find((known) => known === exchange.param('kind'));
      if (kind === undefined) throw problem('not_found');
      const most = KEPT_SPANS[by];
      return { status: 200, body: await home.statistics(kind, by, Math.min(last ?? most, most)) };
    },

    getConfig: async () => ({ status: 200, body: { settings: await home.settings() } }),
  };
}
