import { resource } from '../resource.ts';
import type { Route } from '../route.ts';
import type { StatusHandlerParts } from './handlers.ts';

/** Balancers ask for it, some of them without a Host. */
export const GET_HEALTH: Route = { method: 'GET', path: '/health', key: 'none', access: 'open' };

/** The service's reports about itself: its health, settings and permissions. */
export const statusResource = resource({
  name: 'status',
  routes: {
    getHealth: GET_HEALTH,
    getStatus: { method: 'GET', path: '/status', key: 'header', access: 'key' },
    getConfig: { method: 'GET', path: '/config', key: 'header', access: 'owner' },
    checkPermissions: { method: 'POST', path: '/permissions/check', key: 'header', access: 'owner' },
  },
  handlers: async (parts: StatusHandlerParts) => (await import('./handlers.ts')).statusHandlers(parts),
  document: async () => (await import('./document.ts')).DOCUMENT,
});
