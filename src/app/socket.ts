import { socketOf } from '../config/service-address.ts';
import { type BlueBubblesParts, listenForBlueBubbles } from './bluebubbles.ts';

/** Opens the listeners besides the main port: the Unix socket, and the port for clients of BlueBubbles. */
export async function listenElsewhere(parts: BlueBubblesParts): Promise<void> {
  await listenOnSocket(parts);
  await listenForBlueBubbles(parts);
}

/**
 * Listens on the Unix socket (decision O1). A failure is only a warning, because the main port works without the
 * socket.
 */
export async function listenOnSocket({
  config,
  http,
  log,
}: Pick<BlueBubblesParts, 'config' | 'http' | 'log'>): Promise<void> {
  if (!config.server.socket) return;
  const socket = socketOf(config);
  try {
    if ('reason' in socket) throw new Error(socket.reason);
    await http.listenOnSocket(socket.path);
  } catch (error) {
    const reason = (error as Error).message;
    log.warn('there is no Unix socket, so the command line needs --url and the menu shows no state', { reason });
  }
}
