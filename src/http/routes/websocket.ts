import { AppError } from '../../domain/errors.ts';
import type { Handlers } from '../route.ts';

/** What a plain request on the path of the WebSocket is told (E2); a handshake never comes here. */
export function webSocketRoutes(): Pick<Handlers, 'openWebSocket'> {
  return {
    openWebSocket() {
      throw new AppError('upgrade_required', 'upgrade_required', 'This path speaks WebSocket only.', {
        headers: { Upgrade: 'websocket', Connection: 'Upgrade' },
      });
    },
  };
}
