import { documentsOf, type Feature } from '../feature.ts';
import type { Metrics } from '../model/ports/metrics-ports.ts';
import type { PermissionReport } from '../model/ports/permissions-ports.ts';
import type { BackendHealth } from '../model/ports/reading-ports.ts';
import { ROUTES, type RouteId } from '../schema/routes.ts';
import { featureRoutes } from './feature-routes.ts';
import { withLazyRoutes } from './lazy-routes.ts';
import { type OpenPages, servicePages } from './pages.ts';
import type { OperationOf, ServedRoute } from './router.ts';
import { attachmentRoutes } from './routes/attachments-routes.ts';
import type { ReadSettings } from './routes/config-routes.ts';
import { conversationRoutes } from './routes/conversations-routes.ts';
import { type EventSource, eventRoutes } from './routes/events-routes.ts';
import { messageRoutes } from './routes/messages-routes.ts';
import { metricRoutes } from './routes/metrics-routes.ts';
import { healthRoutes, statusRoutes } from './routes/status-routes.ts';
import { uploadRoutes } from './routes/uploads-routes.ts';
import { HttpServer, type HttpServerParts, type RouteHost } from './server.ts';

export interface MacServerParts
  extends Omit<HttpServerParts, 'routes' | 'operations' | 'pages'>,
    Omit<EventSource, 'closing'> {
  readonly appSettings: ReadSettings;
  readonly health: () => BackendHealth;
  readonly notReady: () => readonly string[];
  readonly checkPermissions: () => Promise<readonly PermissionReport[]>;
  readonly metrics: () => Metrics;
  readonly version: string;
  /** The features whose operations are served. */
  readonly features: readonly Feature[];
  /** The pages of these features. */
  readonly pages: readonly OpenPages[];
}

/** Creates the server of a Mac, which serves every operation. */
export function macServer(parts: MacServerParts): HttpServer {
  return new HttpServer({
    ...parts,
    routes: (host) => macRoutes(parts, host),
    operations: operationsOf(parts.features),
    pages: servicePages(parts.notReady, () => documentFor(parts), parts.pages),
  });
}

async function documentFor({ version, features }: MacServerParts): Promise<object> {
  const { openApi } = await import('./openapi/openapi.ts');
  return openApi(version, await documentsOf(features));
}

/** Returns a function that loads the table of operations, because few requests need it. */
export function operationsOf(features: readonly Feature[]): OperationOf {
  return async (id) => (await import('./openapi/operations.ts')).operationOf(id, await documentsOf(features));
}

function macRoutes(parts: MacServerParts, { closing, ownUrl }: RouteHost): readonly ServedRoute[] {
  const { counters } = parts;
  const loaded = {
    ...healthRoutes(parts.health),
    ...messageRoutes(counters, closing),
    ...uploadRoutes(closing),
    ...attachmentRoutes(),
    ...conversationRoutes(),
    ...eventRoutes({ ...parts, closing }),
    ...statusRoutes(parts.checkPermissions, ownUrl),
    ...metricRoutes(parts.metrics, counters),
  };
  const handlers = withLazyRoutes(loaded, parts);
  const own = (Object.keys(ROUTES) as RouteId[]).map((id) => ({ id, route: ROUTES[id], handler: handlers[id] }));
  return [...own, ...featureRoutes(parts.features)];
}
