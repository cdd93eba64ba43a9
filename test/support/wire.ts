import type { HttpServer } from '../../src/core/http/server.ts';
import type { Wire } from '../../src/features/bluebubbles/wire.ts';
import { WireListener } from '../../src/features/bluebubbles/wire-listener.ts';

/** Opens a port of the server that speaks this protocol, and returns its address. */
export function listenForWire(server: HttpServer, wire: Wire): Promise<string> {
  const listener = new WireListener({ wire, clock: server.clock });
  return server.listenForWire('127.0.0.1', 0, (...request) => listener.receive(...request));
}
