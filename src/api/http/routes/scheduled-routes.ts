import { scheduledQuery } from '../../../features/scheduled/schema.ts';
import { readQuery } from '../../../schema/query-parameters.ts';
import type { Handlers } from '../router.ts';

/** Returns the handlers for scheduled messages (decision X1). */
export function scheduledRoutes() {
  return {
    async listScheduled({ query, caller: { scheduled } }) {
      return { status: 200, body: scheduled.list(readQuery(scheduledQuery, query)) };
    },

    async getScheduled(exchange) {
      return { status: 200, body: exchange.caller.scheduled.get(exchange.param('id')) };
    },

    async cancelScheduled(exchange) {
      exchange.caller.scheduled.cancel(exchange.param('id'));
      return { status: 204 };
    },
  } satisfies Partial<Handlers>;
}
