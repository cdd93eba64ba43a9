import type { Config } from '../config/config.ts';
import { socketOf } from '../config/service-address.ts';
import type { Log } from '../model/ports/host-ports.ts';
import type { HttpServer } from './server.ts';

interface SocketParts {
  readonly config: Config;
  readonly http: HttpServer;
  readonly log: Log;
}

/**
 * Listens on the Unix socket (decision O1). A failure is only a warning, because the main port works without the
 * socket.
 */
export async function listenOnSocket({ config, http, log }: SocketParts): Promise<void> {
  const socket = socketOf(config);
  try {
    if ('reason' in socket) throw new Error(socket.reason);
    await http.listenOnSocket(socket.path);
  } catch (error) {
    const reason = (error as Error).message;
    log.warn('there is no Unix socket, so the command line needs --url and the menu shows no state', { reason });
  }
}
