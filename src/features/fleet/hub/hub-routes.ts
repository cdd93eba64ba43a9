import type { Feature } from '../../../core/feature.ts';
import type { Answer } from '../../../core/http/answer.ts';
import type { Exchange } from '../../../core/http/exchange.ts';
import { featureRoutes } from '../../../core/http/feature-routes.ts';
import type { Handler, ServedRoute } from '../../../core/http/router.ts';
import { type EventSource, eventRoutes } from '../../../core/http/routes/events-routes.ts';
import { healthRoutes } from '../../../core/http/routes/status-routes.ts';
import type { AcceptWebSocket, RouteHost } from '../../../core/http/server.ts';
import type { Caller } from '../../../core/model/caller.ts';
import type { BackendHealth } from '../../../core/model/ports/reading-ports.ts';
import { pathOf, ROUTES, type Route, type RouteId } from '../../../core/schema/routes.ts';
import { fleetProblem } from '../problems.ts';
import { type ForwardParts, forwardRoutes } from './forward.ts';
import type { HubFeed } from './hub-feed.ts';
import { mergedConversations } from './merged-conversations.ts';

export interface HubRouteParts extends ForwardParts, Omit<EventSource, 'closing'> {
  readonly feed: HubFeed;
  readonly features: readonly Feature[];
  readonly health: () => BackendHealth;
  readonly status: () => Promise<object>;
  readonly metrics: () => Promise<Answer>;
}

export const LIST_MACS = { method: 'GET', path: '/macs', key: 'header', access: 'key' } as const satisfies Route;

const WEBHOOKS = [
  'registerWebhook',
  'listWebhooks',
  'deleteWebhook',
  'getWebhook',
  'changeWebhook',
  'listDeliveries',
  'testWebhook',
  'resendDelivery',
  'retryWebhook',
  'replayWebhook',
] as const;

/** The operations of the contract that a hub has itself. */
export const HUB_OPERATIONS = [
  'getHealth',
  'listEvents',
  'openWebSocket',
  'listConversations',
  'getStatus',
  'getMetrics',
  ...WEBHOOKS,
] as const satisfies readonly RouteId[];

/** Returns what a hub serves: its own operations, the way through to each Mac, and where to find all others. */
export function hubRoutes(parts: HubRouteParts, host: RouteHost): readonly ServedRoute[] {
  const { macs } = parts;
  const events = eventRoutes({ ...parts, ...host });
  const own: Record<(typeof HUB_OPERATIONS)[number], Handler> & Partial<Record<RouteId, Handler>> = {
    ...healthRoutes(parts.health),
    listEvents: (exchange) => ofOneMac(parts, exchange, (one) => events.listEvents(one)),
    openWebSocket: () => events.openWebSocket(),
    listConversations: (exchange) => mergedConversations(parts, exchange),
    getStatus: async () => ({ status: 200, body: await parts.status() }),
    getMetrics: parts.metrics,
    ...webhookHandlers(),
  };
  const ids = Object.keys(ROUTES) as RouteId[];
  const needsMac = (route: Route): Handler => {
    return ({ path }) => {
      const paths = macs.ids.map((id) => `/macs/${id}${path}`);
      throw fleetProblem(
        'mac_needed',
        {},
        { extra: { macs: paths.length > 0 ? paths : [`/macs/ID${pathOf(route)}`] } },
      );
    };
  };
  return [
    ...ids.map((id) => ({ id, route: ROUTES[id], handler: own[id] ?? needsMac(ROUTES[id]) })),
    ...featureRoutes(parts.features.filter(({ isForHubs }) => isForHubs)),
    ...featureRoutes(parts.features.filter(({ isForHubs }) => !isForHubs)).map(({ id, route }) => ({
      ...{ id, route },
      handler: needsMac(route),
    })),
    { id: 'listMacs', route: LIST_MACS, handler: () => ({ status: 200, body: macs.list() }) },
    ...forwardRoutes(parts, host),
  ];
}

/** Narrows a handshake to the Mac that its query names. */
export function ofOneMacToo(parts: Pick<HubRouteParts, 'feed' | 'macs'>, accept: AcceptWebSocket): AcceptWebSocket {
  return (request, socket, head, query, caller) =>
    accept(request, socket, head, query, narrowed(parts, query, caller).caller);
}

async function ofOneMac(parts: HubRouteParts, exchange: Exchange, handler: Handler): Promise<Answer> {
  const { caller, mac } = narrowed(parts, exchange.query, exchange.caller);
  exchange.caller = caller;
  const answer = await handler(exchange);
  const link = answer.headers?.Link;
  if (mac === null || link === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, Link: link.replace('<?', `<?mac=${mac}&`) } };
}

/** Takes `mac` out of the query. Throws `mac_unknown`. */
function narrowed({ feed, macs }: Pick<HubRouteParts, 'feed' | 'macs'>, query: URLSearchParams, caller: Caller) {
  const mac = query.get('mac');
  query.delete('mac');
  if (mac === null) return { caller, mac };
  if (!macs.ids.includes(mac)) throw fleetProblem('mac_unknown');
  return { caller: { ...caller, feed: feed.of(mac) }, mac };
}

/** The webhooks' handlers, loaded at the first request to one of them. */
function webhookHandlers(): Record<(typeof WEBHOOKS)[number], Handler> {
  const load = async () => (await import('../../../core/http/routes/webhooks-routes.ts')).webhookRoutes();
  const handlers = WEBHOOKS.map((id): [string, Handler] => [id, async (exchange) => (await load())[id](exchange)]);
  return Object.fromEntries(handlers) as Record<(typeof WEBHOOKS)[number], Handler>;
}
