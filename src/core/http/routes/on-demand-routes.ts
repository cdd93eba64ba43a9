import type { AccessService } from '../../model/ports/access-ports.ts';
import type { Home } from '../../model/ports/home-ports.ts';
import { approvalRoutes } from './approvals-routes.ts';
import { auditRoutes } from './audit-routes.ts';
import { homeRoutes } from './home-routes.ts';
import { keyRoutes } from './keys-routes.ts';
import { searchRoutes } from './search-routes.ts';
import { webhookRoutes } from './webhooks-routes.ts';

/** Returns the handlers that `withLazyRoutes` loads. */
export function onDemandRoutes(access: () => Promise<AccessService>, home: Home, ownUrl: () => string) {
  return {
    ...searchRoutes(),
    ...keyRoutes(access, home, ownUrl),
    ...auditRoutes(access),
    ...approvalRoutes(access),
    ...webhookRoutes(),
    ...homeRoutes(home),
  };
}
