import { join } from 'node:path';
import type { Config } from '../config.ts';
import { socketTrouble } from '../runtime/unix-socket.ts';

/** macOS allows 104 bytes with the final zero, Linux 108. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The base URL for programs on this machine; a wildcard address is reached over loopback. */
export function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** The path of a Unix socket, or a sentence on why there is none. */
export type SocketPlace = { readonly path: string } | { readonly reason: string };

type SocketSettings = Pick<Config, 'dir'> & { readonly server: Pick<Config['server'], 'socket'> };

/** The Unix socket that the service listens on (decision O1). */
export function socketOf({ dir, server }: SocketSettings): SocketPlace {
  if (!server.socket) return { reason: 'server.socket is false.' };
  const path = join(dir, 'postern.sock');
  return Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES
    ? { reason: `The path ${path} has more than the ${MAX_SOCKET_PATH_BYTES} bytes that a Unix socket may have.` }
    : { path };
}

/** The same for programs that would send the key there: not when somebody else's program could be behind it. */
export function trustedSocketOf(settings: SocketSettings): SocketPlace {
  const place = socketOf(settings);
  const reason = 'path' in place ? socketTrouble(place.path) : undefined;
  return reason === undefined ? place : { reason };
}
