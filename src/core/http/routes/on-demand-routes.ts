import { configRoutes, type ReadSettings } from './config-routes.ts';
import { webhookRoutes } from './webhooks-routes.ts';

export interface OnDemandParts {
  readonly appSettings: ReadSettings;
}

/** Returns the handlers that `withLazyRoutes` loads. */
export function onDemandRoutes({ appSettings }: OnDemandParts) {
  return { ...webhookRoutes(), ...configRoutes(appSettings) };
}
