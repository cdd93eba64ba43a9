import type { HttpServer } from '../api/http/server.ts';
import type { Config } from '../config/config.ts';
import { hostClassOf } from '../domain/local-network.ts';
import type { Log } from '../domain/ports/host-ports.ts';
import type { WireEventJson } from '../domain/ports/wires-ports.ts';
import type { Counters } from '../runtime/counters.ts';

export interface WirePorts {
  readonly config: Config;
  readonly http: HttpServer;
  readonly version: string;
  readonly counters: Counters;
  readonly log: Log;
}

/** Listens for programs that speak another protocol. Each protocol is loaded only if its port is set. */
export async function listenForWires({ config, http, version, counters, log }: WirePorts): Promise<void> {
  const { host, port } = config.bluebubbles;
  if (port === 0) return;
  const { BlueBubbles } = await import('../api/wires/bluebubbles/blue-bubbles.ts');
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
    (await import('../api/wires/bluebubbles/event-json.ts')).blueBubblesEventJson(entry, caller);
}
