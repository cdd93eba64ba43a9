import type { HttpServer } from '../api/http/server.ts';
import { socketOf } from '../config/address.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../domain/ports/host.ts';

/** Listens on the Unix socket (decision O1). The port works without it, so any obstacle is only a warning. */
export async function listenOnSocket(config: Config, http: HttpServer, log: Log): Promise<void> {
  if (!config.server.socket) return;
  const socket = socketOf(config);
  try {
    if ('reason' in socket) throw new Error(socket.reason);
    await http.listenOnSocket(socket.path);
  } catch (error) {
    const reason = (error as Error).message;
    log.warn('there is no Unix socket: the command line needs --url, and the menu shows no state', { reason });
  }
}
