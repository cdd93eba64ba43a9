import { isIP } from 'node:net';
import { isLoopback } from '../../../core/model/loopback.ts';

/** The address at which clients reach a server of the cluster. */
export interface ServerAddress {
  /** Without brackets, even for an IPv6 address. */
  readonly host: string;
  readonly port: number;
  readonly isLoopback: boolean;
  readonly url: string;
}

const CLIENT_PORT = 4222;

/** Parses `host`, `host:port` or a URL. Returns undefined for anything else, and for `nats://` beyond loopback. */
export function serverAddress(written: string): ServerAddress | undefined {
  const scheme = /^(nats|tls):\/\//.exec(written)?.[1];
  const rest = scheme === undefined ? written : written.slice(scheme.length + 3);
  const text = isIP(rest) === 6 ? `[${rest}]` : rest;
  if (!/^[\w.[\]:-]+$/.test(text) || !URL.canParse(`http://${text}`)) return undefined;
  const { hostname, port } = new URL(`http://${text}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isOwn = isLoopback(host);
  if (scheme === 'nats' && !isOwn) return undefined;
  const number = port === '' ? (text.endsWith(':80') ? 80 : CLIENT_PORT) : Number(port);
  return { host, port: number, isLoopback: isOwn, url: `${isOwn ? 'nats' : 'tls'}://${hostname}:${number}` };
}
