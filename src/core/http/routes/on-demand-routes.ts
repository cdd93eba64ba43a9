import { configRoutes, type ReadSettings } from './config-routes.ts';
import { peopleRoutes } from './people-routes.ts';
import { searchRoutes } from './search-routes.ts';
import { webhookRoutes } from './webhooks-routes.ts';

export interface OnDemandParts {
  readonly appSettings: ReadSettings;
}

/** Returns the handlers that `withLazyRoutes` loads. */
export function onDemandRoutes({ appSettings }: OnDemandParts) {
  return { ...peopleRoutes(), ...searchRoutes(), ...webhookRoutes(), ...configRoutes(appSettings) };
}
