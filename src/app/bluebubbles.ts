import type { HttpServer } from '../api/http/server.ts';
import type { Config } from '../config/config.ts';
import { hostClassOf } from '../domain/local-network.ts';
import type { Log } from '../domain/ports/host-ports.ts';
import type { WireEventJson } from '../domain/ports/wires-ports.ts';
import type { Counters } from '../runtime/counters.ts';

export interface BlueBubblesParts {
  readonly config: Config;
  readonly http: HttpServer;
  readonly version: string;
  readonly counters: Counters;
  readonly log: Log;
}

/** Listens for clients of BlueBubbles if `bluebubbles.port` is set. Loads the protocol only then. */
export async function listenForBlueBubbles({ config, http, version, counters, log }: BlueBubblesParts): Promise<void> {
  const { host, port } = config.bluebubbles;
  if (port === 0) return;
  const { BlueBubbles } = await import('../features/bluebubbles/blue-bubbles.ts');
  const url = await http.listenForWire(host, port, new BlueBubbles({ version, counters }));
  log.info('serving BlueBubbles', { port: Number(new URL(url).port) });
  if (hostClassOf(`http://${host.includes(':') ? `[${host}]` : host}`) === 'loopback') return;
  log.warn('bluebubbles.host lets other machines connect, and keys cross the network unencrypted', { host });
}

/**
 * Returns the serialiser of events for BlueBubbles webhooks, loaded with the first such webhook. Returns undefined if
 * BlueBubbles is switched off.
 */
export function wireJsonOf({ bluebubbles }: Config): WireEventJson | undefined {
  if (bluebubbles.port === 0) return undefined;
  return async (entry, caller) =>
    (await import('../features/bluebubbles/event-json.ts')).blueBubblesEventJson(entry, caller);
}
