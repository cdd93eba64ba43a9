import { isLoopback } from './loopback.ts';
/** Advice for a user whose macOS blocks Postern's access to a machine in the local network. */
export const LOCAL_NETWORK =
  'On macOS 15 and newer, switch on Postern in System Settings under Privacy & Security > Local Network.';

/**
 * The codes with which a connection fails while macOS denies access to the local network (Apple TN3179). An IP address
 * is then unreachable. A name under `.local` is not found, because macOS denies its lookup too.
 */
const REFUSALS = /\b(?:EHOSTUNREACH|ENOTFOUND|EAI_NONAME|EAI_AGAIN|ENODATA)\b/;

/**
 * Returns `LOCAL_NETWORK` if macOS may have caused the failure by denying access to the local network, else undefined.
 * `failure` is or contains an error code.
 */
export function localNetworkAdvice(failure: string, urls: readonly string[]): string | undefined {
  return REFUSALS.test(failure) && urls.some(isOnLocalNetwork) ? LOCAL_NETWORK : undefined;
}

/** The location of a host, determined without a lookup. */
export type HostClass = 'loopback' | 'private' | 'other';

/**
 * Reports whether macOS protects the host as part of the local network. True for private and link-local addresses,
 * `.local` names, and names without a dot. False for loopback.
 */
export function isOnLocalNetwork(url: string): boolean {
  return hostClassOf(url) === 'private';
}

/** Returns `other` for invalid URLs, and for names that only a lookup could classify. */
export function hostClassOf(url: string): HostClass {
  const host = hostOf(url);
  if (host === '') return 'other';
  const isIpv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host);
  if (isLoopback(host)) return 'loopback';
  return (isIpv4 && /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.)/.test(host)) ||
    /^\[f(e[89ab]|[cd])/.test(host) ||
    /\.local\.?$/.test(host) ||
    !/[.:]/.test(host)
    ? 'private'
    : 'other';
}

function hostOf(url: string): string {
  try {
    // `URL` lower-cases the host only for schemes that browsers know, so not for `nats:`.
    return new URL(url).hostname.toLowerCase();
  } catch {
    return '';
  }
}
