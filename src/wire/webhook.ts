import * as z from 'zod';
import { CHANGE_EVENT_TYPES, ROW_EVENT_TYPES } from '../domain/event.ts';
import { includeSet } from '../domain/include.ts';
import type { DeliveryRecord, Webhook, WebhookStatus, WebhookTestResult } from '../domain/webhook.ts';
import { includedPart } from './include.ts';
import { afterMember } from './offset.ts';
import { shapeOf } from './shape.ts';
import { list, text } from './text.ts';

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

/** Body of `POST /webhooks` (decision F1). */
export const webhookBody = z
  .object(
    {
      url: text('The url', 2048)
        .refine(isWebUrl, 'The url must be a complete http or https address.')
        .meta({ format: 'uri' }),
      events: list(
        'The events',
        z.enum(WEBHOOK_EVENT_TYPES, { error: `An event must be one of ${WEBHOOK_EVENT_TYPES.join(', ')}.` }),
        64,
      )
        .min(1, 'There must be at least one event.')
        .refine(
          (events) => !events.includes('messages.changed') || events.some((type) => /^message\.(upd|rem)/.test(type)),
          'messages.changed comes with message.updated or message.removed: name one of them too.',
        )
        .transform((events) => [...new Set(events)]),
      secret: text('The secret', 256)
        .refine((value) => value !== '', 'The secret must not be empty.')
        .optional()
        .meta({ description: 'Signs deliveries; never shown again.', minLength: 1, writeOnly: true }),
      include: list('The parts to include', includedPart, 8).transform(includeSet).optional(),
    },
    { error: 'The body must be a JSON object.' },
  )
  .meta({ id: 'WebhookRegistration' });

/** Body of `POST /webhooks/{id}/replay` (decision H). */
export const replayBody = z
  .object({ after: afterMember }, { error: 'The body must be a JSON object.' })
  .meta({ id: 'Replay' });

/** Answer of `GET /webhooks/{id}` (decision H). */
export const webhookStatusSchema = shapeOf<Webhook & WebhookStatus>()(
  z
    .object({
      ...webhookSchema.shape,
      state: z.enum(['healthy', 'failing']),
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
