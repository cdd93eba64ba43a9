import type { Uploads } from '../../domain/ports/uploads.ts';
import { problem } from '../../domain/problems.ts';

/** A port of what a hub does not do (decision N2): each of its methods answers 501. */
export function absentPort<Port extends object>(): Port {
  return new Proxy({} as Port, { get: () => refuse });
}

/** Nothing can be uploaded, and so there is nothing to remove after a send. */
export const NO_UPLOADS: Uploads = {
  add: () => Promise.reject(problem('not_at_a_hub')),
  files: refuse,
  discard: () => Promise.resolve(),
  remove: () => Promise.resolve(),
};

function refuse(): never {
  throw problem('not_at_a_hub');
}
