import type { Feature } from '../../../core/feature.ts';
import type { Answer } from '../../../core/http/answer.ts';
import type { EventSource } from '../../../core/http/events/handlers.ts';
import { eventResource } from '../../../core/http/events/routes.ts';
import type { Exchange } from '../../../core/http/exchange.ts';
import type { MetricWriter } from '../../../core/http/metrics/handlers.ts';
import { metricResource } from '../../../core/http/metrics/routes.ts';
import { handlersOf, servedRoutes } from '../../../core/http/resource.ts';
import { RESOURCES } from '../../../core/http/resources.ts';
import { pathOf, type Route } from '../../../core/http/route.ts';
import type { Handler, ServedRoute } from '../../../core/http/router.ts';
import type { AcceptWebSocket } from '../../../core/http/server.ts';
import type { Health } from '../../../core/http/status/answers.ts';
import { webhookResource } from '../../../core/http/webhooks/routes.ts';
import type { EventCaller } from '../../../core/model/caller.ts';
import { invalidRequest } from '../../../core/model/problems.ts';
import { fleetProblem } from '../problems.ts';
import { type ForwardParts, forwardRoutes } from './forward.ts';
import type { HubFeed } from './hub-feed.ts';
import type { HubStatus } from './hub-status.ts';
import { mergedConversations } from './merged-conversations.ts';

export interface HubRouteParts extends ForwardParts {
  readonly feed: HubFeed;
  readonly events: EventSource;
  readonly features: readonly Feature[];
  readonly status: HubStatus;
  readonly writeMetrics: (to: MetricWriter) => void;
}

export const LIST_MACS = { method: 'GET', path: '/macs', key: 'header', access: 'key' } as const satisfies Route;

/** The operations that a hub has itself, but for the way through to each Mac. */
export const HUB_OPERATIONS: readonly string[] = [
  ...['getHealth', 'listEvents', 'openWebSocket', 'listConversations', 'getStatus', 'getMetrics'],
  ...[...Object.keys(webhookResource.routes), 'listMacs'],
];

/** Returns what a hub serves: its own operations, the way through to each Mac, and where to find all others. */
export function hubRoutes(parts: HubRouteParts): readonly ServedRoute[] {
  const { macs } = parts;
  const events = handlersOf(eventResource, parts.events);
  const own: Readonly<Record<string, Handler<EventCaller>>> = {
    getHealth: () => ({ status: 200, body: { status: 'ok', backend: parts.status.health() } satisfies Health }),
    listEvents: (exchange) => ofOneMac(parts, exchange, events.listEvents),
    openWebSocket: events.openWebSocket,
    listConversations: (exchange) => mergedConversations(macs, exchange),
    getStatus: async () => ({ status: 200, body: await parts.status.report() }),
    ...handlersOf(metricResource, parts),
    ...handlersOf(webhookResource, undefined),
  };
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
  const ofMac = [...RESOURCES, ...parts.features.filter((one) => !one.isForHubs)].flatMap(({ routes = {} }) =>
    Object.entries(routes),
  );
  return [
    ...parts.features.filter((one) => one.isForHubs).flatMap((one) => servedRoutes(one, undefined)),
    ...ofMac.map(([id, route]) => ({ route, handler: own[id] ?? needsMac(route) })),
    { route: LIST_MACS, handler: () => ({ status: 200, body: macs.list() }) },
    ...forwardRoutes(parts),
  ];
}

/** Narrows a handshake to the Mac that its query names. */
export function ofOneMacToo(parts: Pick<HubRouteParts, 'feed' | 'macs'>, accept: AcceptWebSocket): AcceptWebSocket {
  return (request, socket, head, query, caller) =>
    accept(request, socket, head, query, narrowed(parts, query, caller).caller);
}

async function ofOneMac(
  parts: HubRouteParts,
  exchange: Exchange<EventCaller>,
  handler: Handler<EventCaller>,
): Promise<Answer> {
  const { caller, mac } = narrowed(parts, exchange.query, exchange.caller);
  exchange.caller = caller;
  const answer = await handler(exchange);
  const link = answer.headers?.Link;
  if (mac === undefined || link === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, Link: link.replace('<?', `<?mac=${mac}&`) } };
}

/** Takes `mac` out of the query. Throws `mac_unknown`, and `invalid_request` if it is given twice. */
function narrowed({ feed, macs }: Pick<HubRouteParts, 'feed' | 'macs'>, query: URLSearchParams, caller: EventCaller) {
  const given = query.getAll('mac');
  if (given.length > 1) throw invalidRequest([{ pointer: '?mac', message: 'The parameter `mac` is given twice.' }]);
  const mac = given[0]?.toLowerCase();
  query.delete('mac');
  if (mac === undefined) return { caller, mac };
  if (!macs.ids.includes(mac)) throw fleetProblem('mac_unknown');
  return { caller: { ...caller, feed: feed.of(mac) }, mac };
}
