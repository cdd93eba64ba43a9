import type { IncomingMessage } from 'node:http';
import { API, pathOf, type Route } from './route.ts';

const ABSOLUTE = /^https?:\/\/([^/?#]*)([^?#]*)(.*)$/is;

/**
 * Returns the paths of which clients also know a spelling with a slash at the end. Below other paths of the API an id
 * may follow, and the router decides what a missing id means.
 */
export function fixedPaths(routes: readonly Route[]): ReadonlySet<string> {
  const paths = routes.map(pathOf);
  // Programs that post to a path outside the API write it as they like.
  const outside = routes.filter(({ isOutside, key, method }) => isOutside && key === 'header' && method === 'POST');
  return new Set(['/ready', ...outside.map(pathOf), ...paths.filter(takesNoId)]);
}

function takesNoId(path: string, _at: number, all: readonly string[]): boolean {
  return path.startsWith(API) && !path.includes('{') && !all.some((other) => other.startsWith(`${path}/{`));
}

/**
 * Writes a request's target in one form: a path with a query, without a slash at the end. The host of a target in
 * absolute form, which programs send that take Postern for a proxy, replaces the Host header (RFC 9112, 3.2.2). `fixed`
 * holds the paths that lose a slash at their end.
 */
export function normalizeTarget(request: IncomingMessage, fixed: ReadonlySet<string>): void {
  const { url = '/' } = request;
  const [, host, path = '', query = ''] = ABSOLUTE.exec(url) ?? [];
  if (host !== undefined) {
    request.headers.host = host;
    request.url = `${path || '/'}${query}`;
  }
  const [target = '', ...parameters] = (request.url ?? '').split('?');
  const shorter = target.slice(0, -1);
  if (target.endsWith('/') && fixed.has(shorter)) request.url = [shorter, ...parameters].join('?');
}
