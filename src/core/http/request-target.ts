import type { IncomingMessage } from 'node:http';
import { API, pathOf, ROUTES } from '../schema/routes.ts';

const ABSOLUTE = /^https?:\/\/([^/?#]*)([^?#]*)(.*)$/is;

/**
 * Paths of which clients also know a spelling with a slash at the end. Below other paths of the API an id may follow,
 * and the router decides what a missing id means.
 */
const FIXED: ReadonlySet<string> = new Set([
  '/ready',
  pathOf(ROUTES.callMcp),
  ...Object.values(ROUTES).map(pathOf).filter(takesNoId),
]);

function takesNoId(path: string, _at: number, all: readonly string[]): boolean {
  return path.startsWith(API) && !path.includes('{') && !all.some((other) => other.startsWith(`${path}/{`));
}

/**
 * Writes a request's target in one form: a path with a query, without a slash at the end. The host of a target in
 * absolute form, which programs send that take Postern for a proxy, replaces the Host header (RFC 9112, 3.2.2).
 */
export function normalizeTarget(request: IncomingMessage): void {
  const { url = '/' } = request;
  const [, host, path = '', query = ''] = ABSOLUTE.exec(url) ?? [];
  if (host !== undefined) {
    request.headers.host = host;
    request.url = `${path || '/'}${query}`;
  }
  const [target = '', ...parameters] = (request.url ?? '').split('?');
  const shorter = target.slice(0, -1);
  if (target.endsWith('/') && FIXED.has(shorter)) request.url = [shorter, ...parameters].join('?');
}
