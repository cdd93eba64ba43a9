import { join } from 'node:path';
import { isLoopback } from '../model/loopback.ts';
import { socketTrouble } from '../runtime/unix-socket.ts';
import type { Config } from './config.ts';

/** macOS allows 104 bytes including the final zero, Linux 108. */
const MAX_SOCKET_PATH_BYTES = 103;

/** Returns the base URL for programs on this machine. A wildcard address is replaced by loopback. */
export function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

type OwnAddress = Pick<Config['server'], 'host' | 'port' | 'allowedHosts'>;

/**
 * Reports whether the service of this configuration answers at `url`, so that the key may be sent there. True for
 * loopback, `server.host` and every name in `server.allowed_hosts`, each with the configured port. A name in
 * `server.allowed_hosts` may also have its listed port, or 443, because a proxy can stand in front of the service.
 */
export function isOwnUrl(url: string, { host, port, allowedHosts }: OwnAddress): boolean {
  const { hostname, port: written, protocol } = new URL(url);
  const asked = written === '' ? (protocol === 'https:' ? 443 : 80) : Number(written);
  if (asked === port && (isLoopback(hostname) || hostname === normalized(host))) return true;
  return allowedHosts.some((entry) => {
    const [, name = '', listed] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
    return normalized(name) === hostname && [port, 443, Number(listed)].includes(asked);
  });
}

/** Returns a host as URLs spell it; undefined if no URL can contain it. */
function normalized(host: string): string | undefined {
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** The path of a Unix socket, or a sentence that says why there is none. */
export type SocketLocation = { readonly path: string } | { readonly reason: string };

/** The Unix socket that the service listens on (decision O1). */
export function socketOf({ dir }: Pick<Config, 'dir'>): SocketLocation {
  const path = join(dir, 'postern.sock');
  return Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES
    ? { reason: `The path ${path} is longer than the ${MAX_SOCKET_PATH_BYTES} bytes that a Unix socket allows.` }
    : { path };
}

/**
 * Returns the socket if programs may send the key through it. Returns a reason if there is no socket, or if another
 * user's program could be listening there.
 */
export function trustedSocketOf(settings: Pick<Config, 'dir'>): SocketLocation {
  const socket = socketOf(settings);
  const reason = 'path' in socket ? socketTrouble(socket.path) : undefined;
  return reason === undefined ? socket : { reason };
}
