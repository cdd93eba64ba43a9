import type { AccessService } from '../../../domain/ports/access.ts';
import { approvalRoutes } from './approvals.ts';
import { auditRoutes } from './audit.ts';
import { contactRoutes } from './contacts.ts';
import { keyRoutes } from './keys.ts';
import { peopleRoutes } from './people.ts';
import { scheduledRoutes } from './scheduled.ts';
import { searchRoutes } from './search.ts';
import { selfChatRoutes } from './self-chat.ts';
import { webhookRoutes } from './webhooks.ts';

/** The handlers that `withLazyRoutes` loads. */
export function onDemandRoutes(access: () => Promise<AccessService>) {
  return {
    ...contactRoutes(),
    ...peopleRoutes(),
    ...searchRoutes(),
    ...scheduledRoutes(),
    ...keyRoutes(access),
    ...approvalRoutes(),
    ...selfChatRoutes(access),
    ...auditRoutes(access),
    ...webhookRoutes(),
  };
}
