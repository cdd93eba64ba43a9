import { socketOf } from '../config/service-address.ts';
import { listenForWires, type WirePorts } from './wires.ts';

/** Opens the listeners beside the main port: the Unix socket, and the ports of other protocols. */
export async function listenElsewhere(parts: WirePorts): Promise<void> {
  await listenOnSocket(parts);
  await listenForWires(parts);
}

/** Listens on the Unix socket (decision O1). The port works without it, so any obstacle is only a warning. */
export async function listenOnSocket({ config, http, log }: Pick<WirePorts, 'config' | 'http' | 'log'>): Promise<void> {
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
