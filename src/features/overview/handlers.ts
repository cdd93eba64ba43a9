import { STATISTIC_KINDS } from '../../client/overview-types.ts';
import type { Handler } from '../../core/http/router.ts';
import { problem } from '../../core/model/problems.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { OVERVIEW } from './port.ts';
import { statisticsQuery } from './schema.ts';
import { KEPT_SPANS } from './spans.ts';

/** The handlers for the owner's home page and its counters (decision Z1). */
export const HANDLERS = {
  async getOverview({ caller }) {
    return { status: 200, body: await caller.port(OVERVIEW).overview() };
  },

  async getStatistics(exchange) {
    const { by, last } = readQuery(statisticsQuery, exchange.query);
    const kind = STATISTIC_KINDS.find((known) => known === exchange.param('kind'));
    if (kind === undefined) throw problem('not_found');
    const most = KEPT_SPANS[by];
    const body = await exchange.caller.port(OVERVIEW).statistics(kind, by, Math.min(last ?? most, most));
    return { status: 200, body };
  },
} satisfies Readonly<Record<string, Handler>>;
