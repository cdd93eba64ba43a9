import type { Access } from '../model/caller.ts';

/** Prefix of every path of the contract. */
export const API = '/api/v1';

/** One method on one path of the contract. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path. It follows the prefix `API`, unless `isOutside` is true. `{name}` matches one segment. */
  readonly path: `/${string}`;
  readonly isOutside?: true;
  /**
   * How the key is passed: in `X-API-Key`, in the query parameter `api_key`, or not at all. With `code`, a one-time
   * code in the body replaces the key, and only a page of the service itself may send it.
   */
  readonly key: 'header' | 'query' | 'none' | 'code';
  /** True if only limited keys are meant: the refusal of a key does not say where to find the owner's. */
  readonly isForLimitedKeys?: true;
  /**
   * The callers that may use the route. Handlers use only the ports of `exchange.caller`, which limit what a key can
   * read, send and receive.
   */
  readonly access: Access;
}

/**
 * The routes of the contract, and those that decision H adds. Key: the operation. HEAD works like GET (decision E7).
 */
export const ROUTES = {
  getHealth: { method: 'GET', path: '/health', key: 'none', access: 'open' },
  sendMessage: { method: 'POST', path: '/messages', key: 'header', access: ['send'] },
  listMessages: { method: 'GET', path: '/messages', key: 'header', access: ['read'] },
  getMessage: { method: 'GET', path: '/messages/{id}', key: 'header', access: ['read'] },
  getAttachment: { method: 'GET', path: '/messages/{id}/attachments/{n}', key: 'header', access: ['read'] },
  uploadAttachment: { method: 'POST', path: '/attachments', key: 'header', access: ['send'] },
  listConversations: { method: 'GET', path: '/conversations', key: 'header', access: ['read'] },
  getConversation: { method: 'GET', path: '/conversations/{id}', key: 'header', access: ['read'] },
  listConversationAttachments: {
    method: 'GET',
    path: '/conversations/{id}/attachments',
    key: 'header',
    access: ['read'],
  },
  registerWebhook: { method: 'POST', path: '/webhooks', key: 'header', access: ['webhooks'] },
  listWebhooks: { method: 'GET', path: '/webhooks', key: 'header', access: ['webhooks'] },
  deleteWebhook: { method: 'DELETE', path: '/webhooks/{id}', key: 'header', access: ['webhooks'] },
  getWebhook: { method: 'GET', path: '/webhooks/{id}', key: 'header', access: ['webhooks'] },
  changeWebhook: { method: 'PATCH', path: '/webhooks/{id}', key: 'header', access: ['webhooks'] },
  listDeliveries: { method: 'GET', path: '/webhooks/{id}/deliveries', key: 'header', access: ['webhooks'] },
  testWebhook: { method: 'POST', path: '/webhooks/{id}/test', key: 'header', access: ['webhooks'] },
  resendDelivery: {
    method: 'POST',
    path: '/webhooks/{id}/deliveries/{delivery}/resend',
    key: 'header',
    access: ['webhooks'],
  },
  retryWebhook: { method: 'POST', path: '/webhooks/{id}/retry', key: 'header', access: ['webhooks'] },
  replayWebhook: { method: 'POST', path: '/webhooks/{id}/replay', key: 'header', access: ['webhooks'] },
  listEvents: { method: 'GET', path: '/events', key: 'header', access: ['events'] },
  getStatus: { method: 'GET', path: '/status', key: 'header', access: 'key' },
  getConfig: { method: 'GET', path: '/config', key: 'header', access: 'owner' },
  checkPermissions: { method: 'POST', path: '/permissions/check', key: 'header', access: 'owner' },
  openWebSocket: { method: 'GET', path: '/ws', key: 'query', access: ['events'] },
  getMetrics: { method: 'GET', path: '/metrics', key: 'header', access: 'owner', isOutside: true },
} as const satisfies Record<string, Route>;

/** The name of an operation in `ROUTES`. */
export type RouteId = keyof typeof ROUTES;

/** Returns the route's path from the root. */
export function pathOf(route: Route): string {
  return route.isOutside === true ? route.path : API + route.path;
}
