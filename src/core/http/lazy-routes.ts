import { ROUTES } from '../schema/routes.ts';
import type { Handlers } from './router.ts';
import type { OnDemandParts, onDemandRoutes } from './routes/on-demand-routes.ts';

type OnDemand = ReturnType<typeof onDemandRoutes>;

/** Adds the rarely used handlers to `loaded`. Loads their code and schemas when one of them is first requested. */
export function withLazyRoutes(loaded: Omit<Handlers, keyof OnDemand>, parts: OnDemandParts): Handlers {
  let loading: Promise<OnDemand> | undefined;
  const load = (): Promise<OnDemand> =>
    (loading ??= import('./routes/on-demand-routes.ts').then((module) => module.onDemandRoutes(parts)));
  const lazy = (Object.keys(ROUTES) as (keyof OnDemand)[])
    .filter((id) => !(id in loaded))
    .map((id): [string, Handlers[typeof id]] => [id, async (exchange) => (await load())[id](exchange)]);
  return { ...loaded, ...(Object.fromEntries(lazy) as unknown as OnDemand) };
}
