import * as z from 'zod';
import { CHANGE_EVENT_TYPES, ROW_EVENT_TYPES } from '../domain/event.ts';
import { INCLUDES, includeSet } from '../domain/include.ts';
import {
  type DeliveryRecord,
  FAILURE_MODES,
  type HeldDelivery,
  WEBHOOK_STATES,
  type Webhook,
  type WebhookStatus,
  type WebhookTestResult,
} from '../domain/webhook.ts';
import { includedPart } from './include.ts';
import { AFTER_MISTAKE, afterMember } from './offset.ts';
import { shapeOf } from './shape.ts';
import { list, text } from './text.ts';
import { enabled, headerValue, onFailure, ownHeaders, webhookFilter, webhookName } from './webhook-settings.ts';

/** What a webhook may subscribe to. */
export const WEBHOOK_EVENT_TYPES = [...ROW_EVENT_TYPES, ...CHANGE_EVENT_TYPES] as const;

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

const url = text('The url', 2048)
  .refine(isWebUrl, 'The url must be a complete http or https address.')
  .meta({ format: 'uri' });
const events = list(
  'The events',
  z.enum(WEBHOOK_EVENT_TYPES, { error: `An event must be one of ${WEBHOOK_EVENT_TYPES.join(', ')}.` }),
  64,
)
  .min(1, 'There must be at least one event.')
  .refine(
    (types) => !types.includes('messages.changed') || types.some((type) => /^message\.(upd|rem)/.test(type)),
    'messages.changed comes with message.updated or message.removed: name one of them too.',
  )
  .transform((types) => [...new Set(types)]);
const secret = text('The secret', 256).refine((value) => value !== '', 'The secret must not be empty.');
const include = list('The parts to include', includedPart, 8).transform(includeSet).optional();

/** Body of `POST /webhooks` (decisions F1, P1). */
export const webhookBody = z
  .object(
    {
      url,
      events,
      secret: secret
        .optional()
        .meta({ description: 'Signs deliveries; never shown again.', minLength: 1, writeOnly: true }),
      include,
      name: webhookName.optional(),
      enabled: enabled.optional(),
      headers: ownHeaders(headerValue).optional(),
      on_failure: onFailure.optional(),
      filter: webhookFilter.optional(),
    },
    { error: 'The body must be a JSON object.' },
  )
  .meta({ id: 'WebhookRegistration' });

/** Body of `PATCH /webhooks/{id}` (decision P1). */
export const webhookChangesBody = z
  .object(
    {
      url: url.optional(),
      events: events.optional(),
      secret: secret.nullable().optional().meta({
        description: 'The one before signs too for 24 hours. null: deliveries are not signed.',
        minLength: 1,
        writeOnly: true,
      }),
      include,
      name: webhookName.nullable().optional(),
      enabled: enabled.optional(),
      headers: ownHeaders(headerValue.nullable()).nullable().optional().meta({
        description: 'Sets those that are named, or takes them away by null; the others stay. null: takes all away.',
      }),
      on_failure: onFailure.optional(),
      filter: webhookFilter.nullable().optional().meta({ description: 'Takes the place of the one before.' }),
    },
    { error: 'The body must be a JSON object.' },
  )
  .meta({ id: 'WebhookChanges' });

const REPLAY = 'Give one of "after", with a position or "latest", and "dropped": true.';

/** Body of `POST /webhooks/{id}/replay` (decisions H, P1, P6). */
export const replayBody = z
  .object(
    {
      after: z
        .union([z.literal('latest'), afterMember], { error: AFTER_MISTAKE })
        .optional()
        .meta({ description: 'A position to go back to, or `latest` to skip the backlog.' }),
      dropped: z
        .literal(true, { error: 'The dropped must be true.' })
        .optional()
        .meta({ description: 'What was dropped, in the order of rows, before what follows.' }),
    },
    { error: 'The body must be a JSON object.' },
  )
  .refine(({ after, dropped }) => (after === undefined) !== (dropped === undefined), {
    path: ['after'],
    error: REPLAY,
    when: ({ issues }) => issues.length === 0,
  })
  .meta({ id: 'Replay' });

const heldSchema = shapeOf<HeldDelivery>()(
  z.object({
    id: z.string().meta({ description: 'The X-Webhook-Delivery header.' }),
    row_id: z.int(),
    attempts: z.int(),
    since: z.string(),
    error: z.string(),
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
        .meta({ description: 'Until when the secret before signs too, after a rotation.' }),
      header_names: z.array(z.string()).readonly().meta({ description: 'Of its own headers; values are not shown.' }),
      state: z.enum(WEBHOOK_STATES).meta({
        description: '`held`: a delivery is attempted until it succeeds. `paused`: `enabled` is false.',
      }),
      held: heldSchema.nullable().meta({ description: 'What is being held.' }),
      dropped: z.int().meta({ description: 'How many dropped events can be replayed.' }),
      consecutive_failures: z.int(),
      last_success_at: z.string().nullable(),
      row_id: z.int().meta({ description: 'Row id up to which delivery is done.' }),
      behind: z.int().meta({
        description: 'Number of published row ids, and of changes if it asks for them, that are still to be delivered.',
      }),
    })
    .meta({ id: 'WebhookStatus' }),
);

/** One record of `GET /webhooks/{id}/deliveries` (decision H). */
export const deliverySchema = shapeOf<DeliveryRecord>()(
  z
    .object({
      id: z.string().meta({ description: 'The X-Webhook-Delivery header of the request.' }),
      at: z.string(),
      event: z.enum([...WEBHOOK_EVENT_TYPES, 'webhook.test', 'gone']),
      row_id: z.int(),
      outcome: z.enum(['delivered', 'dropped', 'gone']),
      attempts: z.int(),
      status: z.int().nullable(),
      error: z.string().nullable(),
      duration_ms: z.int(),
    })
    .meta({ id: 'Delivery' }),
);

/** Answer of `POST /webhooks/{id}/test` (decision H). */
export const webhookTestSchema = shapeOf<WebhookTestResult>()(
  z
    .object({
      id: z.string(),
      delivered: z.boolean(),
      status: z.int().nullable(),
      error: z.string().nullable(),
      duration_ms: z.int(),
      answer: z.string().nullable().meta({ description: 'Beginning of the response body.' }),
    })
    .meta({ id: 'WebhookTest' }),
);

function isWebUrl(url: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(url) && URL.canParse(url);
}
