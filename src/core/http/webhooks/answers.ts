import * as z from 'zod';
import { INCLUDES } from '../../model/include.ts';
import {
  DELIVERY_OUTCOMES,
  type DetailedDelivery,
  FAILURE_MODES,
  type HeldDelivery,
  WEBHOOK_STATES,
  type Webhook,
  type WebhookStatus,
  type WebhookTestResult,
} from '../../model/webhook.ts';
import { shapeOf } from '../../schema/shape.ts';
import { webhookFilter } from './members.ts';
import { WEBHOOK_EVENT_TYPES } from './schema.ts';

/** The contract's Webhook, without its write-only secret. */
export const webhookSchema = shapeOf<Webhook>()(
  z
    .object({
      id: z.string(),
      url: z.string(),
      events: z.array(z.enum(WEBHOOK_EVENT_TYPES)).readonly(),
      created_at: z.iso.datetime({ precision: 0 }),
    })
    .meta({ id: 'Webhook' }),
);

const heldSchema = shapeOf<HeldDelivery>()(
  z.object({
    id: z.string().meta({ description: 'The X-Webhook-Delivery header.' }),
    row_id: z.int(),
    attempts: z.int(),
    since: z.string(),
    error: z.string(),
    retry_after: z.string().optional().meta({ description: 'Until when the receiver asked to be left alone.' }),
    gone: z.literal(true).optional().meta({ description: 'The receiver answered 410, which paused the webhook.' }),
  }),
);

/** Answer of `GET /webhooks/{id}` (decisions H, P1). */
export const webhookStatusSchema = shapeOf<Webhook & WebhookStatus>()(
  z
    .object({
      ...webhookSchema.shape,
      name: z.string().nullable(),
      enabled: z.boolean(),
      on_failure: z.enum(FAILURE_MODES),
      filter: webhookFilter.nullable(),
      include: z.array(z.enum(INCLUDES)).readonly(),
      has_secret: z.boolean(),
      previous_secret_until: z
        .string()
        .nullable()
        .meta({ description: 'After a rotation: when the previous secret stops signing.' }),
      header_names: z
        .array(z.string())
        .readonly()
        .meta({ description: 'Names of its additional headers; values are not shown.' }),
      state: z.enum(WEBHOOK_STATES).meta({
        description:
          '`held`: a delivery is attempted until it succeeds. `paused`: `enabled` is false, because of you or because the receiver answered 410.',
      }),
      held: heldSchema.nullable().meta({ description: 'The held delivery.' }),
      next_attempt_at: z.string().optional().meta({
        description: 'When a held delivery is attempted next; absent during an attempt, and if none is held.',
      }),
      dropped: z.int().meta({ description: 'Number of dropped events that can be replayed.' }),
      consecutive_failures: z.int(),
      last_success_at: z.string().nullable(),
      row_id: z.int().meta({ description: 'Row id up to which delivery is complete.' }),
      behind: z.int().meta({
        description:
          'Number of published row ids that are still to be delivered, plus the changes if the webhook asks for them.',
      }),
    })
    .meta({ id: 'WebhookStatus' }),
);

/** How a post ended. */
const ending = { status: z.int().nullable(), error: z.string().nullable(), duration_ms: z.int() };

const attemptSchema = z.object({ at: z.string().meta({ description: 'When it began.' }), ...ending });

/** One record of `GET /webhooks/{id}/deliveries` (decisions H, Z2). */
export const deliverySchema = shapeOf<DetailedDelivery>()(
  z
    .object({
      id: z.string().meta({ description: 'The X-Webhook-Delivery header of the request.' }),
      at: z.string(),
      event: z.enum([...WEBHOOK_EVENT_TYPES, 'webhook.test', 'gone']),
      row_id: z.int(),
      outcome: z.enum(DELIVERY_OUTCOMES).meta({ description: '`held` only with `include=tries`.' }),
      attempts: z.int(),
      ...ending,
      tries: z.array(attemptSchema).readonly().optional().meta({
        description: 'With `include=tries`: its newest attempts. Absent if the service has restarted since.',
      }),
      redelivered_at: z.string().optional().meta({
        description: 'With `include=tries`: when this dropped event was delivered after all.',
      }),
      message: z
        .object({
          id: z.string(),
          conversation_id: z.string(),
          text: z.string().nullable().meta({ description: 'The first 100 characters; null for a reaction.' }),
        })
        .nullable()
        .optional()
        .meta({
          description:
            'With `include=tries`: what the event was about, as chat.db has it now. Null if the row is gone or the key may not read it; absent for tests.',
        }),
      answer: z.string().optional().meta({
        description: 'With `include=tries`, for the owner: the first 2 KB of the response to a failed delivery.',
      }),
    })
    .meta({ id: 'Delivery' }),
);

/** Answer of `POST /webhooks/{id}/test` (decision H). */
export const webhookTestSchema = shapeOf<WebhookTestResult>()(
  z
    .object({
      id: z.string(),
      delivered: z.boolean(),
      ...ending,
      answer: z.string().nullable().meta({ description: 'Beginning of the response body.' }),
    })
    .meta({ id: 'WebhookTest' }),
);
