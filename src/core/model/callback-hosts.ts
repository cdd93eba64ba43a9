import { isLoopback } from './loopback.ts';
import { parsedUrl } from './parsed-url.ts';

const HOST = /^(\[[\da-f:.]+\]|[a-z\d_](?:[\w.-]{0,251}[a-z\d_])?)(?::(\d{1,5}))?$/i;
const MAX_PORT = 65_535;

/**
 * Returns the canonical spelling of a host that a limited key may post events to: a name or an address as in a URL,
 * with a port if the key may use only that port. Returns undefined for anything else.
 */
export function callbackHost(written: string): string | undefined {
  const [, host = '', port] = HOST.exec(written) ?? [];
  const hostname = host === '' ? undefined : parsedUrl(`http://${host}/`)?.hostname;
  if (hostname === undefined || (port !== undefined && (Number(port) < 1 || Number(port) > MAX_PORT))) return undefined;
  return port === undefined ? hostname : `${hostname}:${Number(port)}`;
}

/**
 * Reports whether a limited key may post events to the URL: always to a loopback name or address, elsewhere only to the
 * hosts that the owner listed.
 */
export function mayCallBack(hosts: readonly string[], url: string): boolean {
  if (parsedUrl(url) === undefined) return false;
  return isOnThisMachine(url) || [hostnameOf(url), hostAndPortOf(url)].some((host) => hosts.includes(host));
}

/**
 * Reports whether the URL's host is `localhost` or a literal loopback address. Any other name could point to another
 * machine tomorrow.
 */
export function isOnThisMachine(url: string): boolean {
  const hostname = parsedUrl(url)?.hostname;
  return hostname !== undefined && isLoopback(hostname);
}

/** Reports whether a URL contains a user's name or password. */
export function hasUserInfo(url: string): boolean {
  const { username = '', password = '' } = parsedUrl(url) ?? {};
  return username !== '' || password !== '';
}

/** Returns the host and port of a URL, for texts that must omit the URL's path because it may contain a secret. */
export function hostAndPortOf(url: string): string {
  const { port = '', protocol } = parsedUrl(url) ?? {};
  return `${hostnameOf(url)}:${port || (protocol === 'https:' ? '443' : '80')}`;
}

/** Returns the host and port of a URL, to compare them with addresses: a literal IPv6 address has no brackets. */
export function endpointOf(url: string): { readonly host: string; readonly port: number } {
  const text = hostAndPortOf(url);
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}

/** Returns the host name of a URL. Removes a final dot, which does not change the name's meaning. */
function hostnameOf(url: string): string {
  return parsedUrl(url)?.hostname.replace(/\.$/, '') ?? '';
}
