import type { Handler } from '../../core/http/router.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { SCHEDULED } from './port.ts';
import { scheduledQuery } from './schema.ts';

/** The handlers for scheduled messages (decision X1). */
export const HANDLERS = {
  listScheduled({ query, caller }) {
    return { status: 200, body: caller.port(SCHEDULED).list(readQuery(scheduledQuery, query)) };
  },

  getScheduled(exchange) {
    return { status: 200, body: exchange.caller.port(SCHEDULED).get(exchange.param('id')) };
  },

  cancelScheduled(exchange) {
    exchange.caller.port(SCHEDULED).cancel(exchange.param('id'));
    return { status: 204 };
  },
} satisfies Readonly<Record<string, Handler>>;
