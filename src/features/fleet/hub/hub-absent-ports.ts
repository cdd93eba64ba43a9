import type { Uploads } from '../../../core/model/ports/uploads-ports.ts';
import { problem } from '../../../core/model/problems.ts';

/** Returns a port that a hub lacks (decision N2). Each of its methods throws 501 `not_at_a_hub`. */
export function absentPort<Port extends object>(): Port {
  return new Proxy({} as Port, { get: () => refuse });
}

/** Uploads at a hub. A hub refuses uploads, so there is nothing to remove after a send. */
export const NO_UPLOADS: Uploads = {
  add: () => Promise.reject(problem('not_at_a_hub')),
  files: refuse,
  rename: () => Promise.reject(problem('not_at_a_hub')),
  discard: () => Promise.resolve(),
  remove: () => Promise.resolve(),
};

function refuse(): never {
  throw problem('not_at_a_hub');
}
