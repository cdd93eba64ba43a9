import type { IncomingMessage } from 'node:http';
import type { AppError } from '../model/errors.ts';
import { problem } from '../model/problems.ts';
import type { Arrival } from './exchange.ts';

export interface OriginSettings {
  /** Values of the Host header that are accepted besides the loopback names. In lower case, with or without a port. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/**
 * The sender of a request. `own` is a page of this service, a program, or the user. `listed` is a web page whose origin
 * is in `allowedOrigins`. `link` is any other web page that sends the user here, and `foreign` is one that only loads
 * something.
 */
export type Source = 'own' | 'listed' | 'link' | 'foreign';

const OWN_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/** Checks the Host and the origin of a request, before the rate limit counts the request (decision E4). */
export class OriginPolicy {
  /**
   * True if only this machine can reach the port. Also true until the port's address is known. If false, any Host is
   * allowed.
   */
  isLoopback = true;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor({ allowedHosts, allowedOrigins }: OriginSettings) {
    this.#hosts = new Set([...OWN_HOSTS, ...allowedHosts]);
    this.#origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  }

  /**
   * Throws `host_not_allowed` for an unknown Host, as in an attack by DNS rebinding. Throws `invalid_host` for a
   * malformed one.
   */
  checkHost(request: IncomingMessage): void {
    const host = onlyHost(request);
    if (!this.isLoopback || (host !== undefined && (this.#hosts.has(host) || this.#hosts.has(withoutPort(host))))) {
      return;
    }
    throw problem('host_not_allowed');
  }

  source(request: IncomingMessage): Source {
    const { origin, host = '' } = request.headers;
    if (origin !== undefined) {
      if (this.#origins.has(origin.toLowerCase())) return 'listed';
      // The Host may contain the default port, but a browser omits that port from an origin.
      if (origin.toLowerCase() !== `http://${host.toLowerCase().replace(/:80$/, '')}`) return 'foreign';
    }
    return sourceBySite(request);
  }
}

/**
 * The policy at the Unix socket (decision O1). Only the owner's programs can reach the socket, so the Host must be
 * `localhost`, and requests from web pages are refused.
 */
export const SOCKET_POLICY: Pick<OriginPolicy, 'checkHost' | 'source'> = {
  checkHost(request) {
    if (onlyHost(request) === 'localhost') return;
    throw problem('host_on_socket');
  },
  source: ({ headers }) =>
    headers.origin === undefined && headers['sec-fetch-site'] === undefined ? 'own' : 'foreign',
};

/**
 * Reports whether a request names no host, as the health checks of balancers do. No browser can send such a request, so
 * it is no attack by DNS rebinding.
 */
export function hasNoHost(request: IncomingMessage): boolean {
  return countOfHosts(request) < 2 && (request.headers.host ?? '') === '';
}

/**
 * Returns the Host in lower case, or undefined for an HTTP/1.0 request without one. Throws `invalid_host` if the header
 * is missing in HTTP/1.1, or repeated (RFC 9112, 3.2).
 */
function onlyHost(request: IncomingMessage): string | undefined {
  const count = countOfHosts(request);
  if (count > 1 || (count === 0 && request.httpVersion !== '1.0')) throw problem('invalid_host');
  return request.headers.host?.toLowerCase();
}

function countOfHosts({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

function withoutPort(host: string): string {
  return host.replace(/:\d*$/, '');
}

/**
 * Returns the sender of a request by the headers that browsers add to every request, also to those without an Origin.
 */
export function sourceBySite(request: IncomingMessage): Exclude<Source, 'listed'> {
  const { 'sec-fetch-site': site } = request.headers;
  if (site === undefined || site === 'same-origin' || site === 'none') return 'own';
  return isTopLevelNavigation(request) ? 'link' : 'foreign';
}

/**
 * Reports whether a web page that is neither the service's own nor listed caused the request, which must then not be
 * counted. A link may lead to an open page: no page can read the answer to a navigation.
 */
export function isUninvited(source: Source, isOpenPage: boolean): boolean {
  return source === 'foreign' || (source === 'link' && !isOpenPage);
}

/** Reports whether the browser will show the answer as a document, such as after a click on a link. */
function isTopLevelNavigation({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

export function originNotAllowed(arrival: Arrival): AppError {
  return problem(arrival === 'socket' ? 'origin_on_socket' : 'origin_not_allowed');
}
