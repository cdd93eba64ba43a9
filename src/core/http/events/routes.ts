import { resource } from '../resource.ts';
import type { Route } from '../route.ts';
import type { EventSource } from './handlers.ts';

/** The server itself accepts handshakes at this path. */
export const OPEN_WEB_SOCKET: Route = { method: 'GET', path: '/ws', key: 'query', access: ['events'] };

/** Events after an offset, or as they happen. */
export const eventResource = resource({
  name: 'events',
  routes: {
    listEvents: { method: 'GET', path: '/events', key: 'header', access: ['events'] },
    openWebSocket: OPEN_WEB_SOCKET,
  },
  handlers: async (source: EventSource) => (await import('./handlers.ts')).eventHandlers(source),
  document: async () => (await import('./document.ts')).DOCUMENT,
});
