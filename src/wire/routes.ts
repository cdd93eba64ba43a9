/** What every path of the contract begins with. */
export const API = '/api/v1';

/** One method on one path of the contract. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Beneath `API`, or from the root with `isOutside`; `{name}` matches one segment. */
  readonly path: `/${string}`;
  readonly isOutside?: true;
  /** Where the key is looked for: in `X-API-Key`, in the query parameter `api_key`, or nowhere. */
  readonly key: 'header' | 'query' | 'none';
}

/**
 * The table of endpoints, by operation: the contract's, and those of decision H. HEAD works where GET does (decision
 * E7).
 */
export const ROUTES = {
  getHealth: { method: 'GET', path: '/health', key: 'none' },
  sendMessage: { method: 'POST', path: '/messages', key: 'header' },
  listMessages: { method: 'GET', path: '/messages', key: 'header' },
  getMessage: { method: 'GET', path: '/messages/{id}', key: 'header' },
  getAttachment: { method: 'GET', path: '/messages/{id}/attachments/{n}', key: 'header' },
  listConversations: { method: 'GET', path: '/conversations', key: 'header' },
  getConversation: { method: 'GET', path: '/conversations/{id}', key: 'header' },
  registerWebhook: { method: 'POST', path: '/webhooks', key: 'header' },
  listWebhooks: { method: 'GET', path: '/webhooks', key: 'header' },
  deleteWebhook: { method: 'DELETE', path: '/webhooks/{id}', key: 'header' },
  getWebhook: { method: 'GET', path: '/webhooks/{id}', key: 'header' },
  listDeliveries: { method: 'GET', path: '/webhooks/{id}/deliveries', key: 'header' },
  testWebhook: { method: 'POST', path: '/webhooks/{id}/test', key: 'header' },
  replayWebhook: { method: 'POST', path: '/webhooks/{id}/replay', key: 'header' },
  listEvents: { method: 'GET', path: '/events', key: 'header' },
  getStatus: { method: 'GET', path: '/status', key: 'header' },
  checkPermissions: { method: 'POST', path: '/permissions/check', key: 'header' },
  runDiagnostics: { method: 'POST', path: '/diagnostics', key: 'header' },
  openWebSocket: { method: 'GET', path: '/ws', key: 'query' },
  getMetrics: { method: 'GET', path: '/metrics', key: 'header', isOutside: true },
} as const satisfies Record<string, Route>;

/** The name of an operation in the table. */
export type RouteId = keyof typeof ROUTES;

/** The whole path, from the root. */
export function pathOf(route: Route): string {
  return route.isOutside === true ? route.path : API + route.path;
}
