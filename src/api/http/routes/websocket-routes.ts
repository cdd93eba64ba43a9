import { problem } from '../../../domain/problems.ts';
import type { Handlers } from '../router.ts';

/** Answers a plain request on the path of the WebSocket (decision E2). Handshakes take another way. */
export function webSocketRoutes() {
  return {
    openWebSocket() {
      throw problem('upgrade_required', {}, { headers: { Upgrade: 'websocket', Connection: 'Upgrade' } });
    },
  } satisfies Partial<Handlers>;
}
