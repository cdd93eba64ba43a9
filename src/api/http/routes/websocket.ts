import { problem } from '../../../domain/problems.ts';
import type { Handlers } from '../router.ts';

/** What a plain request on the path of the WebSocket is told (decision E2); a handshake never comes here. */
export function webSocketRoutes(): Pick<Handlers, 'openWebSocket'> {
  return {
    openWebSocket() {
      throw problem('upgrade_required', {}, { headers: { Upgrade: 'websocket', Connection: 'Upgrade' } });
    },
  };
}
