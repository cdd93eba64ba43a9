import type { Feature } from '../feature.ts';
import { problem } from '../model/problems.ts';
import type { MoreRoute } from './router.ts';

/**
 * Returns the routes of features. The handlers of a feature are loaded at the first request to one of them. A hub
 * refuses the routes with `not_at_a_hub`.
 */
export function featureRoutes(features: readonly Feature[], isHub = false): readonly MoreRoute[] {
  return features.flatMap(({ name, routes = {}, handlers }) =>
    Object.entries(routes).map(([id, route]): MoreRoute => {
      if (isHub) return { id, route, handler: () => Promise.reject(problem('not_at_a_hub')) };
      return {
        id,
        route,
        async handler(exchange) {
          const handler = (await handlers?.())?.[id];
          if (handler === undefined) throw new Error(`${name} has no handler for ${id}`);
          return handler(exchange);
        },
      };
    }),
  );
}
