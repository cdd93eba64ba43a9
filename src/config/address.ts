import { join } from 'node:path';
import type { Config } from '../config.ts';

/** macOS allows 104 bytes with the final zero, Linux 108. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The base URL for programs on this machine; a wildcard address is reached over loopback. */
export function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** The path of the Unix socket (decision O1), or why the configuration has none. */
export function socketOf({
  dir,
  server,
}: Pick<Config, 'dir'> & { readonly server: Pick<Config['server'], 'socket'> }):
  | { readonly path: string }
  | { readonly reason: string } {
  if (!server.socket) return { reason: 'server.socket is false.' };
  const path = join(dir, 'postern.sock');
  return Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES
    ? { reason: `The path ${path} has more than the ${MAX_SOCKET_PATH_BYTES} bytes that a Unix socket may have.` }
    : { path };
}
