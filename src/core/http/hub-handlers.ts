import { problem } from '../model/problems.ts';
import { NOT_AT_A_HUB } from '../schema/routes.ts';
import type { Handlers } from './router.ts';

/**
 * Returns the handlers of a hub. Operations that only a single Mac's Postern offers throw `not_at_a_hub` (decision N2).
 * All other operations keep their handler from `handlers`.
 */
export function hubHandlers(handlers: Handlers): Handlers {
  const refused = [...NOT_AT_A_HUB].map((id) => [id, notAtAHub]);
  return { ...handlers, ...(Object.fromEntries(refused) as Partial<Handlers>) };
}

function notAtAHub(): never {
  throw problem('not_at_a_hub');
}
