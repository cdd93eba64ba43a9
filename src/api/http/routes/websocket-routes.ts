import { problem } from '../../../domain/problems.ts';
import type { Handlers } from '../router.ts';

/** Returns the handler for plain requests at the WebSocket's path (decision E2). Handshakes never reach the router. */
export function webSocketRoutes() {
  return {
    openWebSocket() {
      throw problem('upgrade_required', {}, { headers: { Upgrade: 'websocket', Connection: 'Upgrade' } });
    },
  } satisfies Partial<Handlers>;
}
