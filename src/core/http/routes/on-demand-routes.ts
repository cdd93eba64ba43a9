import type { ClientsOf } from '../../model/client-lines.ts';
import type { AccessService } from '../../model/ports/access-ports.ts';
import { approvalRoutes } from './approvals-routes.ts';
import { auditRoutes } from './audit-routes.ts';
import { configRoutes, type ReadSettings } from './config-routes.ts';
import { keyRoutes } from './keys-routes.ts';
import { searchRoutes } from './search-routes.ts';
import { webhookRoutes } from './webhooks-routes.ts';

export interface OnDemandParts {
  readonly access: () => Promise<AccessService>;
  readonly appSettings: ReadSettings;
  readonly clients: ClientsOf;
  readonly ownUrl: () => string;
}

/** Returns the handlers that `withLazyRoutes` loads. */
export function onDemandRoutes({ access, appSettings, clients, ownUrl }: OnDemandParts) {
  return {
    ...searchRoutes(),
    ...keyRoutes(access, clients, ownUrl),
    ...auditRoutes(access),
    ...approvalRoutes(access),
    ...webhookRoutes(),
    ...configRoutes(appSettings),
  };
}
