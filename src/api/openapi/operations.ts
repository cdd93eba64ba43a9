import type { RouteId } from '../../schema/routes.ts';
import { ACCESS_OPERATIONS } from './access-operations.ts';
import { CONVERSATION_OPERATIONS } from './conversation-operations.ts';
import { EVENT_OPERATIONS } from './event-operations.ts';
import { HOME_OPERATIONS } from './home-operations.ts';
import { MESSAGE_OPERATIONS, UPLOAD_OPERATIONS } from './message-operations.ts';
import type { Operation } from './operation.ts';
import { SCHEDULED_OPERATIONS } from './scheduled-operations.ts';
import { SERVICE_OPERATIONS } from './service-operations.ts';
import { WEBHOOK_OPERATIONS } from './webhook-operations.ts';

/** All operations. Key: the operation's name in `ROUTES`. */
export const OPERATIONS = {
  ...SERVICE_OPERATIONS,
  ...HOME_OPERATIONS,
  ...MESSAGE_OPERATIONS,
  ...SCHEDULED_OPERATIONS,
  ...UPLOAD_OPERATIONS,
  ...CONVERSATION_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...ACCESS_OPERATIONS,
} as const satisfies Record<RouteId, Operation>;
