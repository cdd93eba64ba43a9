import type { Feature } from '../feature.ts';
import type { OpenPages } from './pages.ts';
import type { ServedRoute } from './router.ts';

/** Returns the routes of features. The handlers of a feature are loaded at the first request to one of them. */
export function featureRoutes(features: readonly Feature[]): readonly ServedRoute[] {
  return features.flatMap(({ name, routes = {}, handlers }) => {
    let loading: ReturnType<NonNullable<Feature['handlers']>> | undefined;
    return Object.entries(routes).map(
      ([id, route]): ServedRoute => ({
        id,
        route,
        async handler(exchange) {
          loading ??= handlers?.();
          const handler = (await loading)?.[id];
          if (handler === undefined) throw new Error(`${name} has no handler for ${id}`);
          return handler(exchange);
        },
      }),
    );
  });
}

/** Loads the pages of features. */
export function featurePages(features: readonly Feature[]): Promise<readonly OpenPages[]> {
  return Promise.all(features.flatMap((one) => (one.pages === undefined ? [] : [one.pages()])));
}
