import type { AccessService } from '../../../domain/ports/access.ts';
import type { Home } from '../../../domain/ports/home.ts';
import { approvalRoutes } from './approvals.ts';
import { auditRoutes } from './audit.ts';
import { homeRoutes } from './home.ts';
import { keyRoutes } from './keys.ts';
import { peopleRoutes } from './people.ts';
import { scheduledRoutes } from './scheduled.ts';
import { searchRoutes } from './search.ts';
import { webhookRoutes } from './webhooks.ts';

/** The handlers that `withLazyRoutes` loads. */
export function onDemandRoutes(access: () => Promise<AccessService>, home: Home, ownUrl: () => string) {
  return {
    ...peopleRoutes(),
    ...searchRoutes(),
    ...scheduledRoutes(),
    ...keyRoutes(access, home, ownUrl),
    ...auditRoutes(access),
    ...approvalRoutes(access),
    ...webhookRoutes(),
    ...homeRoutes(home),
  };
}
