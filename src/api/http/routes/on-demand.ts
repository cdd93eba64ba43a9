import type { AccessService } from '../../../domain/ports/access.ts';
import { approvalRoutes } from './approvals.ts';
import { keyRoutes } from './keys.ts';
import { peopleRoutes } from './people.ts';
import { scheduledRoutes } from './scheduled.ts';
import { searchRoutes } from './search.ts';
import { webhookRoutes } from './webhooks.ts';

/** The handlers that `withLazyRoutes` loads. */
export function onDemandRoutes(access: () => Promise<AccessService>) {
  return {
    ...peopleRoutes(),
    ...searchRoutes(),
    ...scheduledRoutes(),
    ...keyRoutes(access),
    ...approvalRoutes(access),
    ...webhookRoutes(),
  };
}
