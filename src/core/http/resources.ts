import { attachmentResource } from './attachments/routes.ts';
import { conversationResource } from './conversations/routes.ts';
import type { EventSource } from './events/handlers.ts';
import { eventResource } from './events/routes.ts';
import { messageResource } from './messages/routes.ts';
import type { MetricParts } from './metrics/handlers.ts';
import { metricResource } from './metrics/routes.ts';
import type { Resource } from './resource.ts';
import type { StatusHandlerParts } from './status/handlers.ts';
import { statusResource } from './status/routes.ts';
import { webhookResource } from './webhooks/routes.ts';

/** The parts that the handlers of the core's resources use besides the ports of the caller. */
export type ResourceParts = EventSource & StatusHandlerParts & MetricParts;

/** The resources of the core. The reference shows the operations of each subject in this order. */
export const RESOURCES: readonly Resource<ResourceParts>[] = [
  statusResource,
  messageResource,
  attachmentResource,
  conversationResource,
  webhookResource,
  eventResource,
  metricResource,
];
