import type { LoadedDocument } from '../../feature.ts';
import type { RouteId } from '../../schema/routes.ts';
import { CONVERSATION_OPERATIONS } from './conversation-operations.ts';
import { EVENT_OPERATIONS } from './event-operations.ts';
import { MESSAGE_OPERATIONS, UPLOAD_OPERATIONS } from './message-operations.ts';
import type { Operation } from './operation.ts';
import { SERVICE_OPERATIONS } from './service-operations.ts';
import { WEBHOOK_OPERATIONS } from './webhook-operations.ts';

/** All operations. Key: the operation's name in `ROUTES`. */
export const OPERATIONS = {
  ...SERVICE_OPERATIONS,
  ...MESSAGE_OPERATIONS,
  ...UPLOAD_OPERATIONS,
  ...CONVERSATION_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
} as const satisfies Record<RouteId, Operation>;

/** Returns the description of an operation of the core or of a feature. */
export function operationOf(
  id: string,
  documents: readonly Pick<LoadedDocument, 'operations'>[],
): Operation | undefined {
  const all: readonly Readonly<Record<string, Operation>>[] = [OPERATIONS, ...documents.map((one) => one.operations)];
  return all.find((one) => id in one)?.[id];
}
