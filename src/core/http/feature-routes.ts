import type { Feature } from '../feature.ts';
import type { ServedRoute } from './router.ts';

/** Returns the routes of features. The handlers of a feature are loaded at the first request to one of them. */
export function featureRoutes(features: readonly Feature[]): readonly ServedRoute[] {
  return features.flatMap(({ name, routes = {}, handlers }) =>
    Object.entries(routes).map(
      ([id, route]): ServedRoute => ({
        id,
        route,
        async handler(exchange) {
          const handler = (await handlers?.())?.[id];
          if (handler === undefined) throw new Error(`${name} has no handler for ${id}`);
          return handler(exchange);
        },
      }),
    ),
  );
}
