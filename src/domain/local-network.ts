/** What to do where macOS may keep Postern from a machine in the local network. */
export const LOCAL_NETWORK =
  'On macOS 15 and newer, switch on Postern in System Settings under Privacy & Security > Local Network.';

/**
 * How a connection ends while macOS does not allow the local network (Apple TN3179): unreachable for an address, and
 * unknown for a name under `.local`, whose lookup is not allowed either.
 */
const REFUSALS = /\b(?:EHOSTUNREACH|ENOTFOUND|EAI_NONAME|EAI_AGAIN|ENODATA)\b/;

/** `LOCAL_NETWORK` for a failure that may come from that permission, else undefined. `failure` is a code or holds one. */
export function localNetworkAdvice(failure: string, urls: readonly string[]): string | undefined {
  return REFUSALS.test(failure) && urls.some(isOnLocalNetwork) ? LOCAL_NETWORK : undefined;
}

/** Where a host is, by its spelling alone. */
export const HOST_CLASSES = ['loopback', 'private', 'other'] as const;
export type HostClass = (typeof HOST_CLASSES)[number];

/** True for what macOS guards as the local network: private and link-local addresses, `.local` and bare names. Loopback is free. */
export function isOnLocalNetwork(url: string): boolean {
  return hostClassOf(url) === 'private';
}

/** Returns `other` for what is no URL, and for a name whose address only a lookup tells. */
export function hostClassOf(url: string): HostClass {
  const host = hostOf(url);
  if (host === '') return 'other';
  const isIpv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host);
  if (host === 'localhost' || (isIpv4 && host.startsWith('127.')) || host === '[::1]') return 'loopback';
  return (isIpv4 && /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.)/.test(host)) ||
    /^\[f(e[89ab]|[cd])/.test(host) ||
    /\.local\.?$/.test(host) ||
    !/[.:]/.test(host)
    ? 'private'
    : 'other';
}

function hostOf(url: string): string {
  try {
    // Schemes that no browser knows, such as nats:, keep the case of a host.
    return new URL(url).hostname.toLowerCase();
  } catch {
    return '';
  }
}
