import type { Access } from '../model/caller.ts';

/** Prefix of every path of the contract. */
export const API = '/api/v1';

/** One method on one path of the contract. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path. It follows the prefix `API`, unless `isOutside` is true. `{name}` matches one segment. */
  readonly path: `/${string}`;
  readonly isOutside?: true;
  /**
   * How the key is passed: in `X-API-Key`, in the query parameter `api_key`, or not at all. With `code`, a one-time
   * code in the body replaces the key, and only a page of the service itself may send it.
   */
  readonly key: 'header' | 'query' | 'none' | 'code';
  /** True if only limited keys are meant: the refusal of a key does not say where to find the owner's. */
  readonly isForLimitedKeys?: true;
  /**
   * The callers that may use the route. Handlers use only the ports of `exchange.caller`, which limit what a key can
   * read, send and receive.
   */
  readonly access: Access;
}

/** Returns the route's path from the root. */
export function pathOf(route: Route): string {
  return route.isOutside === true ? route.path : API + route.path;
}
